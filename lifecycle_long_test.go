package loci_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

// TestTenYears lets ten years pass in steps from a millisecond to a month, with
// confirmations, sweeps and a clock that jumps back now and then. At every step each
// state is what the plan of the memory says: its boundaries are computed here, from
// the page on scoring, and walked over to the millisecond.
func TestTenYears(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	c := locitest.NewClock()
	c.Set(c.Now().Truncate(time.Millisecond))
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now})
	m := locitest.Bind(t, e, "u")
	// Days until fading and expiry, in milliseconds rounded up: ln(c/threshold)/rate.
	lives := map[loci.Permanence][2]time.Duration{
		loci.Stable:    {69_527_717_818, 129_415_634_218},
		loci.Standard:  {17_381_929_455, 32_353_908_555},
		loci.Volatile:  {4_635_181_188, 8_627_708_948},
		loci.Ephemeral: {1_390_554_357, 2_588_312_685},
		loci.Permanent: {},
	}
	type life struct {
		id        loci.ID
		confirmed time.Time
		fades     time.Duration
		ends      time.Duration
	}
	var all []*life
	for p, l := range lives {
		id := locitest.StoreFact(t, m, loci.NewFact{
			Content:    "fact " + string(p),
			Subject:    string(p),
			Predicate:  "is",
			Permanence: p,
		}).ID
		all = append(all, &life{id, c.Now(), l[0] * time.Millisecond, l[1] * time.Millisecond})
	}
	at := func(l *life) loci.Validity {
		since := c.Now().Sub(l.confirmed)
		switch {
		case l.ends == 0 || since < l.fades:
			return loci.Active
		case since < l.ends:
			return loci.Fading
		}
		return loci.Expired
	}
	check := func() {
		t.Helper()
		for _, l := range all {
			if got := locitest.Fact(t, m, l.id); got.Validity != at(l) {
				t.Fatalf("%s at %v, confirmed at %v: %s; want %s", got.Content, c.Now(), l.confirmed, got.Validity, at(l))
			}
		}
	}
	end := c.Now().AddDate(10, 0, 0)
	for steps := 0; c.Now().Before(end); steps++ {
		l := all[r.IntN(len(all))]
		switch r.IntN(8) {
		case 0: // to a boundary, a millisecond before and at it
			boundary := l.confirmed.Add([]time.Duration{l.fades, l.ends}[r.IntN(2)])
			if boundary.After(c.Now()) && boundary.Before(end) {
				c.Set(boundary.Add(-time.Millisecond))
				check()
				c.Set(boundary)
			}
		case 1:
			if err := m.Confirm(t.Context(), loci.KindFact, l.id); err != nil {
				t.Fatal(err)
			}
			l.confirmed = maxTime(l.confirmed, c.Now())
		case 2:
			if _, err := e.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 3:
			back := time.Duration(r.Int64N(int64(40 * dayLong))).Truncate(time.Millisecond)
			c.Advance(-back)
			check()
			if _, err := e.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			check()
			c.Advance(back)
		default:
			c.Advance(time.Duration(r.Int64N(int64(30*dayLong))).Truncate(time.Millisecond) + time.Millisecond)
		}
		check()
	}
	for _, l := range all { // between two confirmations each transition was told at most once
		faded, expired := 0, 0
		for _, typ := range eventTypes(t, m, l.id) {
			switch typ {
			case loci.EventConfirmed:
				faded, expired = 0, 0
			case loci.EventFaded:
				faded++
			case loci.EventExpired:
				expired++
			}
			if faded > 1 || expired > faded {
				t.Fatalf("events: %v", eventTypes(t, m, l.id))
			}
		}
	}
	report, err := e.VerifyEvents(t.Context(), locitest.Tenant(t, "t"), loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// TestProvenTakesThirtyDays over the years, whatever the clock did in between.
func TestProvenTakesThirtyDays(t *testing.T) {
	c := locitest.NewClock()
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "u")
	id := storeRule(t, m, "x")
	born := rule(t, m, id).CreatedAt
	for range 20 {
		if _, err := m.MarkHelpful(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		at   time.Duration
		want loci.Maturity
	}{
		{-3650 * dayLong, loci.Established},
		{30*dayLong - time.Millisecond, loci.Established},
		{30 * dayLong, loci.Proven},
		{0, loci.Proven},
	} {
		c.Set(born.Add(step.at))
		if got, err := m.MarkHelpful(t.Context(), id); err != nil || got.Maturity != step.want {
			t.Errorf("%v after its birth: %s, %v; want %s", step.at, got.Maturity, err, step.want)
		}
	}
}

// TestEightWritersOfOneKey: after every round exactly one fact is live, and in the
// end all of them are one chain with the events that belong to it.
func TestEightWritersOfOneKey(t *testing.T) {
	const writers = 8
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: time.Now}), "u")
		rounds := 1000
		if _, file := s.(*sqlite.Store); file {
			rounds = locitest.Long(100, 1000) // a round syncs eight transactions to the disk
		}
		rounds = locitest.Unraced(rounds, 10) // a race shows in the first few
		for round := range rounds {
			var wait sync.WaitGroup
			for w := range writers {
				wait.Go(func() {
					if _, err := m.StoreFact(t.Context(), keyed(fmt.Sprint(round, " ", w))); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			live, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
			if err != nil || len(live) != 1 {
				t.Fatalf("round %d: %d live facts, %v", round, len(live), err)
			}
		}
		live, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		chain := wholeChain(t, m, live[0].ID)
		if len(chain) != writers*rounds || !chain[0].Supersedes.IsZero() {
			t.Fatalf("the chain has %d facts and begins with %+v; want %d", len(chain), chain[0], writers*rounds)
		}
		for i := 1; i < len(chain); i++ {
			was, is := chain[i-1], chain[i]
			if was.Validity != loci.Superseded || was.SupersededBy != is.ID ||
				is.Supersedes != was.ID || !was.ValidUntil.Equal(is.ValidFrom) {
				t.Fatalf("link %d: %+v, %+v", i, was, is)
			}
		}
		wantEventsOfChain(t, m, chain)
		if report, err := locitest.NewEngine(t, s, loci.Options{}).VerifyEvents(t.Context(),
			locitest.Tenant(t, "t"), loci.Hash{}); err != nil || len(report.Problems) > 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// wholeChain follows a chain to its beginning, which is further than one look goes.
func wholeChain(t *testing.T, m *loci.Memory, id loci.ID) (chain []loci.Fact) {
	t.Helper()
	for !id.IsZero() {
		part, err := m.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		end := slices.IndexFunc(part, func(f loci.Fact) bool { return f.ID == id })
		chain = append(part[:end+1:end+1], chain...)
		id = chain[0].Supersedes
	}
	return chain
}

// wantEventsOfChain requires one event of each kind a fact of a chain has.
func wantEventsOfChain(t *testing.T, m *loci.Memory, chain []loci.Fact) {
	t.Helper()
	types := map[loci.ID][]loci.EventType{}
	for cursor := ""; ; {
		events, next, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{Limit: 1000, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			types[e.Entity] = append(types[e.Entity], e.Type)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for i, f := range chain {
		want := []loci.EventType{loci.EventSuperseded, loci.EventCreated}
		if i == len(chain)-1 {
			want = want[1:]
		}
		if !slices.Equal(types[f.ID], want) {
			t.Fatalf("events of fact %d of the chain: %v", i, types[f.ID])
		}
	}
}
