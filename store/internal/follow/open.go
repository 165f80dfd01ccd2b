package follow

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"github.com/loci-memory/loci"
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
	if k.Part > 0 {
		s.Part = k.Part
	}
	s.Now, s.Forget, s.Reading = k.Now, k.Forget, k.Reading
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

// MatchStale searches without a look at the database, where the operator allows that; of is the
// index of what the process remembers of a tenant.
func MatchStale[T any](
	ctx context.Context, l *lobby.Lobby[T], of func(T) *Index, q *Search,
) (hits []loci.Hit, served bool, err error) {
	if q.Stale <= 0 || q.Limit < 1 {
		return nil, false, nil
	}
	g, err := l.Enter(ctx, q.Tenant)
	if err != nil {
		return nil, false, err
	}
	defer l.Leave(g)
	return of(g.Of).MatchStale(q)
}
