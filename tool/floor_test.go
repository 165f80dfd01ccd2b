package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// Every tool that searches leaves out what scores below min_score, which the call names or else
// the entry of the tool.
func TestMinScore(t *testing.T) {
	call := map[string]string{
		"search_memory": `{"query":"zebra crossing"%s}`, "memory_search": `{"query":"zebra crossing"%s}`,
		"memory_recall": `{"topic":"zebra crossing"%s}`, "memory_context": `{"trigger_prompt":"zebra crossing","butler":"general"%s}`,
	}
	for family, names := range map[string][]string{
		FamilyFacts: {"search_memory"}, FamilyNotes: {"memory_search"}, FamilyMemory: {"memory_search", "memory_recall", "memory_context"},
	} {
		for _, name := range names {
			engine, place := newEngine(t, loci.Options{}), []string{"zoo"}
			free := setOver(t, engine, Config{Entries: []Instance{{Family: family, Namespace: place}}})
			floored := setOver(t, engine, Config{Entries: []Instance{
				{Family: family, Tool: name, Namespace: place, MinScore: 0.2},
			}})
			saving := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes, Namespace: place}}})
			for _, text := range []string{"a zebra crossing", "one zebra among many other animals that live here"} {
				save(t, saving, general(t), text)
			}
			shown := func(set *Set, more string) int {
				reply := ok(t, set, name, general(t), fmt.Sprintf(call[name], more))
				return strings.Count(reply.Text, "a zebra crossing") + strings.Count(reply.Text, "one zebra among")
			}
			for _, c := range []struct {
				set  *Set
				more string
				want int
			}{
				{free, "", 2}, {free, `,"min_score":0.2`, 1}, {free, `,"min_score":1`, 0},
				{floored, "", 1}, {floored, `,"min_score":0`, 2},
			} {
				if got := shown(c.set, c.more); got != c.want {
					t.Errorf("%s of %s with %q shows %d memories, want %d", name, family, c.more, got, c.want)
				}
			}
			refused(t, free, name, general(t), fmt.Sprintf(call[name], `,"min_score":1.5`), loci.Invalid,
				"min_score is 1.5; it must be 0 to 1")
		}
	}
}

func TestMinScoreOfAnEntry(t *testing.T) {
	for _, c := range []struct {
		entry Instance
		fault string
	}{
		{Instance{Family: FamilyNotes, MinScore: 2}, "min_score is 2; it must be 0 to 1"},
		{Instance{Family: FamilyNotes, MinScore: -0.5}, "min_score is -0.5; it must be 0 to 1"},
		{Instance{Tool: "memory_save", MinScore: 0.5}, "min_score is for tools that search"},
	} {
		_, err := New(newEngine(t, loci.Options{}), Config{Entries: []Instance{c.entry}})
		if err == nil || !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v", c.entry, err)
		}
	}
}

// A recalled memory says how well it fits, beside the composite score.
func TestRecalledFit(t *testing.T) {
	set := newMemoryTools(t)
	ok(t, set, "memory_store_fact", general(t), `{"subject":"zoo","predicate":"has","content":"a zebra","importance":9}`)
	for name, args := range map[string]string{"memory_recall": `{"topic":"zebra"}`, "memory_search": `{"query":"zebra"}`} {
		var reply struct {
			Results []struct{ Score, Fit *float64 }
		}
		err := json.Unmarshal([]byte(ok(t, set, name, general(t), args).Text), &reply)
		if err != nil || len(reply.Results) != 1 {
			t.Fatalf("%s: %+v, %v", name, reply, err)
		}
		r := reply.Results[0]
		if r.Score == nil || r.Fit == nil || !(*r.Fit > 0.3 && *r.Fit < 1) || *r.Fit == *r.Score {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
