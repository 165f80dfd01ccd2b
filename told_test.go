package loci_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A store that answers only so many reads.
type ending struct {
	loci.Store
	left int
}

var errNoMoreReads = errors.New("no more reads")

func (s *ending) ends() bool {
	s.left--
	return s.left < 0
}

func (s *ending) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	if s.ends() {
		return nil, "", errNoMoreReads
	}
	return s.Store.Records(ctx, t, f, p)
}

func (s *ending) Match(ctx context.Context, t loci.Tenant, p loci.Probe, f loci.Filter, limit int) ([]loci.Hit, error) {
	if s.ends() {
		return nil, errNoMoreReads
	}
	return s.Store.Match(ctx, t, p, f, limit)
}

// Whichever read fails, a search, a recall and a context say so: none answers with a part.
func TestAReadThatFailsIsTold(t *testing.T) {
	s := &ending{Store: locitest.OpenMemory(), left: 1000}
	m := locitest.Bind(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "u")
	locitest.Save(t, m, "tea at noon")
	if _, err := m.StoreRule(t.Context(), loci.NewRule{Content: "Offer tea."}); err != nil {
		t.Fatal(err)
	}
	locitest.Episode(t, m, "home", "Asked about tea.")
	for name, ask := range map[string]func() error{
		"search":  func() error { _, err := m.Search(t.Context(), loci.Query{Text: "tea"}); return err },
		"recall":  func() error { _, err := m.Recall(t.Context(), loci.RecallQuery{Topic: "tea"}); return err },
		"context": func() error { _, err := m.Context(t.Context(), loci.ContextQuery{Prompt: "tea"}); return err },
	} {
		for reads := 0; ; reads++ {
			s.left = reads
			err := ask()
			if s.left >= 0 {
				if err != nil || reads < 2 {
					t.Errorf("%s: %d reads, %v", name, reads, err)
				}
				break
			}
			if !errors.Is(err, errNoMoreReads) {
				t.Errorf("%s with %d reads: %v", name, reads, err)
			}
		}
	}
}

// A context counts what did not fit the prompt in all of its sections, and names the weights.
func TestAContextCountsWhatItLeavesOut(t *testing.T) {
	w := &locitest.WordEmbedder{Name: "w"}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: w}), "u")
	empty := contextOf(t, m, loci.ContextQuery{Prompt: "zebra"})
	if data, err := json.Marshal(empty); err != nil || !strings.Contains(string(data), `"shown":[],"omitted":[]`) {
		t.Errorf("%s, %v", data, err)
	}
	for i := range 2 {
		locitest.Save(t, m, fmt.Sprint("something else, tea number ", i))
		if _, err := m.StoreRule(t.Context(), loci.NewRule{Content: fmt.Sprint("Offer cake number ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	weights := loci.RecallWeights{Relevance: 0.4, Importance: 0.3, Recency: 0.2, Confidence: 0.1}
	block := contextOf(t, m, loci.ContextQuery{Prompt: "zebra", MinScore: 0.9})
	if block.Unfit != 4 || len(block.Shown) != 0 || block.KeywordOnly || block.Weights != weights {
		t.Errorf("%+v", block)
	}
	w.SetDown(true)
	if block := contextOf(t, m, loci.ContextQuery{Prompt: "zebra"}); !block.KeywordOnly {
		t.Errorf("%+v", block)
	}
}

// Tags that no memory may have are refused by a search, too, and do not select everything.
func TestASearchRefusesBadTags(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.Save(t, m, "tea at noon")
	for _, text := range []string{"tea", ""} {
		_, err := m.Search(t.Context(), loci.Query{Text: text, Tags: slices.Repeat([]string{"a", "b"}, 100)})
		locitest.WantCode(t, err, loci.Invalid)
	}
}

// A structured content that a reply shows is known as what was shown.
func TestAShownValueIsKnown(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	value := json.RawMessage(`{"city":"Rome"}`)
	id := locitest.StoreFact(t, m, loci.NewFact{Value: value}).ID
	text := fmt.Sprintf(`[{"namespace":["u"],"key":"%s","value":{"content":%s},"score":0.5}]`, id, value)
	if got := locitest.StoreFact(t, m, loci.NewFact{Content: text}); got.Outcome != loci.DuplicateOf || got.ID != id {
		t.Errorf("%+v", got)
	}
}

// The log says that an expired fact gave its key away, also where a sweep has told before that it expired.
func TestAKeyTakenAfterASweepIsTold(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	m := locitest.Bind(t, e, "u")
	old := keyed("Berlin")
	old.Permanence = loci.Ephemeral
	id := locitest.StoreFact(t, m, old).ID
	c.Advance(400 * dayLong)
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := locitest.StoreFact(t, m, keyed("Kiel")).ID
	events, _, err := m.Events(t.Context(), loci.EventFilter{Types: []loci.EventType{loci.EventUpdated}}, loci.Page{})
	if err != nil || len(events) != 1 || events[0].Entity != id ||
		!strings.Contains(string(events[0].Payload), next.String()) {
		t.Errorf("%+v, %v", events, err)
	}
}
