package loci_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A fact is found by its subject and predicate, by words and by similarity, but shows its
// content alone. This holds whether it was written, corrected or imported, or got its vectors
// later.
func TestFactsAreFoundByTheirKey(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		words := &locitest.WordEmbedder{Name: "words"}
		e := locitest.NewEngine(t, s, loci.Options{Embedder: words})
		m := locitest.Bind(t, e, "u")
		locitest.Save(t, m, "likes the sea")
		finds := func(what string, m *loci.Memory, content string) {
			t.Helper()
			for _, mode := range []loci.Mode{loci.Keyword, loci.Semantic, loci.Hybrid} {
				r := locitest.Search(t, m, loci.Query{Text: "favorite color", Mode: mode})
				if len(r.Matches) == 0 || r.Matches[0].Record.Text != content || r.Matches[0].Passage != content ||
					r.Matches[0].Explain.Similarity < 0.5 && mode != loci.Keyword {
					t.Errorf("%s, %s: %+v", what, mode, r.Matches)
				}
			}
		}
		color := loci.NewFact{Content: "blue", Subject: "user", Predicate: "favorite_color"}
		id := locitest.StoreFact(t, m, color).ID
		finds("written", m, "blue")
		content := "green"
		if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: &content}); err != nil {
			t.Fatal(err)
		}
		finds("corrected", m, "green")

		words.SetDown(true)
		color.Content = "red"
		locitest.StoreFact(t, m, color)
		words.SetDown(false)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 1 || err != nil {
			t.Fatalf("backfill: %d, %v", n, err)
		}
		finds("its vectors made later", m, "red")

		var file bytes.Buffer
		if _, err := m.Export(t.Context(), &file, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(file.String(), "favorite color") {
			t.Error("the export holds what can be derived")
		}
		other := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: words}), "v")
		if _, err := other.Import(t.Context(), &file, nil); err != nil {
			t.Fatal(err)
		}
		finds("imported", other, "red")
	})
}

// Each passage of a long fact is led by the heading.
func TestEveryPassageHasTheHeading(t *testing.T) {
	words := &locitest.WordEmbedder{Name: "words"}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: words}), "u")
	id := locitest.StoreFact(t, m, loci.NewFact{Content: strings.Repeat("The train goes at noon. ", 80) + "Bring a walrus.", Subject: "trip", Predicate: "travelPlan"}).ID
	locitest.Save(t, m, "A walrus swims in the harbour.")
	r := locitest.Search(t, m, loci.Query{Text: "travel plan walrus", Mode: loci.Keyword})
	if len(r.Matches) != 2 || r.Matches[0].Record.ID != id ||
		!strings.HasSuffix(r.Matches[0].Passage, "walrus.") || strings.Contains(r.Matches[0].Passage, "ravel") {
		t.Errorf("%+v", r.Matches)
	}
}
