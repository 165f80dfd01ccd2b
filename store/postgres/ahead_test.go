package postgres_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/postgres"
)

// TestWritesThatAreDecidedAhead: a write that is decided while the one before it is on its way ends as if it
// had waited for that. Where what it was decided behind is not what the database holds, it decides again.
func TestWritesThatAreDecidedAhead(t *testing.T) {
	both := newGuesser(t)
	change := func() loci.Change { return creation(loci.NewID()) }
	slotted := func() loci.Change {
		c := change()
		c.Put[0].Record.Slot = "one"
		return c
	}
	for _, c := range []struct {
		name          string
		want          string
		left          int64
		first, second loci.Change
		before        func(g *guesser) // both are decided, after a save of the server
		between       func(g *guesser)
		refused       loci.Code // of the second; "": it is not
	}{
		{name: "saves", want: guessed, left: 4, first: change(), second: change()},
		{name: "saves with vectors", want: guessed, left: 5, first: embedded(change()), second: embedded(change()),
			before: func(g *guesser) { g.apply(g.s, embedded(change())) }},
		{name: "saves of a kind that is new", want: guessed, left: 4, first: ofKind("sort", change()),
			second: ofKind("other", change())},
		{name: "saves under a quota", want: guessed, left: 4, first: bounded(change(), 1<<40), second: bounded(change(), 36*4)},
		{name: "one that is too much because of the first", want: wrong, left: 3, first: change(),
			second: bounded(change(), 36*4-1), refused: loci.TooLarge},
		{name: "one that takes what the first has taken", want: wrong, left: 3, first: slotted(), second: slotted(),
			refused: loci.Conflict},
		{name: "one under the key of the first", want: wrong, left: 3, first: replied(change(), "key", 10),
			second: replied(change(), "key", 11), refused: loci.Conflict},
		{name: "another server writes between", want: wrong, left: 5, first: change(), second: change(),
			between: func(g *guesser) { g.save(g.other) }},
		{name: "the first is one that cannot be guessed", want: wrong, left: 5, first: change(), second: change(),
			before: func(g *guesser) { g.save(g.other) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := both.of(t, "ahead: "+c.name)
			if c.before != nil {
				c.before(g)
			}
			how := way(func() {
				errs, err := postgres.ApplyBehind(g.s, g.tn, c.first, c.second, func() {
					if c.between != nil {
						c.between(g)
					}
				})
				if err != nil || errs[0] != nil {
					t.Fatal(err, errs)
				}
				if (errs[1] != nil) != (c.refused != "") || errs[1] != nil && loci.AsError(errs[1]).Code != c.refused {
					t.Errorf("the second write ends with %v", errs[1])
				}
			})
			if how != c.want {
				t.Errorf("they are made %s, not %s", how, c.want)
			}
			g.leaves(c.left)
			for _, r := range []*loci.Record{&c.first.Put[0].Record, &c.second.Put[0].Record} {
				hits, err := g.other.Match(t.Context(), g.tn, loci.Probe{Text: r.Text}, loci.Filter{
					Within: []loci.Namespace{{}}, Kinds: []loci.Kind{r.Kind},
				}, 5)
				found := slices.ContainsFunc(hits, func(h loci.Hit) bool { return h.ID == r.ID })
				if err != nil || found != (c.refused == "" || r == &c.first.Put[0].Record) {
					t.Errorf("a search finds %v of %s: %v", found, r.ID, err)
				}
			}
		})
	}
}

func ofKind(kind loci.Kind, c loci.Change) loci.Change {
	c.Put[0].Record.Kind = kind
	return c
}
