package loci_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestAReplyIsFoundByItsQuestion: in talk among people the reply to a question comes before the question, and
// a text with a number before others for a question that wants one.
func TestAReplyIsFoundByItsQuestion(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}})
		talk := locitest.Bind(t, e, "u")
		for i, text := range []string{
			"I was at the market this morning",
			"You look well after all that",
			"I sleep more now, and the house is quiet",
			"Did you ever build a boat?",
			"I finished one in spring, of old oak",
			"I should come by and look",
		} {
			locitest.StoreFact(t, talk, loci.NewFact{Content: text, Sequence: "talk", Position: int64(i + 1)})
		}
		first := func(m *loci.Memory, query string) string {
			return locitest.Texts(locitest.Search(t, m, loci.Query{Text: query}))[0]
		}
		if got := first(talk, "build a boat"); got != "I finished one in spring, of old oak" {
			t.Errorf("first is %q, not the reply", got)
		}
		notes := locitest.Bind(t, e, "v")
		for _, text := range []string{"The boat shed stands by the lake", "The boat shed has 40 planks", "The boat shed was painted"} {
			locitest.Save(t, notes, text)
		}
		if got := first(notes, "How many boat shed boards are there?"); got != "The boat shed has 40 planks" {
			t.Errorf("first is %q, not the one with a number", got)
		}
	})
}

// TestNewsComesBeforeWhatSaysItAgain: who takes up what an assistant told him says it again, and is found behind what he
// told of himself.
func TestNewsComesBeforeWhatSaysItAgain(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		builtin, err := embedding.NewBuiltin()
		if err != nil {
			t.Fatal(err)
		}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: builtin}), "u")
		say := func(n int64, role, text string) {
			fact := loci.NewFact{Content: text, Sequence: "chat", Position: n, Metadata: map[string]any{"role": role}}
			locitest.StoreFact(t, m, fact)
		}
		const news, again = "I want to plant pear trees along the fence of the garden, is April too late?",
			"Sounds good! I will plant the pear trees along the fence of the garden in April and water them"
		say(1, "user", news)
		say(2, "assistant", "April is fine. Plant the pear trees along the fence of the garden in April and water them each week.")
		say(3, "user", again)
		got := locitest.Texts(locitest.Search(t, m, loci.Query{Text: "When do I plant trees along the fence in the garden and water them?"}))
		if slices.Index(got, news) > slices.Index(got, again) {
			t.Errorf("found %q", got)
		}
	})
}
