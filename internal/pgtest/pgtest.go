// Package pgtest starts a PostgreSQL for a test in a temporary folder, as a user without
// rights, and stops it. What the system runs itself is never touched.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/child"
)

// Variable names the environment variable that chooses another server: the URL of a
// superuser, or the directory of the programs initdb and postgres.
const Variable = "LOCI_TEST_POSTGRES"

// VersionVariable names the environment variable that chooses the version of the package.
const VersionVariable = "LOCI_TEST_POSTGRES_VERSION"

// newest is the version that tests use where nothing is said.
const newest = 18

// Oldest is the oldest PostgreSQL there are tests with.
const Oldest = 15

// startPatience bounds how long a server takes to start, on a busy machine.
const startPatience = 2 * time.Minute

// password of the superuser; the server listens on this machine alone.
const password = "throwaway"

// A Server is a PostgreSQL of a test.
type Server struct {
	URL string // of the superuser

	dir  string // "": it is somebody else's
	port int
	programs
	process *child.Process
	args    []string
	left    sync.Map // databases that nobody dropped, name → func() error
}

// Options of a server; the zero value means the defaults.
type Options struct {
	Version int      // 16 or 18, where the package is used; default what LOCI_TEST_POSTGRES_VERSION says, or 18
	Own     bool     // a server of the test's own, which it may kill
	Args    []string // further settings, such as "synchronous_commit=off"
	TLS     bool     // a server that can speak it: the system's programs, since the package's cannot
}

// isURL tells the URL of a server from a directory.
func isURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

var shared = child.Shared[*Server]{Start: func(ctx context.Context) (*Server, error) { return Start(ctx, Options{}) }}

// Shared returns the server of this process, started at the first call; [Run] stops it.
func Shared(t testing.TB) *Server {
	t.Helper()
	return shared.Get(t)
}

// Run runs the tests of a package and stops the server that they shared. A package that
// calls [Shared] has a TestMain that says os.Exit(pgtest.Run(m)).
func Run(m interface{ Run() int }) int { return shared.Run(m) }

// Start starts a server.
func Start(ctx context.Context, opts Options) (_ *Server, err error) {
	if given := os.Getenv(Variable); isURL(given) && !opts.Own {
		return &Server{URL: given}, nil
	}
	if opts.Version == 0 {
		opts.Version = newest
		if text := os.Getenv(VersionVariable); text != "" {
			if opts.Version, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%s is %q; it must be 16 or 18", VersionVariable, text)
			}
		}
	}
	s := &Server{}
	if s.dir, err = os.MkdirTemp("", "loci-pg-"); err != nil {
		return nil, err
	}
	defer func() { // a return of nil has not taken s away
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.programs, err = find(ctx, s.dir, opts); err != nil {
		return nil, err
	}
	if err := s.initialise(ctx); err != nil {
		return nil, err
	}
	s.args = []string{
		"listen_addresses=127.0.0.1",
		"unix_socket_directories=",
		"max_connections=200",
		"shared_buffers=64MB",
		"logging_collector=off",
		// A test ends no machine's power: what the operating system holds survives the server.
		"fsync=off",
	}
	s.args = append(s.args, opts.Args...)
	return s, s.serve(ctx)
}

// serve finds a port and starts the server there.
func (s *Server) serve(ctx context.Context) (err error) {
	for attempt := 0; ; attempt++ { // the port may be taken in between
		if s.port, err = child.FreePort(); err != nil {
			return err
		}
		s.URL = fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, s.port)
		if err = s.Launch(ctx); err == nil || attempt == 2 {
			return err
		}
	}
}

// initialise makes the files of a server, owned by the user that it runs as.
func (s *Server) initialise(ctx context.Context) error {
	if err := reachable(s.dir); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(password), 0o600); err != nil {
		return err
	}
	for _, path := range []string{s.dir, secret} {
		if err := giveAway(path); err != nil {
			return err
		}
	}
	cmd := s.command(
		ctx, "initdb", "--pgdata", s.data(), "--username", "postgres", "--pwfile", secret, "--auth",
		"scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// command is a program of the server as a user without rights.
func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, unprivileged()
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC", "HOME="+s.dir)
	if s.libs != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+s.libs)
	}
	return cmd
}

// Launch starts the server's process and waits until it answers: once, or again after
// [Server.Crash].
func (s *Server) Launch(ctx context.Context) (err error) {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, setting := range s.args {
		args = append(args, "-c", setting)
	}
	cmd := s.command(context.WithoutCancel(ctx), "postgres", args...)
	cmd.Stdout, cmd.Stderr = log, log
	s.process, err = child.Start(cmd)
	err = errors.Join(err, log.Close()) // the process has its own
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.process.Ended:
			return fmt.Errorf("postgres ended: %w: %s", s.process.Err, s.log())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("postgres does not answer: %w: %s", err, s.log()), s.Crash())
		}
	}
}

func (s *Server) log() string { return child.End(filepath.Join(s.dir, "log")) }

// Crash ends the server at once, as a fault would: what was in its memory is lost.
// [Server.Launch] starts it again, with a recovery.
func (s *Server) Crash() error { return s.process.End(quit) }

// Freeze makes a server that crashed one that only reads, as a standby does: once it is
// launched again.
func (s *Server) Freeze() error {
	path := filepath.Join(s.data(), "standby.signal")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	return giveAway(path)
}

// Stop ends the server and removes its files. Of somebody else's server it drops the
// databases that were made.
func (s *Server) Stop() (err error) {
	if s.dir == "" {
		s.left.Range(func(_, drop any) bool {
			err = errors.Join(err, drop.(func() error)())
			return true
		})
		return err
	}
	if s.process != nil {
		err = s.process.End(quit) // nothing of it is kept
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Address is where the server listens, host and port.
func (s *Server) Address() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic(err) // connected to before
	}
	return u.Host
}

// reachable tells whether the user that the server runs as may enter what is above dir.
func reachable(dir string) error {
	if uid, _ := user(); uid == os.Geteuid() {
		return nil
	}
	for above := filepath.Dir(dir); ; above = filepath.Dir(above) {
		info, err := os.Stat(above)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			return fmt.Errorf(
				"run by root, PostgreSQL runs as nobody, who may not enter %s: chmod o+x it, or set TMPDIR to another directory",
				above,
			)
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// giveAway makes a file belong to the user that the server runs as.
func giveAway(path string) error {
	uid, gid := user()
	if err := os.Chown(path, uid, gid); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
