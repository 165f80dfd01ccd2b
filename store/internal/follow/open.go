package follow

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/lobby"
)

// Keep says how a store keeps the indexes of its tenants in its database.
type Keep struct {
	// Cache is a directory for copies, which holds up to CacheSize bytes; "" keeps them in memory.
	Cache     string
	CacheSize int64
	Optional  bool // where Cache cannot be used, they are kept in memory

	// The fields of a [Shelf], for tests; 0: its defaults.
	From, Book  int
	Join        int
	Now, Forget bool
	Part        int
	Reading     func(namespace string)
}

// OpenShelf begins to keep indexes in a table.
func OpenShelf(table Table, k Keep, log *slog.Logger) (*Shelf, error) {
	var folder *files.Folder
	if k.Cache != "" {
		var err error
		folder, err = files.NewFolder(k.Cache, k.CacheSize)
		switch {
		case err == nil:
		case k.Optional:
			log.Info("search indexes that the database keeps are held in memory", "error", err)
		default:
			return nil, &loci.Error{Code: loci.Invalid, Err: err, Msg: "index.cache: " + err.Error(),
				Recovery: "Name a directory that this user may write to, or set index.cache to off."}
		}
	}
	s := NewShelf(table, folder, log)
	if s == nil {
		return nil, nil
	}
	if k.From > 0 {
		s.From, s.Book = k.From, k.Book
	}
	if k.Join > 0 {
		s.Join = k.Join
	}
	if k.Part > 0 {
		s.Part = k.Part
	}
	s.Now, s.Forget, s.Reading = k.Now, k.Forget, k.Reading
	if k.From > 0 || k.Reading != nil { // a test counts what is read: nothing is made by itself
		s.KeepPause = time.Hour
	}
	return s, nil
}

// Pending says what waits to be taken out of the indexes that the database keeps of tenants, in
// sentences.
func (s *Shelf) Pending(ctx context.Context, tenants iter.Seq2[loci.Tenant, error]) (found []string, err error) {
	if s == nil {
		return nil, nil
	}
	for t, err := range tenants {
		if err != nil {
			return nil, err
		}
		f, err := s.Look(ctx, t)
		if err != nil {
			return nil, err
		}
		if sentence := f.Sentence(t); sentence != "" {
			found = append(found, sentence)
		}
	}
	return found, nil
}

// Due passes on the tenants with something due, each after what another server has left undone of
// its kept index: before its lease is given back.
func (s *Shelf) Due(ctx context.Context, due iter.Seq2[loci.Tenant, error]) iter.Seq2[loci.Tenant, error] {
	if s == nil {
		return due
	}
	return func(yield func(loci.Tenant, error) bool) {
		for t, err := range due {
			if err == nil {
				if _, err := s.TidyNow(ctx, t); errors.Is(err, ErrMoved) {
					s.Tidy(t)
				} else if err != nil {
					s.Log.Warn("could not take erased memories out of the kept index", "error", err)
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// A Look reads a tenant's counter. It calls meanwhile, unless that is nil, once the question is on its way:
// once a try, or not at all.
type Look func(meanwhile func()) (batch.State, error)

// Find searches the index of a tenant; of is that index of what the process remembers of the tenant, and
// look is a [Look] at the tenant.
func Find[T any](
	ctx context.Context, l *lobby.Lobby[T], of func(T) *Index, q *Search, look func(T, func()) (batch.State, error),
) (hits []loci.Hit, err error) {
	x, hits, served, err := matchNow(ctx, l, of, q, look)
	if err != nil || served {
		return hits, err
	}
	return x.MatchAfter(ctx, q)
}

// matchNow searches if the index has what is needed.
func matchNow[T any](
	ctx context.Context, l *lobby.Lobby[T], of func(T) *Index, q *Search, look func(T, func()) (batch.State, error),
) (x *Index, hits []loci.Hit, served bool, err error) {
	g, err := l.Enter(ctx, q.Tenant)
	if err != nil {
		return nil, nil, false, err
	}
	defer l.Leave(g)
	if q.Limit < 1 {
		return nil, nil, false, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", q.Limit)
	}
	x, q.ctx = of(g.Of), ctx
	if q.Stale > 0 { // where the operator allows that, without a look at the database
		if hits, served, err = x.MatchStale(q); err != nil || served {
			return x, hits, served, err
		}
	}
	if q.Begin() { // what the call's first question has seen is seen
		if hits, served, err = x.find(q, 0, func() bool { return x.caughtUp(q) }); err != nil || served {
			return x, hits, served, err
		}
	}
	hits, served, err = x.MatchPresent(ctx, q, func(meanwhile func()) (batch.State, error) {
		return look(g.Of, meanwhile)
	})
	return x, hits, served, err
}

// Begin notes that a search begins: what it reads from now on is of no earlier moment, nor is what others
// have read for it. A later question of a call begins when the first one did; again: it is one.
func (q *Search) Begin() (again bool) {
	if q.at, again = q.Probe.Shared[callBegan{}].(time.Duration); again {
		return true
	}
	if q.at = q.now(); q.Probe.Shared != nil {
		q.Probe.Shared[callBegan{}] = q.at
	}
	return false
}

// callBegan is where the moment lies at which the first question of a call began, see [loci.Probe].Shared.
type callBegan struct{}
