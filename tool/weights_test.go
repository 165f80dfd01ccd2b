package tool

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// The weights of an entry replace the engine's in its recalls: the same memories come in
// another order. They hold for a context, too.
func TestWeightsOfAnEntry(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	entry := func(w *loci.RecallWeights) *Set {
		return setOver(t, engine, Config{Entries: []Instance{{Family: FamilyMemory, Weights: w}}})
	}
	plain, u := entry(nil), general(t)
	ok(t, plain, "memory_store_fact", u, `{"subject":"zoo","predicate":"sign","content":"zebra crossing","importance":1}`)
	ok(t, plain, "memory_store_fact", u, `{"subject":"zoo","predicate":"fee","content":"a zebra costs nothing to see here","importance":10}`)
	for _, c := range []struct {
		weights *loci.RecallWeights
		first   string
		score   float64 // of the first; 0: any
	}{
		{nil, "a zebra costs nothing to see here", 0},
		{&loci.RecallWeights{Relevance: 1}, "zebra crossing", 0},
		{&loci.RecallWeights{Importance: 1}, "a zebra costs nothing to see here", 1},
	} {
		set := entry(c.weights)
		found, _ := results(t, ok(t, set, "memory_recall", u, `{"topic":"zebra crossing"}`))
		if len(found) != 2 || found[0].Content != c.first || c.score != 0 && found[0].Score != c.score {
			t.Errorf("%+v: %+v", c.weights, found)
		}
		text := ok(t, set, "memory_context", u, `{"trigger_prompt":"zebra crossing","butler":"general"}`).Text
		if first, second := strings.Index(text, "zebra crossing"), strings.Index(text, "costs nothing"); (first < second) != (c.first == "zebra crossing") {
			t.Errorf("%+v: %s", c.weights, text)
		}
		searched, _ := results(t, ok(t, set, "memory_search", u, `{"query":"zebra crossing"}`))
		if len(searched) != 2 || searched[0].Content != "zebra crossing" {
			t.Errorf("a search has weights: %+v", searched)
		}
	}
}

// TestWeightsAreChecked where an entry is made.
func TestWeightsAreChecked(t *testing.T) {
	for _, c := range []struct {
		entry Instance
		fault string
	}{
		{Instance{Family: FamilyMemory, Weights: &loci.RecallWeights{Relevance: 0.5}}, "weights sum to 0.5; relevance, importance, recency and confidence must sum to 1"},
		{Instance{Family: FamilyMemory, Weights: &loci.RecallWeights{Relevance: 1.5, Recency: -0.5}}, "weights has -0.5; none may be negative"},
		{Instance{Family: FamilyNotes, Weights: &loci.RecallWeights{Relevance: 1}}, "weights are for memory_recall and memory_context only"},
		{Instance{Tool: "memory_get", Weights: &loci.RecallWeights{Relevance: 1}}, "weights are for memory_recall and memory_context only"},
	} {
		_, err := New(nil, Config{Entries: []Instance{c.entry}})
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v", c.entry, err)
		}
	}
}

// Every search of a model takes conditions on the subject and predicate of facts, and on
// metadata. A memory without these does not match.
func TestSearchesTakeTheKeyOfAFact(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	set := setOver(t, engine, Config{Entries: []Instance{
		{Family: FamilyNotes},
		{Family: FamilyMemory},
		{Family: FamilyFacts},
	}})
	u := caller(t, loci.Vars{loci.VarUser: "u-1", loci.VarButler: "general"})
	ok(t, set, "memory_store_fact", u, `{"subject":"zoo","predicate":"sign","content":"zebra crossing"}`)
	ok(t, set, "memory_store_fact", u, `{"subject":"street","predicate":"sign","content":"zebra stripes"}`)
	ok(t, set, "memory_store_rule", u, `{"content":"Stop at a zebra crossing."}`)
	ok(t, set, "memory_store_episode", u, `{"content":"Saw a zebra.","butler":"general"}`)
	ok(t, set, "manage_memory", u, `{"content":"A zebra in the snow.","metadata":{"season":"winter"}}`)
	searches := map[string]string{"memory_search": "query", "memory_memory_search": "query", "memory_recall": "topic", "search_memory": "query"}
	for name, query := range searches {
		for filter, want := range map[string]string{
			`{"subject":"zoo"}`:                        "zebra crossing",
			`{"predicate":"sign","subject":"street"}`:  "zebra stripes",
			`{"season":"winter"}`:                      "A zebra in the snow.",
			`{"subject":"zoo","predicate":"color"}`:    "",
			`{"subject":"zoo","season":"winter"}`:      "",
			`{"subject":{"$ne":"zoo"},"season":"dry"}`: "",
		} {
			text := ok(t, set, name, u, `{"`+query+`":"zebra","filter":`+filter+`}`).Text
			var found []string
			for _, said := range []string{"zebra crossing", "zebra stripes", "Stop at", "Saw a", "A zebra in the snow."} {
				if strings.Contains(text, said) {
					found = append(found, said)
				}
			}
			if strings.Join(found, ", ") != want {
				t.Errorf("%s with %s found %q in %s", name, filter, found, text)
			}
		}
		refused(t, set, name, u, `{"`+query+`":"zebra","filter":{"subject":{"$near":1}}}`, loci.Invalid,
			"Unsupported operator: $near. Must be one of $eq, $ne, $gt, $gte, $lt, $lte")
	}
}
