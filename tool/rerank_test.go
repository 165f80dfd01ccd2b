package tool

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A chooser gives texts with "stripes" the best chance, unless it is broken.
type chooser struct{ broken bool }

func (*chooser) Model() string { return "chooser" }

func (c *chooser) Rerank(_ context.Context, _ string, texts []string) ([]float64, error) {
	if c.broken {
		return nil, errors.New("broken")
	}
	chances := make([]float64, len(texts))
	for i, text := range texts {
		if chances[i] = 0.25; strings.Contains(text, "stripes") {
			chances[i] = 0.875
		}
	}
	return chances, nil
}

// What an agent searches is in the re-ranker's order and has its scores; when it fails, the
// structured reply says so.
func TestToolsRerank(t *testing.T) {
	judge, place := &chooser{}, []string{"zoo"}
	engine := newEngine(t, loci.Options{Rerank: loci.RerankOptions{Reranker: judge}})
	for family, name := range map[string]string{FamilyNotes: "memory_search", FamilyFacts: "search_memory"} {
		set := setOver(t, engine, Config{Entries: []Instance{{Family: family, Namespace: place}}})
		saving := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes, Namespace: place}}})
		judge.broken = false
		save(t, saving, general(t), "a zebra crossing")
		save(t, saving, general(t), "one zebra with stripes among many other animals that live here")
		const query = `{"query":"zebra crossing"}`
		reply := ok(t, set, name, general(t), query)
		first, second := strings.Index(reply.Text, "stripes"), strings.Index(reply.Text, "crossing")
		told := strings.Contains(string(reply.Structured), "not_reranked")
		if first < 0 || second < first || !strings.Contains(reply.Text, "0.875") || told {
			t.Errorf("%s: %s\n%s", name, reply.Text, reply.Structured)
		}
		judge.broken = true
		reply = ok(t, set, name, general(t), query)
		first, second = strings.Index(reply.Text, "stripes"), strings.Index(reply.Text, "crossing")
		if second < 0 || first < second {
			t.Errorf("%s: %s; want the first order", name, reply.Text)
		}
		if reply.Structured != nil && !strings.Contains(string(reply.Structured), `"not_reranked":"the re-ranker failed"`) {
			t.Errorf("%s: %s; want why", name, reply.Structured)
		}
	}
}
