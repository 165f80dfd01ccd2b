package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// synchronous is FULL so that an acknowledged write survives a power cut. It is a
// variable for the test of that, which must notice a build with NORMAL (-ldflags -X).
var synchronous = "FULL"

// Pragmas of the connections. The writer's wait for a lock is short because begin
// repeats it. Temporary data stays in memory: a spilled journal would leave erased
// text on another disk.
var (
	writerPragmas = []string{
		"busy_timeout(250)",
		"synchronous(" + synchronous + ")",
		"foreign_keys(ON)",
		"secure_delete(ON)",
		"temp_store(MEMORY)",
		"journal_size_limit(67108864)",
		fmt.Sprintf("wal_autocheckpoint(%d)", mergeLate),
		"cache_size(-8000)",
		"mmap_size(0)",
	}
	readerPragmas = []string{
		"busy_timeout(30000)",
		"query_only(ON)",
		"temp_store(MEMORY)",
		"cache_size(-4000)",
		"mmap_size(0)",
	}
)

// maxReaders bounds the reading connections of a file.
const maxReaders = 4

// file is one tenant's SQLite file while it is open.
type file struct {
	tenant loci.Tenant
	path   string
	log    *slog.Logger
	opened os.FileInfo // which file the path led to; see [file.inPlace]

	users int   // calls under way; guarded by the store
	used  int64 // when it was used last; guarded by the store

	opening   sync.Once
	openErr   error
	writeDB   *sql.DB
	writeConn *sql.Conn
	readDB    *sql.DB
	cutting   sync.Mutex
	cutDB     *sql.DB  // see [file.cutter]
	reads     sync.Map // query → *sql.Stmt

	queue      chan *job
	closing    chan struct{}
	writerDone chan struct{}
	committed  chan struct{} // something was; see [file.merger]
	mergerDone chan struct{}

	search  searchIndex
	rows    *rowcache.File
	last    atomic.Pointer[changedAt]
	active  atomic.Pointer[activeIn]
	shelf   shelf
	keeper  keeper
	scrub   scrubber
	touched touched
	ballast *ballast

	pool     *rowcache.Pool // of the store
	numbers  *numbers       // of the store
	watching int64          // the number of rows, see [watched]
	handle   uintptr        // where SQLite has the writing connection; 0: not known
	head     logHead        // of the writing connection; 0: not known
	several  bool           // the last batch had more than one job; the writer alone uses it

	meter   *meter.Meter    // of the store
	indexed atomic.Int64    // records read into indexes
	reading func(index.Key) // unless nil: called before a part of a shard is read, by tests
}

func newFile(s *Store, t loci.Tenant) *file {
	path := s.fileName(t)
	f := &file{
		tenant: t, path: path, log: s.opts.Logger, queue: make(chan *job),
		closing: make(chan struct{}), writerDone: make(chan struct{}), ballast: s.ballast,
		committed: make(chan struct{}, 1), mergerDone: make(chan struct{}),
	}
	f.search.budget, f.reading = s.budget, s.reading
	f.search.placed.read = f.placeNamed
	f.pool, f.numbers = s.pool, &s.numbers
	f.meter, f.search.meter = &s.meter, &s.meter
	f.beginLoading(s.loaders)
	f.shelf.init(path, &s.opts)
	f.keeper.init(s)
	f.scrub.init()
	return f
}

// openDB opens a file with pragmas for every connection. The path becomes a
// properly escaped URL: in a bare name, "?" and "#" would cut it short.
func openDB(path string, pragmas []string) (*sql.DB, error) {
	if err := registerFunctions(); err != nil {
		return nil, err
	}
	query := url.Values{"_pragma": pragmas, "mode": {"rw"}} // [createPrivate] makes files, SQLite none
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	if !strings.HasPrefix(u.Path, "/") {
		u.Path = "/" + u.Path // C:/… on Windows
	}
	return sql.Open("sqlite", u.String())
}

// ready opens the file on first use; later calls return the same outcome.
func (f *file) ready(ctx context.Context) error {
	f.opening.Do(func() {
		// Detached: a caller that gives up must not leave a half-open file to the others.
		ctx = context.WithoutCancel(ctx)
		if f.openErr = f.withCause(f.open(ctx)); isFull(f.openErr) { // the log of an earlier process needs room, too
			f.closeDBs()
			f.ballast.release()
			f.openErr = f.open(ctx)
		}
		if f.openErr != nil {
			f.closeDBs()
		}
	})
	return f.openErr
}

func (f *file) open(ctx context.Context) (err error) {
	if _, err := createPrivate(f.path); err != nil {
		return err
	}
	if f.writeDB, err = openDB(f.path, writerPragmas); err != nil {
		return err
	}
	f.writeDB.SetMaxOpenConns(1)
	if f.writeConn, err = firstConn(ctx, f.writeDB); err != nil {
		return err
	}
	unwiped, err := prepare(ctx, f.writeConn, f.tenant.String())
	if err != nil {
		return err
	}
	if f.opened, err = os.Stat(f.path); err != nil {
		return err
	}
	if err = f.watch(ctx); err != nil {
		return err
	}
	if f.readDB, err = openDB(f.path, readerPragmas); err != nil {
		return err
	}
	f.readDB.SetMaxOpenConns(maxReaders)
	f.readDB.SetMaxIdleConns(maxReaders)
	go f.writer()
	go f.merger()
	if unwiped { // a process ended before it had wiped what it erased
		f.startScrub()
	}
	if _, err := os.Lstat(f.shelf.dir); err == nil { // or had taken it out of the index that is kept
		f.tidyAfter(0)
	}
	return nil
}

// firstConn opens the connection that writes. Its pragmas read the file, which another process that makes it
// just now holds for longer than they wait.
func firstConn(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	deadline := time.Now().Add(busyTimeout)
	for {
		conn, err := db.Conn(ctx)
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return conn, err
		}
		if err := patience.Sleep(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// inPlace refuses to go on where the path leads elsewhere than when the file was opened: it was moved, removed
// or replaced. What goes into it now, others do not see and nobody has once this process ends; and what it says,
// others may have changed or erased since in the one that took its place.
func (f *file) inPlace() error {
	now, err := os.Stat(f.path)
	if err == nil && os.SameFile(now, f.opened) {
		return nil
	}
	return &loci.Error{
		Code:     loci.Unavailable,
		Err:      err,
		Msg:      "the memory file " + f.path + " was moved, removed or replaced while this program had it open; nothing was read or stored",
		Recovery: "Put the file back, or end this program and start it again: it then uses the file that is there.",
	}
}

// createPrivate makes a missing file readable by its owner alone; SQLite gives
// its side files the same mode. made: there was none.
func createPrivate(path string) (made bool, err error) {
	c, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		// SQLite would create the target of a dangling link, readable for everybody.
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() && !info.IsDir() { // SQLite says what a directory is
			return false, loci.Errorf(loci.Unavailable, "%s is no file: choose another store path", path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return false, &loci.Error{
				Code:     loci.Unavailable,
				Msg:      "the memory file " + path + " is a link to a file that does not exist",
				Err:      err,
				Recovery: "Remove the link, or choose another store path.",
			}
		}
		return false, nil
	case err != nil:
		refused := oserror.Of("the memory file "+path+" cannot be made", err)
		refused.Code = loci.Unavailable
		return false, refused
	}
	return true, c.Close()
}

// close ends the file: running jobs finish, leftovers of erased rows are wiped,
// the log is merged into the file.
func (f *file) close() {
	f.opening.Do(func() { f.openErr = errClosed() })
	if f.openErr != nil {
		return // nobody could search it
	}
	f.keeper.stop()
	f.search.close()
	f.shelf.stop()
	f.stopScrub()
	f.leaveAtRest()
	close(f.closing)
	<-f.writerDone
	<-f.mergerDone
	f.closeDBs()
}

func (f *file) closeDBs() {
	f.unwatch()
	f.logError("close", f.touched.close())
	f.reads.Range(func(_, s any) bool {
		f.logError("close", s.(*sql.Stmt).Close())
		return true
	})
	if f.readDB != nil {
		f.logError("close", f.readDB.Close())
	}
	if f.cutDB != nil {
		f.logError("close", f.cutDB.Close())
	}
	if f.writeConn != nil {
		f.logError("close", f.writeConn.Close())
	}
	if f.writeDB != nil {
		f.logError("close", f.writeDB.Close())
	}
}

// logError reports an error that no caller waits for.
func (f *file) logError(op string, err error) {
	if err != nil {
		f.log.Warn("store", "op", op, "file", f.path, "error", err)
	}
}

// read returns the prepared statement of a query on the reading connections.
func (f *file) read(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := f.reads.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := f.readDB.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	if other, loaded := f.reads.LoadOrStore(query, s); loaded {
		return other.(*sql.Stmt), s.Close()
	}
	return s, nil
}

// readRow runs a query for one row.
func (f *file) readRow(ctx context.Context, query string, args []any, dest ...any) error {
	s, err := f.read(ctx, query)
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(dest...)
}

// readRows runs a query and calls row for each result until it returns false.
func (f *file) readRows(ctx context.Context, query string, args []any, row func(*sql.Rows) (bool, error)) (err error) {
	s, err := f.read(ctx, query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if more, err := row(rows); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}
