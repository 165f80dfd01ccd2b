// Package sqlite is the store in SQLite files: one file a tenant, write-ahead
// log, every acknowledged write on disk, several processes on one file.
//
// Search runs in an index held in the process and derived from the file; see
// package index. The file holds records, vectors and events, and nothing else
// that repeats a memory's words.
package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// DefaultTenant is the only tenant of a store that is a single file.
const DefaultTenant = "default"

// busyTimeout bounds the wait for another process's transaction. Measured: eight
// processes that write without pause keep one of them waiting up to 3.3 s on a
// fast disk.
const busyTimeout = 30 * time.Second

// DefaultMaxOpen is how many files a store holds open.
const DefaultMaxOpen = 64

// Options configure a store; nil and the zero value of each field mean the default.
type Options struct {
	MaxOpen     int          // files open at once; default DefaultMaxOpen
	IndexMemory int64        // bytes that the search indexes of all files may take; default DefaultIndexMemory
	Logger      *slog.Logger // default slog.Default(); gets paths, sizes and ids, never content
	NoReserve   bool         // keep no room for deleting on a full disk: for copies that go when they were used

	shelfFrom, shelfBook int           // see shelf; for tests
	shelfJoin            int           // the same
	keepPause            time.Duration // see keeper; for tests
}

// A Store is one SQLite file, or a directory with a file for every tenant.
type Store struct {
	path   string
	single bool
	opts   Options

	ballast *ballast
	budget  *budget
	pool    *rowcache.Pool
	numbers numbers
	meter   meter.Meter
	loaders chan struct{}
	keepers chan struct{}   // of those that keep an index though nobody searches: one at a time
	reading func(index.Key) // see file

	mu     sync.Mutex
	idle   *sync.Cond // signalled when a file loses its last user
	files  map[loci.Tenant]*file
	tick   int64
	dealt  map[loci.Tenant]dealt // see [Store.Due]
	seen   map[loci.Tenant]seen  // see [Store.Tenants]
	owners map[string]string     // of files whose names do not say it
	closed bool
}

var _ loci.Store = (*Store)(nil)

// Open prepares a store at a path. One that ends in ".db" is a file for the one
// tenant "default"; any other is a directory with a file for every tenant.
// Directories are made when missing, readable by their owner alone. Files are
// opened when first used.
func Open(path string, opts *Options) (*Store, error) {
	s := &Store{path: path, single: strings.HasSuffix(path, ".db"), files: map[loci.Tenant]*file{},
		dealt: map[loci.Tenant]dealt{}, seen: map[loci.Tenant]seen{}, owners: map[string]string{}}
	s.idle = sync.NewCond(&s.mu)
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.MaxOpen <= 0 {
		s.opts.MaxOpen = DefaultMaxOpen
	}
	if s.opts.IndexMemory <= 0 {
		s.opts.IndexMemory = DefaultIndexMemory
	}
	s.budget, s.loaders = newBudget(s.opts.IndexMemory), aside.Turns()
	s.pool, s.keepers = rowcache.NewPool(keptMemory), make(chan struct{}, 1)
	if s.opts.Logger == nil {
		s.opts.Logger = slog.Default()
	}
	if path == "" {
		return nil, loci.Errorf(loci.Invalid, "the store's path is missing: write sqlite:PATH")
	}
	if path == "~" || strings.HasPrefix(path, "~/") { // it would be another store in each directory
		return nil, loci.Errorf(loci.Invalid, "store path %s: only a shell knows what ~ stands for: write the path of your home directory in full", path)
	}
	var err error
	if s.path, err = filepath.Abs(path); err != nil {
		return nil, loci.Errorf(loci.Invalid, "store path %s: %w", path, err)
	}
	if !s.single && filepath.Dir(s.path) == s.path { // sqlite:$DIR/ without a DIR, more likely than not
		return nil, loci.Errorf(loci.Invalid, "store path %s is a root directory: write the path of a file that ends in .db, or of a directory for the files of tenants", path)
	}
	dir := s.path
	if s.single {
		dir = filepath.Dir(s.path)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		refused := oserror.Of("the directory "+dir+" cannot be made", err)
		refused.Code = loci.Unavailable
		return nil, refused
	}
	s.ballast = newBallast(s)
	s.ballast.none = s.opts.NoReserve
	return s, nil
}

// Warnings says what the operator should know about the disk, in sentences: that the
// reserve for deleting is missing, or that little is free. While nothing was written
// there is nothing to delete, and no reserve.
func (s *Store) Warnings(ctx context.Context) (found []string, err error) {
	used := false
	for t, err := range s.Tenants(ctx) {
		if err != nil {
			return nil, err
		}
		used = true
		f, err := s.acquire(ctx, t)
		if err != nil {
			return nil, err
		}
		more, err := f.shelfWarnings(ctx)
		s.release(f)
		if err != nil {
			return nil, f.translate("look at the kept index", err)
		}
		found = append(found, more...)
	}
	for _, path := range s.begun(ctx) {
		found = append(found, path+" is a copy of a tenant that is not whole, and not in the store: migrate or restore again, "+
			"which goes on with it, or erase the tenant, or remove the file")
	}
	return append(s.ballast.warnings(used), found...), nil
}

// acquire opens a tenant's file and keeps it open until release.
func (s *Store) acquire(ctx context.Context, t loci.Tenant) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	if t.IsZero() {
		return nil, loci.Errorf(loci.Invalid, "a tenant is missing")
	}
	if !s.takes(t) {
		return nil, loci.Errorf(loci.Unsupported, "%s holds the tenant %q alone: for several tenants use a store path that is a directory", s.path, DefaultTenant)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed()
	}
	f := s.files[t]
	if f == nil {
		f = newFile(s, t)
		s.files[t] = f
	}
	f.users++
	s.tick++
	f.used = s.tick
	evicted := s.evict()
	s.mu.Unlock()
	for _, old := range evicted {
		old.close()
	}
	if err := f.ready(ctx); err != nil {
		s.mu.Lock()
		if s.files[t] == f { // the next call tries again
			delete(s.files, t)
		}
		s.mu.Unlock()
		s.release(f)
		return nil, f.translate(opOpen, err)
	}
	if err := f.inPlace(); err != nil {
		s.release(f)
		return nil, err
	}
	return f, nil
}

// evict takes the files that were not used for longest out of the table while
// there are too many; the caller closes them.
func (s *Store) evict() (evicted []*file) {
	for len(s.files) > s.opts.MaxOpen {
		var oldest *file
		for _, f := range s.files {
			if f.users == 0 && (oldest == nil || f.used < oldest.used) {
				oldest = f
			}
		}
		if oldest == nil {
			return evicted
		}
		delete(s.files, oldest.tenant)
		evicted = append(evicted, oldest)
	}
	return evicted
}

func (s *Store) release(f *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.users--
	if f.users == 0 {
		s.idle.Broadcast()
	}
}

// Close implements [loci.Store]: it waits for the calls under way.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	files := s.files
	s.files = nil
	for _, f := range files {
		for f.users > 0 {
			s.idle.Wait()
		}
	}
	s.mu.Unlock()
	for _, f := range files {
		f.close()
	}
	return nil
}

// Tenants implements [loci.Store].
func (s *Store) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] {
	return s.tenants(ctx, func(loci.Tenant) (bool, error) { return true, nil })
}

// tenants yields those tenants that hold data of the ones that are wanted.
func (s *Store) tenants(
	ctx context.Context, wanted func(loci.Tenant) (bool, error),
) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		names, err := s.tenantNames()
		if err != nil {
			yield(loci.Tenant{}, err)
			return
		}
		for _, name := range names {
			t, err := loci.NewTenant(name)
			if err != nil {
				continue // a file that is not ours
			}
			holds, err := wanted(t)
			if err == nil && holds {
				holds, err = s.holdsStill(ctx, t)
			}
			if err != nil {
				yield(t, err)
				return
			}
			if holds && !yield(t, nil) {
				return
			}
		}
	}
}

// holdsData reports whether a tenant's file has anything in it.
func (s *Store) holdsData(ctx context.Context, t loci.Tenant) (holds bool, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return false, err
	}
	defer s.release(f)
	err = f.readRow(ctx, "SELECT EXISTS (SELECT 1 FROM record) OR EXISTS (SELECT 1 FROM event) OR EXISTS (SELECT 1 FROM reply)", nil, &holds)
	return holds, f.translate("look for data", err)
}

// EraseTenant implements [loci.Store]. It empties the file instead of unlinking
// it: another process that has it open would go on writing to a file without a
// name.
func (s *Store) EraseTenant(ctx context.Context, t loci.Tenant) error {
	if err := s.dropCopy(ctx, t); err != nil {
		return err
	}
	if exists, err := s.exists(t); err != nil || !exists {
		return err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	err = f.erase(ctx, func(tx *tx) error {
		seq, err := tx.nextSeq()
		if err != nil {
			return err
		}
		if err := tx.exec("DELETE FROM meta WHERE " + manifestKeys + " OR " + planKeys); err != nil {
			return err
		}
		if err := tx.exec("INSERT INTO erasing VALUES (1)"); err != nil { // nothing is taken off counts that go, too
			return err
		}
		for _, table := range []string{
			"vector", "revision", "record", "link", "event", "reply", "erased", "shard", "namespace", "space",
			"tally", "tally_vector", "file_list", "erasing", "event_span",
		} {
			if err := tx.exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		if err := tx.exec("UPDATE holding SET records = 0, bytes = 0"); err != nil {
			return err
		}
		tx.erased = true
		tx.forget()
		if err := tx.setActive(0); err != nil {
			return err
		}
		if err := tx.restartChain(); err != nil {
			return err
		}
		return tx.exec("UPDATE meta SET value = ? WHERE key = 'erased_floor'", seq)
	})
	if err == nil {
		err = f.awaitScrub(ctx, false)
	}
	return f.translate("erase tenant", err)
}

// exists reports whether a tenant has a file, without making one.
func (s *Store) exists(t loci.Tenant) (bool, error) {
	if t.IsZero() {
		return false, loci.Errorf(loci.Invalid, "a tenant is missing")
	}
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return false, errClosed()
	}
	if !s.takes(t) {
		return false, nil
	}
	_, err := os.Stat(s.fileName(t))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
