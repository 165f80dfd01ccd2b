package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Standby starts another server that follows the running one, as a copy of it that only reads.
// It ends before s does, unless s has crashed for good.
func (s *Server) Standby(ctx context.Context) (_ *Server, err error) {
	r := &Server{programs: s.programs, args: s.args}
	if r.dir, err = os.MkdirTemp("", "loci-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Stop())
		}
	}()
	if err := giveAway(r.dir); err != nil {
		return nil, err
	}
	cmd := s.command(ctx, "pg_basebackup", "--dbname", s.URL, "--pgdata", r.data(), "--checkpoint", "fast",
		"--wal-method", "stream", "--write-recovery-conf", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return r, r.serve(ctx)
}

// Detach makes a standby follow nobody. It does not know what is written from then on.
func (s *Server) Detach(ctx context.Context) error {
	return errors.Join(
		s.exec(ctx, "ALTER SYSTEM SET primary_conninfo = ''"),
		s.exec(ctx, "SELECT pg_reload_conf()"),
	)
}

// Promote makes a standby a primary, and returns when it is one.
func (s *Server) Promote(ctx context.Context) error {
	return s.exec(ctx, "SELECT pg_promote(true, 60)")
}

// Relaunch ends the server as a fault would and starts it again with further settings.
func (s *Server) Relaunch(ctx context.Context, args ...string) error {
	s.args = append(s.args[:len(s.args):len(s.args)], args...)
	return errors.Join(s.Crash(), s.Launch(ctx))
}

// Write puts a file where the server keeps its data, such as pg_hba.conf or a certificate. The
// server reads it when it is launched again.
func (s *Server) Write(name string, data []byte) error {
	path := s.data() + string(os.PathSeparator) + name
	return errors.Join(os.WriteFile(path, data, 0o600), os.Chmod(path, 0o600), giveAway(path))
}
