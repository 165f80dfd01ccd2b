package loci_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A note that is much like another one is stored, linked and reported; only one that
// is the same is not. What another namespace holds plays no part.
func TestStoreFactCompares(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, quiet(newClock()))
		m, other := bind(t, e, "user", "u"), bind(t, e, "user", "v")
		old := save(t, m, "The database is PostgreSQL 16")
		update := store(t, m, loci.NewFact{Content: "The database is PostgreSQL 18"})
		if update.Outcome != loci.Created || update.PossibleUpdateOf != old || !update.RelatedTo.IsZero() {
			t.Errorf("an update: %+v", update)
		}
		if got := fact(t, m, old); got.Validity != loci.Active {
			t.Errorf("the old one is %s", got.Validity)
		}
		links, err := s.Links(t.Context(), tenant(t, "t"), update.ID)
		if err != nil || len(links) != 1 || links[0].Type != loci.LinkRelatedTo || links[0].To != old {
			t.Errorf("links %v, %v", links, err)
		}
		seats := save(t, m, "Prefers window seats")
		if got := store(t, m, loci.NewFact{Content: "Prefers a window seat."}); got.Outcome != loci.Created || got.RelatedTo != seats {
			t.Errorf("other words: %+v", got)
		}
		if got := store(t, m, loci.NewFact{Content: "Collects stamps"}); got != (loci.Stored{ID: got.ID, Outcome: loci.Created}) {
			t.Errorf("something else: %+v", got)
		}
		if got := store(t, other, loci.NewFact{Content: "The database is PostgreSQL 17"}); !got.PossibleUpdateOf.IsZero() {
			t.Errorf("another namespace: %+v", got)
		}
		if a, b := save(t, m, "The laser has 5 mW"), save(t, m, "The laser has 5 MW"); a == b {
			t.Error("units were merged")
		}
		opts := quiet(newClock())
		opts.KeepDuplicates = true
		if got := store(t, bind(t, newEngine(t, s, opts), "user", "u"), loci.NewFact{Content: "Collects stamps."}); !got.RelatedTo.IsZero() {
			t.Errorf("without comparing: %+v", got)
		}
	})
}

// What Loci showed is not stored again and confirms nothing; a line more, and it is a
// text like any other.
func TestStoreFactKnowsItsOwnLines(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		c := newClock()
		e := newEngine(t, s, quiet(c))
		m := bind(t, e, "user", "u")
		tea := store(t, m, loci.NewFact{Content: "Likes tea.", Subject: "user", Predicate: "drink"}).ID
		if _, err := m.StoreRule(t.Context(), loci.NewRule{Content: "Ask before booking."}); err != nil {
			t.Fatal(err)
		}
		episode(t, m, "home", "Asked about seats.")
		c.advance(time.Hour)
		line := "- [user] [drink]: Likes tea. (confidence: 0.93)"
		block := "# Memory Context\n\n## Key Facts\n" + line + "\n\n## Active Rules\n- Ask before booking. (maturity: candidate, effectiveness: 0.00)\n\n" +
			"## Recent Episodes\n- [2026-01-02T03:04:05Z] Asked about seats.\n"
		for _, text := range []string{line, block} {
			if got := store(t, m, loci.NewFact{Content: text}); got.Outcome != loci.DuplicateOf || got.ID != tea {
				t.Errorf("%q: %+v", text, got)
			}
		}
		if got := fact(t, m, tea); got.Version != 1 {
			t.Errorf("it was confirmed: %+v", got)
		}
		for _, text := range []string{block + "And she likes cake.", "- Likes coffee. (confidence: 0.93)", "# Memory Context"} {
			if got := store(t, m, loci.NewFact{Content: text}); got.Outcome != loci.Created {
				t.Errorf("%q: %+v", text, got)
			}
		}
		if got := store(t, bind(t, e, "user", "v"), loci.NewFact{Content: line}); got.Outcome != loci.Created {
			t.Errorf("of another namespace: %+v", got)
		}
	})
}

// BenchmarkStoreNote is a write into a namespace that holds some notes, with and
// without the look at what is there.
func BenchmarkStoreNote(b *testing.B) {
	for _, held := range []int{100, 5_000} {
		for _, keep := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/compare=%t", held, !keep), func(b *testing.B) {
				m := bind(b, newEngine(b, openMemory(), loci.Options{Now: time.Now, KeepDuplicates: keep}), "user", "u")
				note := func(n int) string {
					return fmt.Sprintf("Note %d says that topic %d goes with person %d", n, n%97, n%31)
				}
				for n := range held {
					save(b, m, note(n))
				}
				b.ResetTimer()
				for n := 0; b.Loop(); n++ {
					save(b, m, note(held+n))
				}
			})
		}
	}
}
