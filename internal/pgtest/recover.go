package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Archiving are settings of a server that keeps its log, for [Server.Recover].
func Archiving() []string {
	return []string{
		"wal_level=replica", "archive_mode=on", "archive_timeout=1",
		"archive_command=mkdir -p ../archive && cp %p ../archive/%f", // it runs where the data is
	}
}

// BaseBackup copies the files of the running server, as pg_basebackup does.
func (s *Server) BaseBackup(ctx context.Context) error {
	cmd := s.command(ctx, "pg_basebackup", "--dbname", s.URL, "--pgdata", s.base(), "--checkpoint", "fast",
		"--wal-method", "none", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pg_basebackup: %w: %s", err, out)
	}
	return nil
}

func (s *Server) base() string { return filepath.Join(s.dir, "base") }

// Recover starts another server on the base backup, with what the archived log brings up to
// a restore point. It ends before s does.
func (s *Server) Recover(ctx context.Context, point string) (_ *Server, err error) {
	r := &Server{programs: s.programs}
	if r.dir, err = os.MkdirTemp("", "loci-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Stop())
		}
	}()
	signal := filepath.Join(s.base(), "recovery.signal")
	if err := errors.Join(
		giveAway(r.dir), os.WriteFile(signal, nil, 0o600), giveAway(signal), os.Rename(s.base(), r.data()),
	); err != nil {
		return nil, err
	}
	archives := func(arg string) bool { return slices.Contains(Archiving(), arg) }
	r.args = append(slices.DeleteFunc(slices.Clone(s.args), archives),
		"restore_command=cp "+filepath.Join(s.dir, "archive")+"/%f %p",
		"recovery_target_name="+point, "recovery_target_action=promote")
	if err := r.serve(ctx); err != nil {
		return nil, err
	}
	return r, r.writes(ctx)
}

// writes returns when a server that recovers has become one that writes. Before, it answers
// reads already.
func (s *Server) writes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		err := s.exec(ctx, "SELECT 1 / (NOT pg_is_in_recovery())::int")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server only reads: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
