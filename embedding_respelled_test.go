package loci_test

import (
	"context"
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
