package loci_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A note that is much like another one is stored, linked and reported; only one that
// is the same is not. What another namespace holds plays no part.
func TestStoreFactCompares(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock()))
		m, other := locitest.Bind(t, e, "user", "u"), locitest.Bind(t, e, "user", "v")
		old := locitest.Save(t, m, "The database is PostgreSQL 16")
		update := locitest.StoreFact(t, m, loci.NewFact{Content: "The database is PostgreSQL 18"})
		if update.Outcome != loci.Created || update.PossibleUpdateOf != old || !update.RelatedTo.IsZero() {
			t.Errorf("an update: %+v", update)
		}
		if got := locitest.Fact(t, m, old); got.Validity != loci.Active {
			t.Errorf("the old one is %s", got.Validity)
		}
		links, err := s.Links(t.Context(), locitest.Tenant(t, "t"), update.ID)
		if err != nil || len(links) != 1 || links[0].Type != loci.LinkRelatedTo || links[0].To != old {
			t.Errorf("links %v, %v", links, err)
		}
		got := locitest.StoreFact(t, m, loci.NewFact{Content: "Now the database is PostgreSQL 18."})
		if got.RelatedTo != update.ID || got.PossibleUpdateOf != old {
			t.Errorf("said again, and an update of another: %+v", got)
		}
		seats := locitest.Save(t, m, "Prefers window seats")
		if got := locitest.StoreFact(t, m, loci.NewFact{Content: "Prefers a window seat."}); got.Outcome != loci.Created ||
			got.RelatedTo != seats {
			t.Errorf("other words: %+v", got)
		}
		if got := locitest.StoreFact(t, m,
			loci.NewFact{Content: "Collects stamps"}); got != (loci.Stored{ID: got.ID, Outcome: loci.Created}) {
			t.Errorf("something else: %+v", got)
		}
		if got := locitest.StoreFact(t, other, loci.NewFact{Content: "The database is PostgreSQL 17"}); !got.PossibleUpdateOf.IsZero() {
			t.Errorf("another namespace: %+v", got)
		}
		if a, b := locitest.Save(t, m, "The laser has 5 mW"), locitest.Save(t, m, "The laser has 5 MW"); a == b {
			t.Error("units were merged")
		}
		opts := locitest.Quiet(locitest.NewClock())
		opts.Content.KeepDuplicates = true
		if got := locitest.StoreFact(t, locitest.Bind(t, locitest.NewEngine(t, s, opts), "user", "u"),
			loci.NewFact{Content: "Collects stamps."}); !got.RelatedTo.IsZero() {
			t.Errorf("without comparing: %+v", got)
		}
	})
}

// Notes of one form about different things neither correct nor resemble one another. A new note
// about the same thing names the old one as what it may update.
func TestStoreFactComparesSubjects(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "user", "u")
		ids := map[string]loci.ID{}
		for i, name := range []string{"auth", "billing", "search", "mail", "reports", "gateway", "users", "orders", "images", "video", "chat", "metrics"} {
			got := locitest.StoreFact(t, m, loci.NewFact{Content: fmt.Sprintf("service %s runs on port %d", name, 8000+i)})
			if !got.PossibleUpdateOf.IsZero() || !got.RelatedTo.IsZero() {
				t.Errorf("%s: %+v", name, got)
			}
			ids[name] = got.ID
		}
		if got := locitest.StoreFact(t, m, loci.NewFact{Content: "service mail runs on port 9003"}); got.PossibleUpdateOf != ids["mail"] {
			t.Errorf("the same service: %+v, want %s", got, ids["mail"])
		}
		likes := locitest.Save(t, m, "Bob likes tea")
		if got := locitest.StoreFact(t, m, loci.NewFact{Content: "Bob no longer likes tea"}); got.PossibleUpdateOf != likes {
			t.Errorf("a denial: %+v", got)
		}
	})
}

// A note and a fact with a key are compared by what they say together; two keys are
// about different things.
func TestStoreFactComparesKeys(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "user", "u")
		note := locitest.Save(t, m, "My favorite color is blue")
		color := loci.NewFact{Content: "green", Subject: "user", Predicate: "favorite_color"}
		if got := locitest.StoreFact(t, m, color); got.PossibleUpdateOf != note || got.Outcome != loci.Created {
			t.Errorf("another value: %+v", got)
		}
		color.Content = "My favorite color is blue."
		got := locitest.StoreFact(t, m, color)
		if got.RelatedTo != note || got.Outcome != loci.SupersededOld {
			t.Errorf("the same: %+v", got)
		}
		color.Content = "green"
		locitest.StoreFact(t, m, color)
		food := loci.NewFact{Content: "green", Subject: "user", Predicate: "favorite_food"}
		if got := locitest.StoreFact(t, m, food); !got.RelatedTo.IsZero() || !got.PossibleUpdateOf.IsZero() {
			t.Errorf("another key: %+v", got)
		}
		if next := locitest.StoreFact(t, m, loci.NewFact{Content: "The user's favorite food is pizza"}); next.PossibleUpdateOf.IsZero() {
			t.Errorf("a note about a key: %+v", next)
		}
	})
}

// A text that Loci showed is not stored again and confirms nothing. With a line more, a changed
// word, or a memory that is gone, it is a text like any other.
func TestStoreFactKnowsWhatWasShown(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, locitest.Quiet(c))
		m := locitest.Bind(t, e, "user", "u")
		tea := locitest.StoreFact(t, m, loci.NewFact{Content: "Likes tea.", Subject: "user", Predicate: "drink"}).ID
		odd := locitest.Save(t, m, "# Not a heading\n<b>but</b> a note")
		gone := locitest.Save(t, m, "was said and taken back")
		if _, err := m.Forget(t.Context(), loci.KindFact, gone); err != nil {
			t.Fatal(err)
		}
		if _, err := m.StoreRule(t.Context(), loci.NewRule{Content: "Ask before booking."}); err != nil {
			t.Fatal(err)
		}
		locitest.Episode(t, m, "home", "Asked about seats.")
		block := contextOf(t, m, loci.ContextQuery{Prompt: "tea, a note, booking, seats", Agent: "home"}).Text
		if strings.Count(block, "\n- ") != 4 {
			t.Fatalf("the context: %s", block)
		}
		c.Advance(30 * 24 * time.Hour)
		locitest.Episode(t, m, "home", "Asked about seats.") // the first one has expired
		for name, text := range map[string]string{
			"a context": block, "a line": "- [user] [drink]: Likes tea. (confidence: 0.93)", "without scores": "- [user] [drink]: likes  TEA.",
			"notes":     fmt.Sprintf(`[{"note_id":"note-%s","text":"# Not a heading\n<b>but</b> a note","score":1,"source":"user_memory"}]`, odd),
			"facts":     fmt.Sprintf(`[{"namespace":["user","u"],"key":"%s","value":{"content":"Likes tea."},"score":0.5}]`, tea),
			"memories":  fmt.Sprintf(`{"results":[{"type":"fact","id":"%s","content":"Likes tea.","score":0.5,"confidence":1}]}`, tea),
			"a listing": fmt.Sprintf("note-%s\t2026-01-02\t\t# Not a heading <b>but</b> a note\n%s\t2026-01-02\t\t[user] [drink]: Likes tea.", odd, tea),
		} {
			before := len(locitest.AllFacts(t, m))
			got := locitest.StoreFact(t, m, loci.NewFact{Content: text})
			if got.Outcome != loci.DuplicateOf || got.ID != tea && got.ID != odd ||
				len(locitest.AllFacts(t, m)) != before {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := locitest.Fact(t, m, tea); got.Version != 1 {
			t.Errorf("it was confirmed: %+v", got)
		}
		for name, text := range map[string]string{
			"a memory more": "- [user] [drink]: Likes tea.\n- [user] [food]: Likes cake. (confidence: 0.93)",
			"a line more":   block + "And she likes cake.", "another value": "- [user] [drink]: Likes coffee. (confidence: 0.93)",
			"another key": "- [user] [food]: Likes tea. (confidence: 0.93)", "a heading alone": "# Memory Context",
			"another text":     fmt.Sprintf(`{"results":[{"id":"%s","content":"Likes mate."}]}`, tea),
			"an element more":  fmt.Sprintf(`[{"note_id":"note-%s","text":"# Not a heading\n<b>but</b> a note"},{"text":"She likes cake."}]`, odd),
			"a column changed": fmt.Sprintf("%s\t2026-01-02\tLikes coffee.", tea),
			"forgotten":        fmt.Sprintf(`[{"note_id":"note-%s","text":"was said and taken back"}]`, gone),
			"nothing":          `{"results":[]}`, "a list": "- Likes tea.\n- Likes coffee.", "a number": "[1]", "too much": strings.Repeat("- [user] [drink]: Likes tea.\n", 41),
		} {
			if got := locitest.StoreFact(t, m, loci.NewFact{Content: text}); got.Outcome != loci.Created {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := locitest.StoreFact(t, m, loci.NewFact{
			Content:  block,
			Metadata: map[string]any{"kind": "prompt"},
		}); got.Outcome != loci.Created {
			t.Errorf("with metadata: %+v", got)
		}
		if got := locitest.StoreFact(t, locitest.Bind(t, e, "user", "v"),
			loci.NewFact{Content: block}); got.Outcome != loci.Created {
			t.Errorf("of another namespace: %+v", got)
		}
	})
}

// BenchmarkStoreNote is a write into a namespace that holds some notes, with and
// without the look at what is there: notes of words as frequent as those of a language,
// and notes of one form, in which nearly all words are frequent.
func BenchmarkStoreNote(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 20_000)
	for form, note := range map[string]func(n int) string{
		"words": func(n int) string {
			words := make([]string, 14)
			for i := range words {
				words[i] = fmt.Sprintf("w%x", zipf.Uint64()*2654435761%(1<<32))
			}
			return strings.Join(words, " ")
		},
		"form": func(n int) string {
			return fmt.Sprintf("Note %d says that topic %d goes with person %d", n, n%97, n%31)
		},
	} {
		for store, open := range map[string]func(b testing.TB) loci.Store{"memory": func(testing.TB) loci.Store {
			return locitest.OpenMemory()
		}, "sqlite": locitest.OpenSQLite} {
			for _, held := range []int{100, 5_000} {
				for _, keep := range []bool{false, true} {
					b.Run(fmt.Sprintf("%s/%s/%d/compare=%t", form, store, held, !keep), func(b *testing.B) {
						s := open(b)
						m := locitest.Bind(b, locitest.NewEngine(b, s, loci.Options{
							Now: time.Now, Content: loci.ContentOptions{KeepDuplicates: keep},
						}), "user", "u")
						fill := locitest.Bind(b, locitest.NewEngine(b, s, loci.Options{
							Now: time.Now, Content: loci.ContentOptions{KeepDuplicates: true},
						}), "user", "u")
						for n := range held {
							locitest.Save(b, fill, note(n))
						}
						locitest.Search(b, m, loci.Query{Text: "note"})
						for n := 0; b.Loop(); n++ {
							locitest.Save(b, m, note(held+n))
						}
					})
				}
			}
		}
	}
}
