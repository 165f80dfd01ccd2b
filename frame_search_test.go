package loci_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestWhatAQuerySaysOfItsAnswerIsNotLookedFor: by words and by meaning, on every store.
func TestWhatAQuerySaysOfItsAnswerIsNotLookedFor(t *testing.T) {
	const query = "Can you give me a summary of the pear tree throughout our conversations? Mention only two items."
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}})
		m := locitest.Bind(t, e, "u")
		tree := locitest.Save(t, m, "A pear stands beside the shed, and a tree beside the gate")
		locitest.Save(t, m, "Mention two items of our conversations, only give me a summary")
		for _, mode := range []loci.Mode{loci.Hybrid, loci.Keyword, loci.Semantic} {
			got := locitest.Search(t, m, loci.Query{Text: query, Mode: mode})
			if got.Matches[0].Record.ID != tree {
				t.Errorf("%s: first is %q", mode, got.Matches[0].Record.Text)
			}
		}
	})
}

// TestWhatAnAssistantSaidIsFound for a query that asks for it, before what only asked about it.
func TestWhatAnAssistantSaidIsFound(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}})
		m := locitest.Bind(t, e, "u")
		say := func(n int64, role, text string) {
			fact := loci.NewFact{Content: text, Sequence: "chat", Position: n, Metadata: map[string]any{"role": role}}
			locitest.StoreFact(t, m, fact)
		}
		say(1, "user", "Slate keeps water from a roof, a neighbour said")
		say(20, "assistant", "Slate keeps water from a roof each spring")
		first := func(query string) string {
			return locitest.Texts(locitest.Search(t, m, loci.Query{Text: query}))[0]
		}
		if got := first("What keeps water from a roof in spring?"); !strings.Contains(got, "neighbour") {
			t.Errorf("first is %q, not what the user said", got)
		}
		if got := first("What did you say keeps water from a roof in spring?"); strings.Contains(got, "neighbour") {
			t.Errorf("first is %q, not what the assistant said", got)
		}
	})
}
