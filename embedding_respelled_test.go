package loci_test

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A weigher notes the queries that it embeds with weights.
type weigher struct {
	locitest.WordEmbedder
	asked []string
}

func (w *weigher) EmbedWeighed(query string, _ func(word string) float64) []float32 {
	w.asked = append(w.asked, query)
	rows, err := w.Embed(context.Background(), []string{query})
	if err != nil {
		return nil
	}
	return rows[0]
}

// TestVectorsAreOfCorrectedWords: an embedder cannot read a misspelt word, only its pieces, so
// it gets the corrected word that was searched for.
func TestVectorsAreOfCorrectedWords(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		w := &weigher{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: w}), "u")
		locitest.Save(t, m, "an allergy to walnuts")
		locitest.Save(t, m, "the train to Oslo")
		locitest.Search(t, m, loci.Query{Text: "Which alergy, zorblaxian?"})
		if len(w.asked) == 0 || slices.ContainsFunc(w.asked, func(q string) bool { return q != "Which allergy, zorblaxian?" }) {
			t.Errorf("embedded %q", w.asked)
		}
	})
}

// TestVectorsAreOfBearers: a query for a role is embedded with the names of who bears it, and says so.
func TestVectorsAreOfBearers(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		w := &weigher{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: w}), "u")
		locitest.Save(t, m, "My daughter Mia is nine.")
		locitest.Save(t, m, "Mia swims on Mondays.")
		got := locitest.Search(t, m, loci.Query{Text: "When does my Daughter swim?"})
		if len(w.asked) == 0 || slices.ContainsFunc(w.asked, func(q string) bool { return q != "When does my daughter mia swim?" }) {
			t.Errorf("embedded %q", w.asked)
		}
		want := []loci.Correction{{Word: "daughter", SearchedFor: []string{"daughter", "mia"}}}
		if len(got.Matches) != 2 || got.Matches[0].Record.Text != "Mia swims on Mondays." || !reflect.DeepEqual(got.Corrections, want) {
			t.Errorf("found %+v", got)
		}
	})
}
