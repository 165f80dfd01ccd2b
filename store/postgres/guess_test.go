package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// How a write came about.
const (
	asked   = "by what the database said"
	guessed = "by a guess"
	wrong   = "by a guess that was wrong, and then by what the database said"
	nothing = "not at all"
)

// way says how writes came about that a function makes.
func way(do func()) string {
	seen.Delete(postgres.Guessed)
	seen.Delete(*postgres.Asked)
	do()
	_, guess := seen.Load(postgres.Guessed)
	_, ask := seen.Load(*postgres.Asked)
	switch {
	case guess && ask:
		return wrong
	case guess:
		return guessed
	case ask:
		return asked
	}
	return nothing
}

// A guesser is a server that guesses its next write to a tenant, and another one beside it.
type guesser struct {
	*testing.T
	d        pgtest.Database
	s, other loci.Store
	tn       loci.Tenant
	at       string // the condition that a row is the tenant's
}

// newGuesser opens both; of is one for a tenant.
func newGuesser(t *testing.T) *guesser {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	return &guesser{T: t, d: d, s: openAt(t, d.Server), other: openAt(t, d.Server)}
}

func (g guesser) of(t *testing.T, tenant string) *guesser {
	t.Helper()
	g.T, g.tn = t, locitest.Tenant(t, tenant)
	g.at = fmt.Sprintf("tenant = '\\x%x'", postgres.KeyOf(g.tn))
	g.save(g.s)
	if how := way(func() { g.save(g.s) }); how != guessed {
		t.Fatalf("the second write of a server is made %s, not %s", how, guessed)
	}
	return &g
}

// save saves a record that nobody has.
func (g *guesser) save(s loci.Store) (c loci.Change) {
	g.Helper()
	c = creation(loci.NewID())
	g.apply(s, c)
	return c
}

func (g *guesser) apply(s loci.Store, c loci.Change) {
	g.Helper()
	if err := s.Apply(g.Context(), g.tn, c); err != nil {
		g.Fatal(err)
	}
}

// erase erases what a change has put.
func (g *guesser) erase(s loci.Store, c loci.Change) {
	g.Helper()
	r := c.Put[0].Record
	e := c.Events[0]
	e.ID, e.Type, e.Namespace = loci.NewID(), loci.EventErased, loci.Namespace{"user", "eve"}
	g.apply(s, loci.Change{Erase: []loci.Erase{{ID: r.ID, Version: 1}}, Events: []loci.Event{e}})
}

// move moves the expiry of what a change has put: a write without an event.
func (g *guesser) move(s loci.Store, c loci.Change) {
	g.Helper()
	touch := loci.Touch{ID: c.Put[0].Record.ID, ExpiresAt: time.UnixMilli(1_900_000_000_000).UTC()}
	if err := s.Touch(g.Context(), g.tn, []loci.Touch{touch}); err != nil {
		g.Fatal(err)
	}
}

// holds makes the row say as of which change it has what the tenant holds, as a server of a version that
// does not keep it leaves that: by this alone no guess is told from another.
func (g *guesser) holds(seq int) {
	execute(g.T, g.d.Super, fmt.Sprintf("UPDATE loci.tenant SET held_seq = %d, held_records = %d, held_bytes = %d WHERE %s",
		seq, seq, 36*seq, g.at)) // each change of these tests has a record of 36 bytes
}

// makes requires that writes come about in some way.
func (g *guesser) makes(want string, do func()) {
	g.Helper()
	if how := way(do); how != want {
		g.Errorf("the write is made %s, not %s", how, want)
	}
}

// leaves requires that there are so many records, and that all of the tenant fits together.
func (g *guesser) leaves(records int64) {
	g.Helper()
	if n, _ := count(g.T, g.other, g.tn); n != records {
		g.Errorf("there are %d records, not %d", n, records)
	}
	report, err := locitest.NewEngine(g.T, g.other, loci.Options{}).VerifyEvents(g.Context(), g.tn, loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		g.Errorf("the log: %q, %v", report.Problems, err)
	}
	if found, err := g.other.Check(g.Context(), g.tn); err != nil || len(found) > 0 {
		g.Errorf("%q, %v", found, err)
	}
	var missing []int64 // from the counters; and vector spaces that are there twice
	query(g.T, g.d.Super, `SELECT t.seq - floor - (SELECT count(DISTINCT c.seq) FROM loci.change c WHERE c.seq > floor AND `+g.at+`)
		FROM loci.tenant t WHERE `+g.at+`
		UNION ALL SELECT events - (SELECT min(seq) - 1 + count(*) FROM loci.event WHERE `+g.at+`) FROM loci.tenant WHERE `+g.at+`
		UNION ALL SELECT count(*) - count(DISTINCT model) FROM loci.space WHERE `+g.at, &missing)
	if !slices.Equal(missing, []int64{0, 0, 0}) {
		g.Errorf("%d changes, events and numbers of spaces are wrong", missing)
	}
}

// TestGuesses: a write that adds is decided from what the server knows since its last one, and one
// that the server cannot know about is not.
func TestGuesses(t *testing.T) {
	both := newGuesser(t)
	for _, c := range []struct {
		name string
		want string
		left int64
		do   func(g *guesser) (write func())
	}{
		{"a save", guessed, 3, func(g *guesser) func() { return func() { g.save(g.s) } }},
		{"saves that wait together", guessed, 5, func(g *guesser) func() {
			return func() {
				all := []loci.Change{creation(loci.NewID()), creation(loci.NewID()), creation(loci.NewID())}
				for _, err := range postgres.ApplyTogether(g.s, g.tn, all...) {
					if err != nil {
						g.Error(err)
					}
				}
			}
		}},
		{"a save under a quota", guessed, 3, func(g *guesser) func() {
			return func() { g.apply(g.s, bounded(creation(loci.NewID()), 1<<40)) }
		}},
		{"saves that wait together, of which one is too much", guessed, 3, func(g *guesser) func() {
			return func() {
				errs := postgres.ApplyTogether(g.s, g.tn, bounded(creation(loci.NewID()), 1), creation(loci.NewID()))
				if loci.AsError(errs[0]) == nil || loci.AsError(errs[0]).Code != loci.TooLarge || errs[1] != nil {
					g.Errorf("%v", errs)
				}
			}
		}},
		{"a save under a quota where nobody keeps what the tenant holds", asked, 6, func(g *guesser) func() {
			execute(g.T, g.d.Super, "UPDATE loci.tenant SET held_seq = -1 WHERE "+g.at)
			g.save(g.other)
			g.save(g.s)
			g.save(g.s)
			return func() { g.apply(g.s, bounded(creation(loci.NewID()), 1<<40)) }
		}},
		{"a save beside uses that are counted", guessed, 3, func(g *guesser) func() {
			touch := loci.Touch{ID: g.only(), At: time.UnixMilli(1_900_000_000_000).UTC()}
			if err := g.other.Touch(g.Context(), g.tn, []loci.Touch{touch}); err != nil {
				g.Error(err)
			}
			return func() { g.save(g.s) }
		}},
		{"a save in another namespace", asked, 3, func(g *guesser) func() {
			return func() { g.apply(g.s, in("bob", creation(loci.NewID()))) }
		}},
		{"the next one there", guessed, 4, func(g *guesser) func() {
			g.apply(g.s, in("bob", creation(loci.NewID())))
			return func() { g.apply(g.s, in("bob", creation(loci.NewID()))) }
		}},
		{"one in the namespace before", guessed, 4, func(g *guesser) func() {
			g.apply(g.s, in("bob", creation(loci.NewID())))
			return func() { g.save(g.s) }
		}},
		{"a kind that is new in the namespace", guessed, 3, func(g *guesser) func() {
			c := creation(loci.NewID())
			c.Put[0].Record.Kind = "sort"
			return func() { g.apply(g.s, c) }
		}},
		{"a save with vectors in spaces that were not looked at", asked, 3, func(g *guesser) func() {
			return func() { g.apply(g.s, embedded(creation(loci.NewID()))) }
		}},
		{"the next one with vectors", guessed, 4, func(g *guesser) func() {
			g.apply(g.s, embedded(creation(loci.NewID())))
			return func() { g.apply(g.s, embedded(creation(loci.NewID()))) }
		}},
		{"a change without an event, which leaves the head as it is", asked, 3, func(g *guesser) func() {
			c := creation(loci.NewID())
			c.Events = nil
			return func() { g.apply(g.s, c) }
		}},
		{"a save after a change without an event", asked, 4, func(g *guesser) func() {
			g.move(g.s, g.save(g.s))
			return func() { g.save(g.s) }
		}},
		{"an update", asked, 3, func(g *guesser) func() {
			c := g.save(g.s)
			c.Put[0].Record.Version, c.Events[0].ID = 2, loci.NewID()
			return func() { g.apply(g.s, c) }
		}},
		{"a record with what it was before", asked, 3, func(g *guesser) func() {
			c := creation(loci.NewID())
			c.Put[0].Record.Version = 2
			c.Put[0].History = []loci.Revision{{
				Version: 1, Text: "before", UpdatedAt: c.Put[0].Record.CreatedAt, ReplacedAt: c.Put[0].Record.UpdatedAt,
			}}
			return func() { g.apply(g.s, c) }
		}},
		{"more than is sent at once", asked, 3, func(g *guesser) func() {
			all := make([]loci.Change, 502)
			for i := range all { // about one thing, so that each is a statement of its own
				c := creation(loci.ID{1})
				all[i] = loci.Change{Events: c.Events}
			}
			all[0] = creation(loci.NewID())
			return func() { postgres.ApplyTogether(g.s, g.tn, all...) }
		}},
		{"a reply", guessed, 3, func(g *guesser) func() {
			return func() { g.apply(g.s, replied(creation(loci.NewID()), "key", 10)) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := both.of(t, c.name)
			g.makes(c.want, c.do(g))
			g.leaves(c.left)
		})
	}
}

// only is the id of a record.
func (g *guesser) only() loci.ID {
	records, _, err := g.s.Records(g.Context(), g.tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1})
	if err != nil || len(records) != 1 {
		g.Fatal(records, err)
	}
	return records[0].ID
}

// in is a change in the namespace of a user.
func in(user string, c loci.Change) loci.Change {
	at := loci.Namespace{"user", user}
	c.Put[0].Record.Namespace, c.Events[0].Namespace = at, at
	return c
}

// embedded is a change with vectors.
func embedded(c loci.Change) loci.Change {
	space := loci.Space{Model: "model", Dims: 2}
	c.Put[0].Vectors = []loci.Vectors{{Space: space, Rows: [][]float32{{1, 0}}}}
	return c
}

// replied is a change with a reply under a key, as of a millisecond; it is kept for five.
func replied(c loci.Change, key string, at int64) loci.Change {
	c.Reply = &loci.Reply{
		Key: key, Fingerprint: "f", Value: []byte("{}"), Record: c.Put[0].Record.ID,
		At: time.UnixMilli(at).UTC(), ExpiresAt: time.UnixMilli(at + 5).UTC(),
	}
	return c
}

// goBack takes the database back to the state after so many saves.
func (g *guesser) goBack(to int) {
	sql := `DELETE FROM loci.record WHERE @ AND id IN (SELECT entity FROM loci.event WHERE @ AND seq > $);
		DELETE FROM loci.change WHERE @ AND seq > $; DELETE FROM loci.event WHERE @ AND seq > $; `
	if to == 0 {
		sql += "DELETE FROM loci.namespace WHERE @; DELETE FROM loci.tenant WHERE @; DELETE FROM loci.tally WHERE @"
	} else {
		sql += `DELETE FROM loci.namespace WHERE @ AND changed > $;
			UPDATE loci.tenant SET seq = $, events = $, head = (SELECT sealed FROM loci.event WHERE @ AND seq = $),
			namespaces = (SELECT count(*) FROM loci.namespace WHERE @), held_seq = NULL WHERE @`
	}
	execute(g.T, g.d.Super, strings.NewReplacer("@", g.at, "$", fmt.Sprint(to)).Replace(sql))
}

// TestGuessesThatAreWrong: where a server does not know what the database holds, nothing that it
// guessed is written, and the write ends as if it had asked at once.
func TestGuessesThatAreWrong(t *testing.T) {
	both := newGuesser(t)
	for _, c := range []struct {
		name string
		want string
		left int64
		do   func(g *guesser) (write func())
	}{
		{"another server has saved", wrong, 4, func(g *guesser) func() {
			g.save(g.other)
			return func() { g.save(g.s) }
		}},
		{"it may be on its way still when it was looked for", wrong, 3, func(g *guesser) func() {
			if found, err := postgres.Committed(g.s, g.tn); found || err != nil {
				g.Fatal(found, err)
			}
			return func() { g.save(g.s) }
		}},
		{"another server has changed what no event tells of", wrong, 4, func(g *guesser) func() {
			c := g.save(g.s)
			g.move(g.other, c)
			g.holds(3)
			return func() { g.save(g.s) }
		}},
		{"another server has erased the tenant", wrong, 1, func(g *guesser) func() {
			if err := g.other.EraseTenant(g.Context(), g.tn); err != nil {
				g.Fatal(err)
			}
			return func() { g.save(g.s) }
		}},
		{"another server has emptied the namespace, which lost its name", wrong, 1, func(g *guesser) func() {
			for range 2 {
				g.eraseOnly(g.other)
			}
			return func() { g.save(g.s) }
		}},
		{"another server has emptied a namespace that the server knows from before", asked, 5, func(g *guesser) func() {
			c := in("bob", creation(loci.NewID()))
			g.apply(g.s, c)
			g.erase(g.other, c)
			g.save(g.s)
			g.save(g.s)
			return func() { g.apply(g.s, in("bob", creation(loci.NewID()))) }
		}},
		{"another server has made a vector space", asked, 7, func(g *guesser) func() {
			g.apply(g.s, embedded(creation(loci.NewID())))
			c := embedded(creation(loci.NewID()))
			c.Put[0].Vectors[0].Space.Model = "another"
			g.apply(g.other, c)
			g.save(g.s)
			g.save(g.s)
			c.Put[0].Record, c.Events = creation(loci.NewID()).Put[0].Record, creation(loci.NewID()).Events
			return func() { g.apply(g.s, c) }
		}},
		{"another server has made a vector space, of which no event tells", asked, 6, func(g *guesser) func() {
			c := embedded(creation(loci.NewID()))
			g.apply(g.s, c)
			vectors := loci.RecordVectors{ID: c.Put[0].Record.ID, Version: 1, Vectors: c.Put[0].Vectors[0]}
			vectors.Vectors.Space.Model = "another"
			if err := g.other.PutVectors(g.Context(), g.tn, []loci.RecordVectors{vectors}); err != nil {
				g.Fatal(err)
			}
			g.save(g.s)
			g.save(g.s)
			c = embedded(creation(loci.NewID()))
			c.Put[0].Vectors[0].Space.Model = "another"
			return func() { g.apply(g.s, c) }
		}},
		{"the database went back, and another namespace has the number", asked, 6, func(g *guesser) func() {
			g.apply(g.s, in("bob", creation(loci.NewID())))
			g.goBack(2)
			g.apply(g.other, in("eve", creation(loci.NewID())))
			g.save(g.s)
			g.save(g.s)
			return func() { g.apply(g.s, in("bob", creation(loci.NewID()))) }
		}},
		{"the server itself has emptied the namespace", asked, 1, func(g *guesser) func() {
			for range 2 {
				g.eraseOnly(g.s)
			}
			return func() { g.save(g.s) }
		}},
		{"the database went back, and as many others have saved since", wrong, 3, func(g *guesser) func() {
			g.goBack(1)
			g.save(g.other)
			g.holds(2)
			return func() { g.save(g.s) }
		}},
		{"the database went back behind the tenant", wrong, 1, func(g *guesser) func() {
			g.goBack(0)
			return func() { g.save(g.s) }
		}},
		{"it went back so far, and the tenant came again", wrong, 3, func(g *guesser) func() {
			g.goBack(0)
			g.save(g.other)
			g.save(g.other)
			return func() { g.save(g.s) }
		}},
		{"a record of that id is there", wrong, 3, func(g *guesser) func() {
			c := g.save(g.s)
			again := creation(c.Put[0].Record.ID)
			again.Put[0].Record.Slot = "another"
			return func() { g.refused(again) }
		}},
		{"the slot is taken", wrong, 3, func(g *guesser) func() {
			c := g.save(g.s)
			again := creation(loci.NewID())
			again.Put[0].Record.Slot = c.Put[0].Record.Slot
			return func() { g.refused(again) }
		}},
		{"a reply is there", wrong, 3, func(g *guesser) func() {
			g.apply(g.s, replied(creation(loci.NewID()), "key", 10))
			return func() { g.refused(replied(creation(loci.NewID()), "key", 14)) }
		}},
		{"a reply was there", guessed, 4, func(g *guesser) func() {
			g.apply(g.s, replied(creation(loci.NewID()), "key", 10))
			return func() { g.apply(g.s, replied(creation(loci.NewID()), "key", 15)) }
		}},
		{"a reply is there for the first of two, and was for the second", wrong, 4, func(g *guesser) func() {
			g.apply(g.s, replied(creation(loci.NewID()), "key", 10))
			first, second := replied(creation(loci.NewID()), "key", 14), replied(creation(loci.NewID()), "other", 20)
			return func() {
				errs := postgres.ApplyTogether(g.s, g.tn, first, second)
				if loci.AsError(errs[0]) == nil || loci.AsError(errs[0]).Code != loci.Conflict || errs[1] != nil {
					g.Errorf("%v", errs)
				}
			}
		}},
		{"there is room that a server does not know of", asked, 2, func(g *guesser) func() {
			held, err := g.s.Held(g.Context(), g.tn)
			if err != nil {
				g.Fatal(err)
			}
			g.eraseOnly(g.other)
			return func() { g.apply(g.s, bounded(creation(loci.NewID()), held.Bytes)) }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := both.of(t, c.name)
			g.makes(c.want, c.do(g))
			g.leaves(c.left)
		})
	}
}

// eraseOnly erases a record.
func (g *guesser) eraseOnly(s loci.Store) {
	g.Helper()
	c := creation(g.only())
	c.Events[0].ID = loci.NewID()
	g.erase(s, c)
}

// refused requires that a change meets what is there.
func (g *guesser) refused(c loci.Change) {
	g.Helper()
	err := g.s.Apply(g.Context(), g.tn, c)
	if loci.AsError(err) == nil || loci.AsError(err).Code != loci.Conflict {
		g.Errorf("%v", err)
	}
}

// TestServersThatWriteInTurnDoNotGuess: once a guess was wrong, a server asks until it has written twice
// with no other server's write between.
func TestServersThatWriteInTurnDoNotGuess(t *testing.T) {
	g := newGuesser(t).of(t, "in turn")
	for i, want := range []string{wrong, asked, asked} {
		g.save(g.other)
		if how := way(func() { g.save(g.s) }); how != want {
			t.Errorf("write %d in turn is made %s, not %s", i, how, want)
		}
	}
	for i, want := range []string{asked, guessed, guessed} {
		if how := way(func() { g.save(g.s) }); how != want {
			t.Errorf("write %d with no other between is made %s, not %s", i, how, want)
		}
	}
	g.leaves(2 + 6 + 3)
}
