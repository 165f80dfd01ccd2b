package follow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A Table is where a database keeps the images of its tenants. Each call is a transaction
// of its own. Writes are for a tenant with a key of names: [ErrMoved] if it has another one.
type Table interface {
	// Read shows a tenant, all of it as of one moment.
	Read(ctx context.Context, t loci.Tenant, do func(ImageSource) error) error

	// Put adds pieces of a segment that no image names yet; n is the number of the first.
	Put(ctx context.Context, t loci.Tenant, key loci.NameKey, name string, n int, pieces [][]byte) error

	// Replace puts an image in the place of another one; old nil: there is none; next nil: there
	// will be none. [ErrMoved]: another image is there, or the pieces of a segment of the next
	// one are not.
	Replace(ctx context.Context, t loci.Tenant, key loci.NameKey, old, next *Image) error

	// Remove removes the pieces of segments, of those that no image names.
	Remove(ctx context.Context, t loci.Tenant, names []string) error

	// Strays lists segments of which there are pieces, without those that are named; old:
	// nobody can be writing them any more.
	Strays(ctx context.Context, t loci.Tenant, named []string, take func(name string, old bool)) error
}

// ErrMoved says that another process was quicker.
var ErrMoved = errors.New("the image of the index has changed")

// The defaults of a [Shelf].
const (
	keptFrom    = 500    // records of a shard from which its index is kept
	bookRecords = 16_384 // of a segment that is made while a shard is loaded
	partRecords = 2048   // of a shard that a transaction reads
)

// A Shelf keeps indexes of the tenants of a store in its database, as images.
type Shelf struct {
	Table  Table
	Folder *files.Folder // where segments are mapped; nil: they are on the heap
	From   int           // records of a shard from which its index is kept
	Book   int           // records of a segment that is made while a shard is loaded
	Join   int           // small shards that share an index, at least
	Now    bool          // write images before the search answers: for tests
	Forget bool          // keep no index for the next search: for tests
	Part   int           // records of a shard that a transaction reads
	Pause  time.Duration // before a look at what was erased: tests have another one
	Log    *slog.Logger

	KeepPause time.Duration // before an image is made of what was written; see keepPause

	Records atomic.Int64           // read into indexes
	Names   atomic.Int64           // of namespaces that indexes learned
	Reading func(namespace string) // unless nil: called before a part of a shard is read, by tests

	ctx      context.Context
	cancel   context.CancelFunc
	turns    chan struct{} // of those who write images
	keepers  chan struct{} // of those who make images though nobody searches: one at a time
	running  sync.WaitGroup
	retry    atomic.Int64 // when what failed may be tried again, in Unix milliseconds
	warnedAt atomic.Int64
	tidying  tidying

	mu     sync.Mutex
	copies map[loci.Tenant]map[string]bool // names of segments that the folder may have
}

// NewShelf is a shelf over a table; nil where segments cannot be read.
func NewShelf(table Table, folder *files.Folder, log *slog.Logger) *Shelf {
	if !segment.Supported() {
		return nil
	}
	s := &Shelf{
		Table: table, Folder: folder, From: keptFrom, Book: bookRecords, Join: index.LeastJoined,
		Part: partRecords, Pause: tidyPause, Log: log,
		turns: make(chan struct{}, 2), keepers: make(chan struct{}, 1), KeepPause: keepPause,
		copies: map[loci.Tenant]map[string]bool{},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.tidying.init()
	return s
}

// Close ends what is under way; another server, or the next process, goes on with it.
func (s *Shelf) Close() {
	if s == nil {
		return
	}
	s.cancel()
	s.tidying.close()
	s.running.Wait()
	if s.Folder != nil {
		s.Folder.Close()
	}
}

// pause is how long nothing is tried again that failed.
const pause = time.Minute

func (s *Shelf) mayTry() bool { return time.Now().UnixMilli() >= s.retry.Load() }

// warn tells the operator, once a minute: searches work without images.
func (s *Shelf) warn(what string, err error) {
	now := time.Now().UnixMilli()
	if last := s.warnedAt.Load(); now-last >= pause.Milliseconds() && s.warnedAt.CompareAndSwap(last, now) {
		s.Log.Warn("could not "+what, "error", err)
	}
}

// A publication is an image on its way into the database.
type publication struct {
	x       *Index
	epoch   *byte // of the index
	key     index.Key
	tenant  loci.Tenant
	nameKey loci.NameKey
	base    *Image
	next    *Image
	books   []*book // of the segments of next, whose bytes stay for as long
	upload  []*book // those whose pieces are not in the database
}

// publish writes images behind the answer.
func (s *Shelf) publish(q *Search, all []*publication) {
	for _, p := range all {
		p.tenant = q.Tenant
		work := func() {
			select {
			case s.turns <- struct{}{}:
				defer func() { <-s.turns }()
			case <-s.ctx.Done():
				return
			}
			p.x.published(p, s.write(s.ctx, p))
		}
		if s.Now || q.apart {
			work()
		} else {
			s.running.Go(work)
		}
	}
}

// write brings an image into the database: first pieces, then what names them.
func (s *Shelf) write(ctx context.Context, p *publication) error {
	err := s.upload(ctx, p.tenant, p.nameKey, p.upload)
	if err == nil {
		next := p.next
		if len(next.Segments) == 0 {
			next = nil
		}
		err = s.replace(ctx, p.tenant, p.nameKey, p.base, next)
	}
	if err == nil {
		s.Tidy(p.tenant) // what was erased meanwhile
		return nil
	}
	s.failed(ctx, p.tenant, "keep the index in the database", err, p.upload)
	return err
}

// replace puts an image in the place of another one, whose pieces go unless it has them, too.
func (s *Shelf) replace(ctx context.Context, t loci.Tenant, key loci.NameKey, old, next *Image) error {
	if err := s.Table.Replace(ctx, t, key, old, next); err != nil || old == nil {
		return err
	}
	names := old.Names()
	if next != nil {
		kept := next.Names()
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(kept, name) })
	}
	if len(names) == 0 {
		return nil
	}
	s.drop(names...)
	return s.remove(ctx, t, names)
}

// removeTime is how long pieces may take to go when their server is about to end.
const removeTime = 5 * time.Second

// remove takes away pieces that no image names, also for a caller that has just ended: erased
// text may be in them, and nobody else removes them before they are old.
func (s *Shelf) remove(ctx context.Context, t loci.Tenant, names []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	return s.Table.Remove(ctx, t, names)
}

// failed takes away pieces that no image will name.
func (s *Shelf) failed(ctx context.Context, t loci.Tenant, what string, err error, put []*book) {
	if !errors.Is(err, ErrMoved) && ctx.Err() == nil {
		s.retry.Store(time.Now().Add(pause).UnixMilli())
		s.warn(what, err)
	}
	var names []string
	for _, b := range put {
		names = append(names, b.Name)
	}
	if len(names) == 0 {
		return
	}
	_ = s.remove(ctx, t, names) // or they are strays, which somebody removes later
}

// maxPieces bounds the pieces that go into the database at once.
const maxPieces = 4

// upload writes the pieces of segments.
func (s *Shelf) upload(ctx context.Context, t loci.Tenant, key loci.NameKey, books []*book) error {
	for _, b := range books {
		fault, err := files.Faultless(func() error {
			n := 0
			for some := range slices.Chunk(slices.Collect(slices.Chunk(b.bytes, PieceBytes)), maxPieces) {
				if err := s.Table.Put(ctx, t, key, b.Name, n, some); err != nil {
					return err
				}
				n += len(some)
			}
			return nil
		})
		if err = errors.Join(fault, err); err != nil {
			return err
		}
	}
	return nil
}
