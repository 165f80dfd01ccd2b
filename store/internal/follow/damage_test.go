package follow

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// changed is a table in which a record was erased.
type changed struct{ *table }

func (c changed) Changes(_ int64, take func(loci.ID, int64, loci.Kind, bool)) error {
	take(loci.ID{9}, 1, loci.KindFact, true)
	return nil
}

// A teller says what the index was when something was logged.
type teller struct {
	slog.Handler
	x    *Index
	told []bool // whether it was gone
}

func (h *teller) Enabled(context.Context, slog.Level) bool { return true }

func (h *teller) Handle(context.Context, slog.Record) error {
	h.told = append(h.told, h.x.index == nil)
	return nil
}

// harmed is an index that shows an empty table at the counter 10 and has a segment whose entries are damaged.
func harmed(t *testing.T) (x *Index, s *table, tells *teller) {
	t.Helper()
	x, s = newIndex(t)
	tells = &teller{x: x}
	x.shelf = NewShelf(nil, nil, slog.New(tells))
	t.Cleanup(x.shelf.Close)
	of, origin := index.Key{Namespace: place.Key(), Kind: loci.KindFact}, index.OriginOf([16]byte{1}, loci.Space{})
	from := index.New(loci.Space{})
	from.AddShard(of)
	from.Upsert(commit(9, 1).Came[0].Record, nil)
	data := from.Freeze(of, origin)
	g, err := segment.Open(data, origin)
	if err != nil {
		t.Fatal(err)
	}
	x.index.Attach(of, g, &book{Kept: Kept{Name: "x"}}, nil)
	begin := int(data[24]) | int(data[25])<<8 // where its blocks begin
	data[begin] ^= 1
	return x, s, tells
}

// A change that meets damage is half made when it ends: the index goes before another search may use it, whoever takes
// the change in.
func TestAHalfMadeChangeIsNotSearched(t *testing.T) {
	t.Run("of this process", func(t *testing.T) {
		x, s, tells := harmed(t)
		x.Hand(commit(11, 1))
		x.takeOwn(s.search())
		if len(tells.told) != 1 || !tells.told[0] {
			t.Errorf("whether the index was gone: %v", tells.told)
		}
	})
	t.Run("of another one", func(t *testing.T) {
		x, s, tells := harmed(t)
		s.st.Seq = 11
		q := s.search()
		q.Read = func(_ context.Context, do func(Source) error) error { return do(changed{s}) }
		if _, err := x.MatchAfter(t.Context(), q); err != nil {
			t.Error(err)
		}
		if len(tells.told) != 1 || !tells.told[0] {
			t.Errorf("whether the index was gone: %v", tells.told)
		}
	})
	t.Run("beside a load", func(t *testing.T) {
		x, s, _ := harmed(t)
		s.st.Seq = 11
		q := s.search()
		q.Read = func(_ context.Context, do func(Source) error) error { return do(changed{s}) }
		of := index.Key{Namespace: place.Key(), Kind: loci.KindRule}
		one := &asked{Key: of, Of: &part{key: of, q: q, of: x, epoch: x.epoch, x: x.fork(of)}}
		err := x.install(t.Context(), []*asked{one})
		var damage *segment.DamageError
		if !errors.As(faultOf(err), &damage) {
			t.Fatal(err)
		}
		if x.index != nil {
			t.Error("the index stays")
		}
	})
}
