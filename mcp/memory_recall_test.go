package mcp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/loci-memory/loci"
)

// TestSearchMemories: each argument of the search narrows it as described, and a search counts
// no use.
func TestSearchMemories(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		episode := b.episode("Talked about chocolates.", nil)
		fact := b.fact("user", "diet", "No chocolates", nil)
		rule := b.rule("Never offer chocolates", nil)
		all := []string{episode, fact, rule}
		slices.Sort(all)
		for name, c := range map[string]struct {
			in   args
			want []string
		}{
			"all types":     {args{"query": "chocolates"}, all},
			"by meaning":    {args{"query": "sweets"}, all},
			"facts only":    {args{"query": "chocolates", "types": []string{"fact"}}, []string{fact}},
			"no types":      {args{"query": "chocolates", "types": []string{}}, all},
			"keyword":       {args{"query": "chocolates", "mode": "keyword"}, all},
			"keyword, none": {args{"query": "sweets", "mode": "keyword"}, nil},
			"semantic": {
				args{"query": "sweets", "mode": "semantic", "types": []string{"episode", "rule"}},
				slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == fact }),
			},
			"limit":           {args{"query": "offer", "limit": 1, "mode": "keyword"}, []string{rule}},
			"of an agent":     {args{"query": "chocolates", "scope": "general"}, all},
			"of another":      {args{"query": "chocolates", "scope": "health"}, slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == episode })},
			"less confidence": {args{"query": "chocolates", "min_confidence": 0.6}, slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == rule })},
		} {
			got := b.ask("memory_search", c.in).ids()
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
		for _, r := range b.ask("memory_search", args{"query": "chocolates"}).found() {
			score, _ := r["score"].(float64)
			confidence := map[any]float64{"rule": 0.5, "fact": 1, "episode": 1}[r["type"]]
			if score <= 0 || score > 1 || r["confidence"] != confidence || !strings.Contains(r["content"].(string), "hocolates") || r["explain"] == nil {
				t.Errorf("result %v", r)
			}
		}
		b.ask("memory_search", args{"query": "x", "mode": "x"}).refused(loci.Invalid, "Invalid mode: 'x'. Must be one of ['hybrid', 'keyword', 'semantic']")
		b.ask("memory_search", args{"query": "x", "types": []string{"fact", "x"}}).refused(loci.Invalid, "Invalid type: 'x'. Must be one of ['episode', 'fact', 'rule']")
		b.ask("memory_search", args{"query": " "}).refused(loci.Invalid, "query must not be empty")
		if u := b.get("fact", fact)["reference_count"]; u != 1.0 { // that of this get alone
			t.Errorf("searches counted uses: %v", u)
		}
	})
}

// TestFadingMemories are found with min_confidence 0 alone, and by id.
func TestFadingMemories(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.fact("user", "diet", "No chocolates", args{"permanence": "ephemeral"})
		b.advance(20 * day) // e^-2 = 0.135
		if got := b.ask("memory_search", args{"query": "chocolates"}).ids(); len(got) != 0 {
			t.Errorf("fading ones are found: %v", got)
		}
		found := b.ask("memory_search", args{"query": "chocolates", "min_confidence": 0}).found()
		if len(found) != 1 || found[0]["confidence"] != 0.1353 || found[0]["validity"] != "fading" {
			t.Errorf("got %v", found)
		}
		has(t, b.get("fact", id), args{"validity": "fading"})
		b.ask("memory_search", args{"query": "x", "min_confidence": 1.5}).refused(loci.Invalid, "min_confidence is 1.5; it must be 0 to 1")
	})
}

func TestRecall(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		b.episode("Talked about chocolates.", nil)
		shared := b.fact("user", "diet", "No chocolates", nil)
		vital := b.fact("user", "allergy", "No chocolates at all", args{"scope": "health", "importance": 10})
		rule := b.rule("Never offer chocolates", args{"scope": "health"})
		b.fact("user", "shop", "Buys chocolates", args{"scope": "shopping"})

		found := b.ask("memory_recall", args{"topic": "chocolates", "scope": "health"}).found()
		var got []string
		for _, r := range found {
			got = append(got, r["id"].(string))
			x := r["explain"].(args)
			number := func(name string) float64 { return x[name].(float64) }
			sum := 0.4*number("relevance") + 0.3*number("importance") + 0.2*number("recency") + 0.1*number("confidence")
			if d := sum - r["score"].(float64); d > 2e-4 || d < -2e-4 {
				t.Errorf("score %v of components %v", r["score"], x)
			}
		}
		slices.Sort(got[1:])
		if len(got) != 3 || got[0] != vital || !slices.Contains(got, shared) || !slices.Contains(got, rule) {
			t.Errorf("got %v, want %s first, then %s and %s", got, vital, shared, rule)
		}
		if all := b.ask("memory_recall", args{"topic": "chocolates"}).ids(); len(all) != 4 {
			t.Errorf("of all scopes: %v", all)
		}
		if one := b.ask("memory_recall", args{"topic": "chocolates", "limit": 1}).ids(); len(one) != 1 {
			t.Errorf("limit 1: %v", one)
		}
		b.ask("memory_recall", args{"topic": ""}).refused(loci.Invalid, "topic must not be empty")
	})
}

// TestUsesAreCounted by recall and get, once each, and by nothing else.
func TestUsesAreCounted(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.fact("user", "diet", "No chocolates", nil)
		b.ask("memory_search", args{"query": "chocolates"})
		b.ask("memory_stats", nil)
		b.ask("memory_context", args{"trigger_prompt": "chocolates", "butler": "general"})
		b.wantUses(t, id, 0)
		for n := range int64(2) {
			b.ask("memory_recall", args{"topic": "chocolates"})
			b.wantUses(t, id, n+1)
		}
		b.get("fact", id)
		b.wantUses(t, id, 3)
		has(
			t,
			b.get("fact", id),
			args{"reference_count": 4.0, "last_referenced_at": "2026-03-01T12:00:00.000Z", "version": 1.0},
		)
		b.wantUses(t, id, 4)
	})
}

// wantUses waits until a fact has n uses. It reads them where a read counts no use, and waits
// because uses are written beside the read.
func (b *bench) wantUses(t *testing.T, id string, want int64) {
	t.Helper()
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "alice"}, Actor: "reader"})
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := loci.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	var uses int64
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		f, err := m.Fact(t.Context(), parsed)
		if err != nil {
			t.Fatal(err)
		}
		if uses = f.Uses; uses >= want {
			break
		}
	}
	if uses != want {
		t.Fatalf("%d uses are counted, want %d", uses, want)
	}
}

func TestContextWithinBudget(t *testing.T) {
	counter := codec.NewO200kBase()
	eachStore(t, func(t *testing.T, b *bench) {
		c := b.as(t, butler(t, "health"))
		for i := range 30 {
			b.fact("user", fmt.Sprintf("meal %d", i), strings.Repeat("chocolates and more ", 5), args{"importance": i % 11, "scope": "health"})
			b.rule(fmt.Sprintf("Rule %d: offer no chocolates", i), nil)
			c.ask("memory_store_episode", args{"content": fmt.Sprintf("Episode %d: talked about chocolates", i), "butler": "health"}).id("id")
		}
		b.fact("user", "secret", "chocolates of shopping", args{"scope": "shopping", "importance": 10})
		for _, budget := range []int{3000, 300, 60, 1} {
			in := args{"trigger_prompt": "Help user with chocolates", "butler": "health", "token_budget": budget}
			a := c.ask("memory_context", in)
			n, err := counter.Count(a.text)
			if err != nil || a.isError || n > budget || a.data["tokens"] != float64(n) || a.data["text"] != a.text {
				t.Errorf("budget %d: %d tokens, %v: %.300s", budget, n, err, a.text)
			}
			for _, section := range []string{"# Memory Context\n", "\n## Key Facts\n", "\n## Active Rules\n", "\n## Recent Episodes\n"} {
				if budget >= 300 && !strings.Contains(a.text, section) {
					t.Errorf("budget %d: no %q in %s", budget, section, a.text)
				}
			}
			if strings.Contains(a.text, "shopping") {
				t.Errorf("another agent's fact: %s", a.text)
			}
			if again := c.ask("memory_context", in).text; again != a.text {
				t.Errorf("the same request gives\n%s\nand\n%s", a.text, again)
			}
		}
	})
}

// TestContextPrefersHighScores: what is left out of a section never scores more
// than what is in it, and what ties is newest first.
func TestContextPrefersHighScores(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		for i := range 40 {
			b.fact("user", fmt.Sprintf("meal %02d", i), "chocolates", args{"importance": i % 10})
			b.advance(time.Second)
		}
		a := b.ask("memory_context", args{"trigger_prompt": "chocolates", "butler": "general", "token_budget": 200})
		score := func(field string) (scores []float64) {
			list, _ := a.data[field].([]any)
			for _, item := range list {
				scores = append(scores, item.(args)["score"].(float64))
			}
			return scores
		}
		shown, omitted := score("shown"), score("omitted")
		if len(omitted) != 20 || a.data["omitted_count"] != float64(40-len(shown)) {
			t.Errorf("%d of %v left out are named", len(omitted), a.data["omitted_count"])
		}
		if len(shown) == 0 || len(omitted) == 0 || slices.Min(shown) < slices.Max(omitted) {
			t.Errorf("shown %v, left out %v", shown, omitted)
		}
		if !slices.IsSortedFunc(shown, func(x, y float64) int { return int(1e9 * (y - x)) }) {
			t.Errorf("not by score: %v", shown)
		}
	})
}
