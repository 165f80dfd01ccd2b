package mcp_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/token"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

var lifecycle = tool.Instance{Family: tool.FamilyMemory}

// A bench is a store with a clock that is moved by hand, and the tools of the
// family memory as the butler "general" of alice sees them.
type bench struct {
	*client
	engine *loci.Engine
	mu     sync.Mutex
	at     time.Time
}

func (b *bench) now() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.at
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at = b.at.Add(d)
}

const day = 24 * time.Hour

func butler(t testing.TB, name string, more ...loci.Scope) loci.Principal {
	t.Helper()
	return newPrincipal(t, loci.Vars{loci.VarUser: "alice", loci.VarButler: name}, more...)
}

// eachStore runs a test over a store in memory and one in files.
func eachStore(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	for name, url := range map[string]func(t *testing.T) string{
		"memory": func(*testing.T) string { return "memory:" },
		"sqlite": func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "x") + "/" },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), url(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			counter, err := token.Open("o200k_base")
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			b.engine, err = loci.New(s, &loci.Options{
				Features:  locitest.Features(),
				Embedder:  concepts{},
				Now:       b.now,
				Tokenizer: counter,
				Logger:    slog.New(slog.DiscardHandler),
			})
			if err != nil {
				t.Fatal(err)
			}
			b.client = b.as(t, butler(t, "general"))
			test(t, b)
		})
	}
}

// as connects another caller to the same memory.
func (b *bench) as(t *testing.T, p loci.Principal) *client { return dial(t, b.engine, p, lifecycle) }

// get reads a memory.
func (c *client) get(kind, id string) args {
	c.t.Helper()
	a := c.ask("memory_get", args{"type": kind, "id": id})
	if a.isError || a.data["type"] != kind || a.data["id"] != id {
		c.t.Fatalf("get %s %s: %s", kind, id, a.text)
	}
	return a.data
}

// found decodes the results of a search or a recall.
func (a answer) found() (list []args) {
	a.t.Helper()
	results, ok := a.data["results"].([]any)
	if !ok || a.isError {
		a.t.Fatalf("no results: %s", a.text)
	}
	for _, r := range results {
		list = append(list, r.(args))
	}
	return list
}

// ids are the ids of what was found, in order.
func (a answer) ids() (list []string) {
	a.t.Helper()
	for _, r := range a.found() {
		list = append(list, r["id"].(string))
	}
	return list
}

// has checks fields of a memory.
func has(t testing.TB, got, want args) {
	t.Helper()
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
}

func (b *bench) fact(subject, predicate, content string, more args) string {
	b.t.Helper()
	in := args{"subject": subject, "predicate": predicate, "content": content}
	for name, value := range more {
		in[name] = value
	}
	return b.ask("memory_store_fact", in).id("id")
}

func (b *bench) rule(content string, more args) string {
	b.t.Helper()
	in := args{"content": content}
	for name, value := range more {
		in[name] = value
	}
	return b.ask("memory_store_rule", in).id("id")
}

func (b *bench) episode(content string, more args) string {
	b.t.Helper()
	in := args{"content": content, "butler": "general"}
	for name, value := range more {
		in[name] = value
	}
	return b.ask("memory_store_episode", in).id("id")
}

// memoryTools are the tools with their arguments, the required ones first up to the
// bar.
var memoryTools = map[string]string{
	"memory_store_episode": "content butler|session_id importance",
	"memory_store_fact":    "subject predicate content|importance permanence scope tags",
	"memory_store_rule":    "content|scope tags",
	"memory_search":        "query|types scope mode limit min_confidence min_score since until filter",
	"memory_recall":        "topic|scope limit min_score since until filter",
	"memory_get":           "type id|",
	"memory_confirm":       "type id|",
	"memory_mark_helpful":  "rule_id|",
	"memory_mark_harmful":  "rule_id|reason",
	"memory_forget":        "type id|",
	"memory_stats":         "|scope",
	"memory_context":       "trigger_prompt butler|token_budget min_score",
}

func TestMemoryToolsAndTheirArguments(t *testing.T) {
	schemas := dial(t, newEngine(t), alice(t), lifecycle).schemas()
	if len(schemas) != len(memoryTools) {
		t.Errorf("%d tools, want %d", len(schemas), len(memoryTools))
	}
	for name, want := range memoryTools {
		if schemas[name] == nil {
			t.Errorf("no tool %s", name)
			continue
		}
		need, optional, _ := strings.Cut(want, "|")
		all := append(strings.Fields(need), strings.Fields(optional)...)
		properties, _ := property(t, schemas[name].InputSchema, "properties").(args)
		if len(properties) != len(all) {
			t.Errorf("%s: arguments %v, want %v", name, properties, all)
		}
		for _, p := range all {
			if properties[p] == nil {
				t.Errorf("%s has no argument %s", name, p)
			}
		}
		required, _ := property(t, schemas[name].InputSchema, "required").([]any)
		if got := strings.Trim(fmt.Sprint(required), "[]"); got != need {
			t.Errorf("%s requires %q, want %q", name, got, need)
		}
	}
	for path, want := range map[string]any{"memory_search.mode.default": "hybrid", "memory_search.limit.default": 20.0, "memory_recall.limit.default": 20.0,
		"memory_context.token_budget.default": 3000.0, "memory_store_episode.importance.default": 5.0, "memory_store_fact.permanence.default": "standard",
		"memory_store_fact.scope.default": "global"} {
		p := strings.Split(path, ".")
		if got := property(t, schemas[p[0]].InputSchema, "properties", p[1], p[2]); got != want {
			t.Errorf("%s is %v", path, got)
		}
	}
}

func TestMemoryToolAnnotations(t *testing.T) {
	reads := []string{"memory_search", "memory_recall", "memory_get", "memory_stats", "memory_context"}
	destroys := []string{"memory_mark_harmful", "memory_forget"}
	repeatable := []string{"memory_search", "memory_stats", "memory_context", "memory_confirm", "memory_forget"}
	for name, s := range dial(t, newEngine(t), alice(t), lifecycle).schemas() {
		a := s.Annotations
		if a.ReadOnlyHint != slices.Contains(reads, name) || *a.DestructiveHint != slices.Contains(destroys, name) ||
			a.IdempotentHint != slices.Contains(repeatable, name) || *a.OpenWorldHint {
			t.Errorf("%s: %+v", name, a)
		}
		counts := name == "memory_recall" || name == "memory_get"
		if says := strings.Contains(strings.ToLower(s.Description), "counts the use"); says != counts {
			t.Errorf("%s says that it counts uses: %v", name, says)
		}
	}
}

func TestStoreEpisode(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		a := b.ask("memory_store_episode", args{"content": "User asked about recipes", "butler": "general"}, sdk.Meta{"loci/session_id": "s-1"})
		id := a.id("id")
		a.want(`{"id":"` + id + `","outcome":"created"}`)
		has(t, b.get("episode", id), args{"content": "User asked about recipes", "butler": "general", "importance": 5.0, "session_id": "s-1",
			"expires_at": "2026-03-08T12:00:00.000Z", "consolidation_status": "pending"})
		id = b.episode("User revealed severe allergy", args{"importance": 9.0, "session_id": "s-2"})
		has(t, b.get("episode", id), args{"importance": 9.0, "session_id": "s-2"})

		b.advance(7*day - time.Millisecond)
		if got := b.ask("memory_search", args{"query": "allergy"}).ids(); len(got) != 2 {
			t.Errorf("before they expire: %v", got)
		}
		b.advance(time.Millisecond)
		if got := b.ask("memory_search", args{"query": "allergy"}).ids(); len(got) != 0 {
			t.Errorf("expired ones are found: %v", got)
		}
		b.ask("memory_get", args{"type": "episode", "id": id}).refused(loci.NotFound, fmt.Sprintf("no episode with id %q", id))
	})
}

func TestStoreFactSupersedes(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		in := args{"subject": "user", "predicate": "favorite_color", "content": "red"}
		a := b.ask("memory_store_fact", in)
		old := a.id("id")
		a.want(`{"id":"` + old + `","superseded_id":null,"outcome":"created"}`)
		in["content"] = "blue"
		a = b.ask("memory_store_fact", in)
		id := a.id("id")
		a.want(`{"id":"` + id + `","superseded_id":"` + old + `","outcome":"superseded"}`)
		has(t, b.get("fact", old), args{"validity": "superseded", "superseded_by": id, "content": "red", "supersedes_id": nil})
		has(t, b.get("fact", id), args{"validity": "active", "supersedes_id": old, "content": "blue", "confidence": 1.0, "scope": "global"})
		if got := b.ask("memory_recall", args{"topic": "favorite color red blue"}).ids(); !slices.Equal(got, []string{id}) {
			t.Errorf("recalled %v", got)
		}
		// Another scope is another fact, and the same words supersede, too.
		in["scope"] = "health"
		if a := b.ask("memory_store_fact", in); a.data["superseded_id"] != nil {
			t.Errorf("got %s", a.text)
		}
		delete(in, "scope")
		if a := b.ask("memory_store_fact", in); a.data["superseded_id"] != id {
			t.Errorf("got %s", a.text)
		}
	})
}

func TestStoreFactPermanence(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		for permanence, rate := range map[string]any{"permanent": 0.0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1, "": 0.008} {
			more := args{}
			if permanence != "" {
				more["permanence"] = permanence
			}
			has(t, b.get("fact", b.fact("user", "name "+permanence, "John", more)), args{"decay_rate": rate})
		}
		b.ask("memory_store_fact", args{"subject": "user", "predicate": "name", "content": "John", "permanence": "x"}).refused(loci.Invalid,
			"Invalid permanence: 'x'. Must be one of ['ephemeral', 'permanent', 'stable', 'standard', 'volatile']")
	})
}

func TestStoreRule(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		a := b.ask("memory_store_rule", args{"content": "Always confirm before sending messages", "scope": "global", "tags": []string{"mail"}})
		id := a.id("id")
		a.want(`{"id":"` + id + `","outcome":"created"}`)
		has(t, b.get("rule", id), args{"maturity": "candidate", "confidence": 0.5, "scope": "global", "success_count": 0.0, "effectiveness_score": 0.0})
	})
}

func TestGetMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.fact("user", "diet", "No chocolates", args{"tags": []string{"food"}, "importance": 7.5})
		got := b.get("fact", id)
		has(t, got, args{"subject": "user", "predicate": "diet", "content": "No chocolates", "importance": 7.5, "permanence": "standard", "decay_rate": 0.008,
			"confidence": 1.0, "effective_confidence": 1.0, "validity": "active", "scope": "global", "reference_count": 1.0,
			"last_confirmed_at": "2026-03-01T12:00:00.000Z", "created_at": "2026-03-01T12:00:00.000Z"})
		for _, absent := range []string{"confirmed_at", "supersedes", "embedding", "vector"} {
			if _, there := got[absent]; there {
				t.Errorf("%s is in %v", absent, got)
			}
		}
		for _, unknown := range []string{"01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77", "", "x", "'; DROP TABLE record; --", "note-" + id} {
			b.ask("memory_get", args{"type": "fact", "id": unknown}).refused(loci.NotFound, fmt.Sprintf("no fact with id %q", unknown))
		}
		b.ask("memory_get", args{"type": "rule", "id": id}).refused(loci.NotFound, fmt.Sprintf("no rule with id %q", id))
		b.ask("memory_get", args{"type": "item", "id": id}).refused(loci.Invalid, "Invalid type: 'item'. Must be one of ['episode', 'fact', 'rule']")
	})
}

func TestConfirmMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		ids := map[string]string{"fact": b.fact("user", "diet", "No chocolates", args{"permanence": "ephemeral"}), "rule": b.rule("Be brief", nil)}
		b.advance(20 * day)
		has(t, b.get("fact", ids["fact"]), args{"validity": "fading"})
		for kind, id := range ids {
			b.ask("memory_confirm", args{"type": kind, "id": id}).want(`{"confirmed":true}`)
			got := b.get(kind, id)
			has(t, got, args{"validity": "active", "effective_confidence": got["confidence"], "last_confirmed_at": "2026-03-21T12:00:00.000Z"})
			b.ask("memory_forget", args{"type": kind, "id": id})
			if a := b.ask("memory_confirm", args{"type": kind, "id": id}); a.data["code"] != "conflict" {
				t.Errorf("confirming a forgotten %s: %s", kind, a.text)
			}
		}
		const refusal = "Episodes cannot be confirmed — they don't have confidence decay"
		for _, id := range []string{b.episode("Talked.", nil), "x"} {
			b.ask("memory_confirm", args{"type": "episode", "id": id}).refused(loci.Invalid, refusal)
		}
		b.ask("memory_confirm", args{"type": "fact", "id": "x"}).refused(loci.NotFound, `no fact with id "x"`)
	})
}

func TestMarkHelpful(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.rule("Be brief", nil)
		for range 4 {
			b.ask("memory_mark_helpful", args{"rule_id": id})
		}
		has(t, b.get("rule", id), args{"success_count": 4.0, "maturity": "candidate"})
		a := b.ask("memory_mark_helpful", args{"rule_id": id})
		has(t, a.data, args{"type": "rule", "id": id, "content": "Be brief", "success_count": 5.0, "applied_count": 5.0, "maturity": "established",
			"effectiveness_score": loci.Effectiveness(5, 0), "last_applied_at": "2026-03-01T12:00:00.000Z"})
		b.advance(30 * day)
		for range 10 {
			a = b.ask("memory_mark_helpful", args{"rule_id": id})
		}
		has(t, a.data, args{"success_count": 15.0, "maturity": "proven"})
		b.ask("memory_mark_helpful", args{"rule_id": "x"}).refused(loci.NotFound, `no rule with id "x"`)
	})
}

func TestMarkHarmful(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.rule("Be brief", nil)
		b.ask("memory_mark_helpful", args{"rule_id": id})
		a := b.ask("memory_mark_harmful", args{"rule_id": id, "reason": "caused incorrect response"})
		has(t, a.data, args{"harmful_count": 1.0, "applied_count": 2.0, "effectiveness_score": 0.1996007984031936, "maturity": "candidate"})
		b.ask("memory_mark_harmful", args{"rule_id": id, "reason": "left out the date"})
		a = b.ask("memory_mark_harmful", args{"rule_id": id})
		has(t, a.data, args{"maturity": "anti_pattern", "original_content": "Be brief",
			"content": "ANTI-PATTERN: Do NOT Be brief. This caused problems because: caused incorrect response; left out the date"})
		if got := b.ask("memory_recall", args{"topic": "ANTI-PATTERN brief"}).ids(); !slices.Equal(got, []string{id}) {
			t.Errorf("the warning is not found: %v", got)
		}
		b.ask("memory_mark_harmful", args{"rule_id": "x"}).refused(loci.NotFound, `no rule with id "x"`)
	})
}

func TestForgetMemory(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		ids := map[string]string{"fact": b.fact("user", "diet", "No chocolates", nil), "rule": b.rule("Never offer chocolates", nil),
			"episode": b.episode("Talked about chocolates.", nil)}
		for kind, id := range ids {
			b.ask("memory_forget", args{"type": kind, "id": id}).want(`{"forgotten":true}`)
			b.ask("memory_forget", args{"type": kind, "id": id}).want(`{"forgotten":false}`)
			b.ask("memory_forget", args{"type": kind, "id": "x"}).want(`{"forgotten":false}`)
		}
		has(t, b.get("fact", ids["fact"]), args{"validity": "retracted"})
		b.get("rule", ids["rule"])
		b.get("episode", ids["episode"])
		if got := b.ask("memory_recall", args{"topic": "chocolates"}).ids(); len(got) != 0 {
			t.Errorf("recalled %v", got)
		}
		if got := b.ask("memory_search", args{"query": "chocolates", "min_confidence": 0}).ids(); len(got) != 0 {
			t.Errorf("found %v", got)
		}
		if text := b.ask("memory_context", args{"trigger_prompt": "chocolates", "butler": "general"}).text; strings.Contains(text, "hocolates") {
			t.Errorf("context %s", text)
		}
		b.ask("memory_forget", args{"type": "x", "id": "x"}).refused(loci.Invalid, "Invalid type: 'x'. Must be one of ['episode', 'fact', 'rule']")

		var types []string
		for _, e := range b.events(t,
			loci.EventFilter{Types: []loci.EventType{loci.EventRetracted, loci.EventForgotten}}) {
			types = append(types, string(e.Type)+" "+string(e.Kind))
			if e.Actor != "test" || e.RequestID == "" || e.Entity.String() != ids[string(e.Kind)] {
				t.Errorf("event %+v", e)
			}
		}
		slices.Sort(types)
		if want := []string{"forgotten episode", "forgotten rule", "retracted fact"}; !slices.Equal(types, want) {
			t.Errorf("events %v, want %v", types, want)
		}
	})
}

// events reads the audit log.
func (b *bench) events(t *testing.T, f loci.EventFilter) []loci.Event {
	t.Helper()
	return b.eventsOf(t, "default", f)
}

func (b *bench) eventsOf(t *testing.T, name string, f loci.EventFilter) []loci.Event {
	t.Helper()
	tenant, err := loci.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.engine.Memory(loci.View{Tenant: tenant, Actor: "auditor"})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := m.Events(t.Context(), f, loci.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestMemoryStats(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		b.fact("user", "diet", "Vegan", args{"scope": "health"})
		b.fact("user", "diet", "Vegetarian", args{"scope": "health"})
		b.fact("user", "colour", "Blue", nil)
		b.fact("user", "shop", "Corner", args{"scope": "shopping"})
		b.ask("memory_forget", args{"type": "rule", "id": b.rule("Be brief", nil)})
		b.rule("Ask first", args{"scope": "health"})
		b.episode("Talked.", nil)
		b.advance(3 * time.Hour)
		b.ask("memory_stats", args{"scope": "health"}).want(`{"facts":{"total":3,"active":2,"fading":0,"superseded":1,"expired":0,"retracted":0},` +
			`"rules":{"total":2,"candidate":1,"established":0,"proven":0,"anti_pattern":0,"forgotten":1},` +
			`"episodes":{"total":0,"unconsolidated":0,"expired":0,"backlog_age_hours":0}}`)
		b.ask("memory_stats", nil).want(`{"facts":{"total":4,"active":3,"fading":0,"superseded":1,"expired":0,"retracted":0},` +
			`"rules":{"total":2,"candidate":1,"established":0,"proven":0,"anti_pattern":0,"forgotten":1},` +
			`"episodes":{"total":1,"unconsolidated":1,"expired":0,"backlog_age_hours":3}}`)
	})
}

// TestInstructionsOfTheMemoryFamily name what a model should begin with.
func TestInstructionsOfTheMemoryFamily(t *testing.T) {
	set, err := tool.New(nil, tool.Config{Entries: []tool.Instance{lifecycle}})
	if err != nil {
		t.Fatal(err)
	}
	text := mcp.Instructions(set.Tools())
	if len(strings.Fields(text)) >= 120 || !strings.Contains(text, "Search first (memory_recall, memory_search)") ||
		!strings.Contains(text, "Save (memory_store_episode, memory_store_fact, memory_store_rule)") ||
		!strings.Contains(text, "stored again") || strings.Contains(text, "update or delete") {
		t.Errorf("instructions: %s", text)
	}
}

// People and models ask for the key of a fact, not for its value.
func TestFactsAreFoundByTheirKey(t *testing.T) {
	eachStore(t, func(t *testing.T, b *bench) {
		id := b.ask("memory_store_fact", args{"subject": "user", "predicate": "favorite_color", "content": "blue"}).id("id")
		b.ask("memory_store_fact", args{"subject": "user", "predicate": "homeTown", "content": "Kiel"})
		for _, tool := range []string{"memory_search", "memory_recall"} {
			in := args{"query": "what is my favorite color", "limit": 1}
			if tool == "memory_recall" {
				in = args{"topic": "favorite color", "limit": 1}
			}
			if got := b.ask(tool, in).ids(); !slices.Equal(got, []string{id}) {
				t.Errorf("%s found %v", tool, got)
			}
		}
	})
}
