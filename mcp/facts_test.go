package mcp_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

var facts = tool.Instance{Family: tool.FamilyFacts}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func TestCreateFact(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	first := c.ask("manage_memory", args{"content": "Prefers window seats.", "action": "create"})
	id := first.id("id")
	if !uuid.MatchString(id) {
		t.Errorf("id %q", id)
	}
	first.want("created memory " + id)
	if second := c.ask("manage_memory", args{"content": "Has two cats."}).id("id"); second == id {
		t.Error("two facts have one id")
	}
	if got := c.ask("search_memory", args{"query": "window seats"}).list(); len(got) == 0 || got[0]["key"] != id {
		t.Errorf("search: %v", got)
	}
}

func TestCreateWithIDIsRefused(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	c.ask("manage_memory", args{"content": "x", "id": "01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"}).refused(loci.Invalid,
		"You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.")
}

func TestUpdateFact(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	id := c.ask("manage_memory", args{"content": "Prefers window seats."}).id("id")
	c.ask("manage_memory", args{"content": "Prefers aisle seats.", "action": "update", "id": id}).want("updated memory " + id)
	got := c.ask("search_memory", args{"query": "seats"}).list()
	if len(got) != 1 || property(t, got[0], "value", "content") != "Prefers aisle seats." {
		t.Errorf("after the update: %v", got)
	}
}

func TestUpdateWithoutIDIsRefused(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	c.ask("manage_memory", args{"content": "x", "action": "update"}).refused(loci.Invalid,
		"You must provide a MEMORY ID when deleting or updating a MEMORY.")
}

func TestUpdateOfUnknownFactIsNotFound(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	const id = "01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"
	c.ask("manage_memory", args{"content": "x", "action": "update", "id": id}).refused(loci.NotFound, `no memory with id "`+id+`"`)
}

func TestDeleteFact(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	id := c.ask("manage_memory", args{"content": "Prefers window seats."}).id("id")
	c.ask("manage_memory", args{"action": "delete", "id": id}).want("Deleted memory " + id)
	c.ask("search_memory", args{"query": "window seats"}).want("[]")
	c.ask("manage_memory", args{"action": "delete", "id": id}).refused(loci.NotFound, `no memory with id "`+id+`"`)
}

func TestDeleteWithoutIDIsRefused(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	c.ask("manage_memory", args{"action": "delete"}).refused(loci.Invalid,
		"You must provide a MEMORY ID when deleting or updating a MEMORY.")
}

func TestPermittedActions(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), tool.Instance{Family: tool.FamilyFacts, ActionsPermitted: []string{"create", "update"}})
	enum := property(t, c.schemas()["manage_memory"].InputSchema, "properties", "action", "enum")
	if !reflect.DeepEqual(enum, []any{"create", "update"}) {
		t.Errorf("the schema offers %v", enum)
	}
	id := c.ask("manage_memory", args{"content": "Prefers window seats."}).id("id")
	c.ask("manage_memory", args{"action": "delete", "id": id}).refused(loci.Invalid,
		"Invalid action delete. Must be one of ('create', 'update').")
	if got := c.ask("search_memory", args{"query": "window"}).list(); len(got) != 1 {
		t.Errorf("after the refused delete: %v", got)
	}
}

func TestNoPermittedActionIsRefusedAtConstruction(t *testing.T) {
	_, err := tool.New(newEngine(t), tool.Config{Entries: []tool.Instance{{
		Family:           tool.FamilyFacts,
		ActionsPermitted: []string{},
	}}})
	if err == nil || !strings.Contains(err.Error(), "actions_permitted cannot be empty") {
		t.Errorf("got %v", err)
	}
}

func TestCustomInstructions(t *testing.T) {
	const own = "Call this whenever the user names a restaurant."
	c := dial(t, newEngine(t), alice(t), tool.Instance{Family: tool.FamilyFacts, Instructions: own})
	if d := c.schemas()["manage_memory"].Description; !strings.Contains(d, own) ||
		!strings.HasPrefix(d, "Create, update, or delete a memory to persist across conversations.") {
		t.Errorf("description: %s", d)
	}
}

func TestSearchIsHybridAndRepliesAJSONList(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	byMeaning := c.ask("manage_memory", args{"content": "Likes a dark theme everywhere."}).id("id")
	byWord := c.ask("manage_memory", args{"content": "The zebra deployment is on Tuesday."}).id("id")
	c.ask("manage_memory", args{"content": "Has two cats."})
	for query, want := range map[string]string{
		"night colours":    byMeaning, // no word in common
		"zebra deployment": byWord,    // no meaning the embedder knows
	} {
		got := c.ask("search_memory", args{"query": query, "limit": 10}).list()
		if len(got) == 0 || got[0]["key"] != want {
			t.Errorf("%s: %v", query, got)
			continue
		}
		for _, field := range []string{"namespace", "key", "value", "created_at", "updated_at", "score"} {
			if got[0][field] == nil {
				t.Errorf("%s: no %s in %v", query, field, got[0])
			}
		}
	}
	if got := c.ask("search_memory", args{"query": "dark theme zebra cats", "limit": 1}).list(); len(got) != 1 {
		t.Errorf("limit 1: %v", got)
	}
	if got := c.ask("search_memory", args{"query": "", "limit": 10, "offset": 2}).list(); len(got) != 1 || got[0]["key"] != byMeaning {
		t.Errorf("offset 2: %v", got)
	}
}

func TestFilteredSearch(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts)
	id := c.ask("manage_memory", args{"content": "Prefers window seats.", "metadata": args{"category": "preference", "year": 2024}}).id("id")
	c.ask("manage_memory", args{"content": "Sat in a window seat once.", "metadata": args{"category": "event", "year": 2019}})
	for name, filter := range map[string]args{
		"equal":    {"category": "preference"},
		"operator": {"year": args{"$gte": 2024}},
		"both":     {"category": "preference", "year": args{"$lt": 2030}},
	} {
		got := c.ask("search_memory", args{"query": "window seat", "filter": filter}).list()
		if len(got) != 1 || got[0]["key"] != id {
			t.Errorf("%s: %v", name, got)
		}
	}
	c.ask("search_memory", args{"query": "window", "filter": args{"category": "' OR 1=1 --"}}).want("[]")
	if a := c.ask("search_memory", args{"query": "window", "filter": args{"year": args{"$regex": "2"}}}); !a.isError || a.data["code"] != "invalid" {
		t.Errorf("unknown operator: %+v", a)
	}
}

func TestResponseFormatContentAndArtifact(t *testing.T) {
	engine := newEngine(t)
	c := dial(t, engine, alice(t), tool.Instance{
		Family:         tool.FamilyFacts,
		ResponseFormat: tool.FormatContentAndArtifact,
	})
	id := c.ask("manage_memory", args{"content": "Prefers window seats.", "metadata": args{"category": "preference"}}).id("id")
	a := c.ask("search_memory", args{"query": "window"})
	memories, _ := a.data["memories"].([]any)
	if len(a.list()) != 1 || len(memories) != 1 || property(t, memories[0], "id") != id ||
		property(t, memories[0], "metadata", "category") != "preference" {
		t.Errorf("text %s, raw %v", a.text, a.data)
	}
	plain := dial(t, engine, alice(t), facts)
	if b := plain.ask("search_memory", args{"query": "window"}); b.text != a.text || b.data != nil {
		t.Errorf("content alone: %s, %v", b.text, b.data)
	}
}

func TestNamespaceFromTheConfigurationAtCallTime(t *testing.T) {
	engine := newEngine(t)
	for _, c := range []struct {
		vars loci.Vars
		want []any
	}{
		{loci.Vars{"user_id": "u-123"}, []any{"user", "u-123"}},
		{loci.Vars{"org_id": "acme", "agent_id": "alpha"}, []any{"org", "acme", "alpha"}},
		{loci.Vars{"org_id": "acme"}, []any{"org", "acme"}},
		{loci.Vars{"user_id": "a/b:c", "org_id": "acme"}, []any{"user", "a/b:c"}},
	} {
		cl := dial(t, engine, newPrincipal(t, c.vars), facts)
		id := cl.ask("manage_memory", args{"content": "A fact of " + strings.Join(c.vars.Names(), " ")}).id("id")
		found := false
		for _, hit := range cl.ask("search_memory", args{"query": "fact"}).list() {
			if hit["key"] == id {
				found = reflect.DeepEqual(hit["namespace"], c.want)
			}
		}
		if !found {
			t.Errorf("%v: not found in %v", c.vars, c.want)
		}
	}
}

// TestNamespaceOfEachCall: one connection, and every call names whose memory it is.
func TestNamespaceOfEachCall(t *testing.T) {
	c := dial(t, newEngine(t), newPrincipal(t, nil, loci.ScopeDelegate), facts)
	whose := []struct {
		meta      sdk.Meta
		namespace []any
		id        string
	}{
		{meta: sdk.Meta{"loci/user_id": "u-123"}, namespace: []any{"user", "u-123"}},
		{meta: sdk.Meta{"loci/org_id": "acme", "loci/agent_id": "alpha"}, namespace: []any{"org", "acme", "alpha"}},
		{meta: sdk.Meta{"loci/org_id": "acme"}, namespace: []any{"org", "acme"}},
		{meta: sdk.Meta{"loci/user_id": "a/b:c"}, namespace: []any{"user", "a/b:c"}},
	}
	for i := range whose {
		whose[i].id = c.ask(
			"manage_memory",
			args{"content": fmt.Sprint("A fact of caller ", i)},
			whose[i].meta,
		).id("id")
	}
	for round := range 2 { // nothing of a call is left for the next one
		for i, w := range whose {
			found := map[any]any{}
			for _, hit := range c.ask("search_memory", args{"query": "fact"}, w.meta).list() {
				found[hit["key"]] = hit["namespace"]
			}
			for k, other := range whose {
				below := len(other.namespace) >= len(w.namespace) &&
					reflect.DeepEqual(other.namespace[:len(w.namespace)], w.namespace)
				if got, there := found[other.id]; there != below || there && !reflect.DeepEqual(got, other.namespace) {
					t.Errorf("round %d: call %d finds the fact of call %d in %v: %v", round, i, k, got, there)
				}
			}
		}
	}
}

func TestFactsOfOneUserAreInvisibleToAnother(t *testing.T) {
	engine := newEngine(t)
	a, b := dial(t, engine, alice(t), facts), dial(t, engine, newPrincipal(t, loci.Vars{loci.VarUser: "bob"}), facts)
	id := a.ask("manage_memory", args{"content": "Prefers window seats."}).id("id")
	b.ask("search_memory", args{"query": "window seats"}).want("[]")
	unknown := `no memory with id "` + id + `"`
	b.ask("manage_memory", args{"action": "update", "id": id, "content": "x"}).refused(loci.NotFound, unknown)
	b.ask("manage_memory", args{"action": "delete", "id": id}).refused(loci.NotFound, unknown)
	if got := a.ask("search_memory", args{"query": "window seats"}).list(); len(got) != 1 {
		t.Errorf("alice: %v", got)
	}
}

func TestNamespaceTemplate(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), tool.Instance{Family: tool.FamilyFacts, Namespace: []string{"{user_id}", "memories"}})
	c.ask("manage_memory", args{"content": "Prefers window seats."})
	got := c.ask("search_memory", args{"query": "window"}).list()
	if len(got) != 1 || !reflect.DeepEqual(got[0]["namespace"], []any{"alice", "memories"}) {
		t.Errorf("got %v", got)
	}
}

func TestMissingConfigurationKeyAborts(t *testing.T) {
	c := dial(t, newEngine(t), newPrincipal(t, loci.Vars{loci.VarOrg: "acme"}),
		tool.Instance{Family: tool.FamilyFacts, Namespace: []string{"{user_id}", "memories"}})
	for name, in := range map[string]args{"manage_memory": {"content": "x"}, "search_memory": {"query": "x"}} {
		_, err := c.try(name, in)
		e := protocolError(t, err, -32602, "ConfigurationError: Missing key in 'configurable' field: user_id. Available keys: ['org_id']")
		if want := `{"type":"ConfigurationError","key":"user_id","available":["org_id"]}`; string(e.Data) != want {
			t.Errorf("data %s, want %s", e.Data, want)
		}
	}
}

// TestKeyedFactsKeepTheirKey: a fact of the family memory is shown with its key by the
// other families, too, and what a model sees can be corrected without doubling the key.
func TestKeyedFactsKeepTheirKey(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), facts, tool.Instance{Family: tool.FamilyNotes}, tool.Instance{Tool: "memory_store_fact"})
	id := c.ask("memory_store_fact", args{"subject": "user", "predicate": "favorite_color", "content": "blue"}).id("id")
	value := property(t, c.ask("search_memory", args{"query": "favorite color", "filter": args{"subject": "user"}}).list()[0], "value")
	want := map[string]any{"content": "blue", "subject": "user", "predicate": "favorite_color"}
	if !reflect.DeepEqual(value, any(want)) {
		t.Errorf("search_memory: %v", value)
	}
	c.ask("search_memory", args{"query": "", "filter": args{"predicate": "home"}}).want("[]")
	note := func() any {
		t.Helper()
		return property(t, c.ask("memory_search", args{"query": "favorite color"}).list()[0], "text")
	}
	if got := note(); got != "[user] [favorite_color]: blue" {
		t.Errorf("memory_search of notes: %v", got)
	}
	c.ask("memory_update", args{"note_id": "note-" + id, "content": "[user] [favorite_color]: green"})
	if got := note(); got != "[user] [favorite_color]: green" {
		t.Errorf("after the update of what was shown: %v", got)
	}
	c.ask("manage_memory", args{"action": "update", "id": id, "content": "grey"})
	if got := note(); got != "[user] [favorite_color]: grey" {
		t.Errorf("after the update by another family: %v", got)
	}
}

// TestKeysAreFencedInTexts: a key that is Markdown, or has brackets, stays a key on one line.
func TestKeysAreFencedInTexts(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), tool.Instance{Family: tool.FamilyNotes}, tool.Instance{Tool: "memory_store_fact"})
	c.ask("memory_store_fact", args{"subject": "# Key Facts", "predicate": "a] [b]: c\n## Active Rules", "content": "blue"})
	got := property(t, c.ask("memory_search", args{"query": "key facts"}).list()[0], "text")
	if got != "[# Key Facts] [a) (b): c ## Active Rules]: blue" {
		t.Errorf("text: %q", got)
	}
}
