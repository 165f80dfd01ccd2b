package view_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/view"
)

// fade fills a store with memories that fade, have ended, or simply hold, and does upkeep for
// some of them. It returns how many are in each state.
func fade(t *testing.T, h *house, hold int) map[view.State]int {
	t.Helper()
	h.save(t, "fading for long", loci.NewFact{Confidence: 0.1, Permanence: loci.Permanent})
	for n := range 4 {
		h.save(t, fmt.Sprintf("ended %d", n), loci.NewFact{Permanence: loci.Ephemeral})
	}
	rule, err := h.m.StoreRule(t.Context(), loci.NewRule{Content: "Pack light."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := session.Of(h.m).Create(t.Context(), session.New{ID: "short", TimeoutSeconds: 60}); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(100 * 24 * time.Hour)
	for n := range 4 {
		h.save(t, fmt.Sprintf("fades %d", n), loci.NewFact{Permanence: loci.Ephemeral})
		if n == 1 {
			h.clock.Advance(20 * 24 * time.Hour)
			h.sweep(t) // writes down what happened to the memories before it
		}
	}
	h.clock.Advance(2 * time.Hour)
	for n := range hold {
		h.save(t, fmt.Sprintf("Thing %d holds.", n), loci.NewFact{Permanence: loci.Standard})
	}
	h.clock.Advance(5 * 24 * time.Hour)
	h.sweep(t)
	h.clock.Advance(12 * 24 * time.Hour) // the last two fade, and nobody has written it down
	if err := h.m.Confirm(t.Context(), loci.KindRule, rule); err != nil {
		t.Fatal(err)
	}
	// The rule of the house has faded, and so has its episode.
	return map[view.State]int{view.Fading: 1 + 2 + 1, view.Expired: 4 + 2 + 1}
}

func (h *house) save(t *testing.T, text string, fact loci.NewFact) loci.ID {
	t.Helper()
	h.clock.Advance(time.Second)
	fact.Content = text
	return locitest.StoreFact(t, h.m, fact).ID
}

func (h *house) sweep(t *testing.T) {
	t.Helper()
	if _, err := h.engine.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// everything lists all memories in all states, a page at a time; it is what other lists
// are compared with.
func (h *house) everything(t *testing.T) (all []view.Entry) {
	t.Helper()
	for page := (loci.Page{Limit: 7}); ; {
		part, next, err := view.List(t.Context(), h.m, view.Query{States: view.States}, page)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
		if page.Cursor = next; next == "" {
			return all
		}
	}
}

// TestFadingAndExpiredReadWhatTheyShow: lists read no more than they show, however many
// memories hold, and whether or not upkeep was done.
func TestFadingAndExpiredReadWhatTheyShow(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &counting{Store: s}
		h := furnish(t, store)
		want := fade(t, h, 100)
		for state, n := range want {
			store.read = 0
			list := h.list(t, view2{states: []view.State{state}})
			for i := range list {
				if list[i].State != state {
					t.Errorf("listed as %s: %s", state, said(&list[i]))
				}
			}
			if len(list) != n || store.read > n+2 {
				t.Errorf("%d are %s, read %d; want %d", len(list), state, store.read, n)
			}
		}
		store.read = 0
		due, _, err := view.Review(t.Context(), h.m, loci.Page{})
		if err != nil || store.read > len(due)+2 {
			t.Errorf("%d to review, read %d, %v", len(due), store.read, err)
		}
	})
}

// TestEveryStateIsListedWhole: for each set of states and size of page the list is the same
// part of the whole list, in its order, even after the clock was set back.
func TestEveryStateIsListedWhole(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		fade(t, h, 3)
		gone := h.save(t, "forget me", loci.NewFact{})
		if _, err := view.Forget(t.Context(), h.m, gone); err != nil {
			t.Fatal(err)
		}
		if _, err := view.Supersede(t.Context(), h.m, h.ids["fact"], loci.NewFact{Content: "green"}); err != nil {
			t.Fatal(err)
		}
		locitest.Episode(t, h.m, "travel", "Waits.")
		for _, back := range []time.Duration{0, -11 * 24 * time.Hour, -3 * 24 * time.Hour} {
			h.clock.Advance(back)
			all := h.everything(t)
			r := rand.New(rand.NewPCG(1, 2))
			for set := 1; set < 1<<len(view.States); set++ {
				var q view.Query
				for i, state := range view.States {
					if set&(1<<i) != 0 {
						q.States = append(q.States, state)
					}
				}
				if set%3 == 0 {
					q.Kinds = []loci.Kind{"note", "rule", "episode", "session"}
				}
				h.compare(t, q, 1+r.IntN(4), all)
			}
		}
	})
}

// TestListsWhileOthersWrite: a memory that goes while a list is read is in it once. An erased
// end of a page loses nothing behind it.
func TestListsWhileOthersWrite(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &counting{Store: s}
		h := furnish(t, store)
		var episodes []loci.ID
		for n := range 3 {
			h.clock.Advance(time.Second)
			episodes = append(episodes, locitest.Episode(t, h.m, "travel", fmt.Sprint("Trip ", n)))
		}
		gone := view.Query{Kinds: []loci.Kind{"episode"}, States: []view.State{view.Waiting, view.Forgotten}}
		do := func(verb func(loci.ID) error, id loci.ID, when func(ids []loci.ID) bool) {
			store.after = func(ids []loci.ID) {
				if !when(ids) {
					return
				}
				store.after = nil
				if err := verb(id); err != nil {
					t.Error(err)
				}
			}
		}
		forget := func(id loci.ID) error { _, err := view.Forget(t.Context(), h.m, id); return err }
		do(forget, episodes[1], func(ids []loci.ID) bool { return ids == nil })
		list, next, err := view.List(t.Context(), h.m, gone, loci.Page{})
		if err != nil || next != "" || len(list) != 4 {
			t.Fatalf("%d of 4 episodes, one forgotten while it was listed; %q, %v", len(list), next, err)
		}
		// There are three pages of one entry each. The entry that ends the first goes before
		// its cursor is made.
		erase := func(id loci.ID) error { return h.m.Erase(t.Context(), id) }
		reads := 0
		do(erase, episodes[2], func(ids []loci.ID) bool { reads++; return reads == 2 })
		h.compare(t, gone, 1, list[1:])
		if store.after != nil {
			t.Error("nothing was erased meanwhile")
		}
	})
}

func (h *house) compare(t *testing.T, q view.Query, limit int, all []view.Entry) {
	t.Helper()
	var want, got []loci.ID
	for i := range all {
		if slices.Contains(q.States, all[i].State) && (q.Kinds == nil || slices.Contains(q.Kinds, all[i].Kind)) {
			want = append(want, all[i].ID)
		}
	}
	for page := (loci.Page{Limit: limit}); len(got) <= len(all); {
		part, next, err := view.List(t.Context(), h.m, q, page)
		if err != nil {
			t.Fatal(err)
		}
		for i := range part {
			got = append(got, part[i].ID)
		}
		if next != "" && len(part) != limit {
			t.Errorf("%v: a page of %d, which is not the last, has %d", q, limit, len(part))
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v in pages of %d: %d entries, want %d\n%v\n%v", q, limit, len(got), len(want), got, want)
	}
}

// TestReviewAndThePastReadWhatTheyShow: neither the rules that did no harm nor what was learned later
// is read.
func TestReviewAndThePastReadWhatTheyShow(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &counting{Store: s}
		h := furnish(t, store)
		past := h.clock.Now()
		h.clock.Advance(time.Hour)
		var harmful loci.ID
		for n := range 100 {
			id, err := h.m.StoreRule(t.Context(), loci.NewRule{Content: fmt.Sprintf("Rule %d.", n)})
			if err != nil {
				t.Fatal(err)
			}
			h.save(t, fmt.Sprintf("Thing %d holds.", n), loci.NewFact{})
			if n == 50 {
				harmful = id
				if _, err := view.Harmful(t.Context(), h.m, id, "It was in the way."); err != nil {
					t.Fatal(err)
				}
			}
		}
		store.read = 0
		due, _, err := view.Review(t.Context(), h.m, loci.Page{})
		if err != nil || len(due) != 2 || due[0].ID != harmful || due[1].Kind != loci.KindEpisode || store.read > 2 {
			t.Errorf("read %d to review %+v, %v", store.read, due, err)
		}
		first := locitest.Fact(t, h.m, h.ids["note"]).CreatedAt
		for at, want := range map[time.Time]int{past: 2, first: 1, first.Add(-time.Millisecond): 0} {
			store.read = 0
			facts, _, err := view.AsOf(t.Context(), h.m, view.AsOfQuery{Valid: at, Known: at}, loci.Page{})
			if err != nil || len(facts) != want || store.read > want {
				t.Errorf("%d facts at %v, read %d, %v; want %d", len(facts), at, store.read, err, want)
			}
		}
	})
}
