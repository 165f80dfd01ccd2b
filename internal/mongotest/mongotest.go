// Package mongotest starts a server for a test that speaks as MongoDB does, in a temporary
// folder, and stops it. What the system runs itself is never touched.
//
// The server is SecantusDB, a Python package that is compatible with MongoDB 8 as far as the
// tests need it, transactions included. It is a tool of the tests, a process of its own, and
// no part of what is shipped.
package mongotest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci/internal/child"
)

// Variable names the environment variable that chooses another server: the URL of one on which
// databases may be made and dropped, such as mongodb://127.0.0.1:27017/?replicaSet=rs0.
const Variable = "LOCI_TEST_MONGODB"

// startPatience bounds how long a server takes to start, on a busy machine.
const startPatience = 2 * time.Minute

// A Server is one of a test.
type Server struct {
	URL string // without a database

	dir        string // "": it is somebody else's
	port       int
	python     python
	process    *child.Process
	args       []string
	unfinished time.Duration // of [Options]
	left       sync.Map      // databases that nobody dropped, by their names
}

// Options of a server; the zero value means the defaults.
type Options struct {
	Own   bool     // a server of the test's own, which it may kill
	Args  []string // further arguments, such as "--standalone"
	Query string   // further options of its URL, such as "tls=true"

	// Unfinished is after how long the server ends a transaction that its client has left,
	// in whole seconds; zero: after 60, as MongoDB does.
	Unfinished time.Duration
}

var shared = child.Shared[*Server]{Start: func(ctx context.Context) (*Server, error) { return Start(ctx, Options{}) }}

// Shared returns the server of this process, started at the first call; [Run] stops it.
func Shared(t testing.TB) *Server {
	t.Helper()
	return shared.Get(t)
}

// Run runs the tests of a package and stops the server that they shared. A package that
// calls [Shared] has a TestMain that says os.Exit(mongotest.Run(m)).
func Run(m interface{ Run() int }) int { return shared.Run(m) }

// Start starts a server.
func Start(ctx context.Context, opts Options) (_ *Server, err error) {
	if given := os.Getenv(Variable); given != "" && !opts.Own {
		return &Server{URL: given}, nil
	}
	s := &Server{args: opts.Args, unfinished: opts.Unfinished}
	if s.python, err = find(ctx); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "loci-mongo-"); err != nil {
		return nil, err
	}
	defer func() { // a return of nil has not taken s away
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	for attempt := 0; ; attempt++ { // the port may be taken in between
		if s.port, err = child.FreePort(); err != nil {
			return nil, err
		}
		s.URL = fmt.Sprintf("mongodb://127.0.0.1:%d/?directConnection=true", s.port)
		if opts.Query != "" {
			s.URL += "&" + opts.Query
		}
		if err = s.Launch(ctx); err == nil || attempt == 2 {
			return s, err
		}
	}
}

// Launch starts the server's process and waits until it answers: once, or again after
// [Server.Crash].
func (s *Server) Launch(ctx context.Context) (err error) {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	unfinished := cmp.Or(s.unfinished, time.Minute) // MongoDB's
	args := append([]string{
		"-c", fmt.Sprintf(program, unfinished/time.Second), "--host", "127.0.0.1", "--port", strconv.Itoa(s.port),
		"--storage-path", filepath.Join(s.dir, "data"), "--log-level", "WARNING",
	}, s.args...)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.python.program, args...) // it outlives the call
	cmd.Dir, cmd.SysProcAttr = s.dir, attributes()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+s.python.packages, "HOME="+s.dir)
	cmd.Stdout, cmd.Stderr = log, log
	s.process, err = child.Start(cmd)
	err = errors.Join(err, log.Close())
	if err != nil {
		return err
	}
	return s.await(ctx)
}

// program is the server's, with an option that it does not have, and looks for transactions that
// nobody finished twice a second. It would look at all there ever were at each statement, and
// wait for those that run: the more servers were killed, the longer each write took. A file makes
// it patient ([Server.Patient]).
const program = `import functools, os.path, secantus.cli as cli, secantus.transactions as transactions

class Registry(transactions.TransactionRegistry):
    pruned = float("-inf")

    def _prune_locked(self):
        if self._time() < self.pruned + 0.5:
            return 0
        self.pruned = self._time()
        if os.path.exists("` + patientFile + `"):
            self._lifetime = 60
        return super()._prune_locked()

import secantus.server as server
server.TransactionRegistry = Registry
cli.SecantusDBServer = functools.partial(cli.SecantusDBServer, transaction_lifetime_seconds=%d)
raise SystemExit(cli.main())`

const patientFile = "patient"

// Patient lets a server with [Options.Unfinished] wait for transactions as MongoDB does from now
// on: it also ends those whose one statement takes that long.
func (s *Server) Patient() error {
	if s.dir == "" {
		return nil // a server that was given is as it is
	}
	return os.WriteFile(filepath.Join(s.dir, patientFile), nil, 0o600)
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI(s.URL).SetServerSelectionTimeout(time.Second))
	if err != nil {
		return err
	}
	defer func() { _ = client.Disconnect(context.Background()) }()
	for {
		var refused mongo.CommandError // it answers, though not to everybody
		if err = client.Ping(ctx, nil); err == nil || errors.As(err, &refused) {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.process.Ended:
			return fmt.Errorf("the server ended: %w: %s", s.process.Err, s.log())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the server does not answer: %w: %s", err, s.log()), s.Crash())
		}
	}
}

func (s *Server) log() string { return child.End(filepath.Join(s.dir, "log")) }

// Crash ends the server at once, as a fault would. [Server.Launch] starts it again.
func (s *Server) Crash() error { return s.process.End(os.Kill) }

// Restart ends the server and starts it again with further arguments.
func (s *Server) Restart(ctx context.Context, args ...string) error {
	s.args = append(s.args, args...)
	if err := s.process.End(os.Interrupt); err != nil {
		return err
	}
	return s.Launch(ctx)
}

// Stop ends the server and removes its files. Of somebody else's server it drops the
// databases that were made.
func (s *Server) Stop() (err error) {
	if s.dir == "" {
		s.left.Range(func(name, _ any) bool {
			err = errors.Join(err, s.drop(name.(string)))
			return true
		})
		return err
	}
	if s.process != nil {
		err = s.process.End(os.Kill) // nothing of it is kept
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

var made atomic.Int64

// Database returns the URL of a database that does not exist yet. It goes with the server.
func (s *Server) Database() string {
	name := fmt.Sprintf("loci_test_%d_%d", os.Getpid(), made.Add(1))
	s.left.Store(name, true)
	return s.At(name)
}

// At is the URL of a database of the server.
func (s *Server) At(database string) string {
	base, query, _ := strings.Cut(s.URL, "?")
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host + "/" + database + "?" + query
}

func (s *Server) drop(name string) (err error) {
	s.left.Delete(name)
	return s.With(name, func(ctx context.Context, db *mongo.Database) error { return db.Drop(ctx) })
}

// With calls do with a database of the server.
func (s *Server) With(name string, do func(ctx context.Context, db *mongo.Database) error) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	client, err := mongo.Connect(options.Client().ApplyURI(s.URL))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	return do(ctx, client.Database(name))
}

// Command runs a command on the server as an administrator.
func (s *Server) Command(command bson.D) error {
	return s.With("admin", func(ctx context.Context, db *mongo.Database) error { return db.RunCommand(ctx, command).Err() })
}

// Address is where a server of the test's own listens, host and port.
func (s *Server) Address() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }
