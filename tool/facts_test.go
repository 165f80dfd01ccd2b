package tool

import (
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

const someID = "01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77"

func TestCreateNewFact(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	id := create(t, set, u, `{"content":"Prefers dark mode","action":"create"}`)
	same(t, "stored", contents(t, search(t, set, u, `{"query":"dark mode"}`)), []string{"Prefers dark mode"})
	if byDefault := create(t, set, u, `{"content":"Lives in Rome"}`); byDefault == id {
		t.Fatal("two facts have one id")
	}
	reply := ok(t, set, "manage_memory", u, `{"content":"Likes tea"}`)
	want := regexp.MustCompile(`^\{"action":"create","id":"([0-9a-f-]{36})","message":"created memory ([0-9a-f-]{36})"\}$`)
	if m := want.FindStringSubmatch(string(reply.Structured)); m == nil || m[1] != m[2] || reply.Text != "created memory "+m[1] {
		t.Fatalf("text %q, structured %s", reply.Text, reply.Structured)
	}
	// The words of the reply are fixed; that nothing was created is in its structured form.
	id = want.FindStringSubmatch(string(reply.Structured))[1]
	again := ok(t, set, "manage_memory", u, `{"content":"likes  TEA"}`)
	if again.Text != "created memory "+id ||
		string(
			again.Structured,
		) != `{"action":"create","id":"`+id+`","message":"created memory `+id+`","outcome":"duplicate_of"}` {
		t.Errorf("the same again: text %q, structured %s", again.Text, again.Structured)
	}
	create(t, set, u, `{"content":"Drives a Fiat","metadata":{"category":"car"}}`)
	same(t, "stored with metadata", contents(t, search(t, set, u, `{"query":"Fiat","filter":{"category":"car"}}`)), []string{"Drives a Fiat"})
	refused(t, set, "manage_memory", u, `{}`, loci.Invalid, "content must not be empty")
	refused(t, set, "manage_memory", u, `{"content":" \n"}`, loci.Invalid, "content must not be empty")
	refused(t, set, "manage_memory", u, object("content", "x", "id", someID), loci.Invalid,
		"You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.")
}

func TestCreateStructuredContent(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	create(t, set, u, `{"content":{"city":"Rome","visits":3}}`)
	create(t, set, u, `{"content":{"city":"Oslo","visits":1}}`)
	got := contents(t, search(t, set, u, `{"query":"","filter":{"visits":{"$gte":2}}}`))
	same(t, "by a key of the content", got, []string{`{"content":{"city":"Rome","visits":3}}`})
	got = contents(t, search(t, set, u, `{"query":"Oslo","limit":1}`))
	same(t, "by a word of the content", got, []string{`{"content":{"city":"Oslo","visits":1}}`})
	refused(t, set, "manage_memory", u, `{"content":{}}`, loci.Invalid, "content must be a text or a non-empty JSON object")
}

func TestUpdateExistingFact(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	id := create(t, set, u, `{"content":"Prefers dark mode","metadata":{"category":"preference"}}`)
	reply := ok(t, set, "manage_memory", u, object("action", "update", "id", id, "content", "Prefers light mode"))
	if reply.Text != "updated memory "+id || string(reply.Structured) != object("action", "update", "id", id, "message", reply.Text) {
		t.Fatalf("text %q, structured %s", reply.Text, reply.Structured)
	}
	all := search(t, set, u, `{"query":"mode","filter":{"category":"preference"}}`)
	same(t, "after the update", contents(t, all), []string{"Prefers light mode"})

	ok(t, set, "manage_memory", u, object("action", "update", "id", id, "metadata", map[string]any{"category": "display"}))
	all = search(t, set, u, `{"query":"","filter":{"category":"display"}}`)
	same(t, "metadata alone", contents(t, all), []string{"Prefers light mode"})
	ok(t, set, "manage_memory", u, object("action", "update", "id", id, "content", map[string]any{"mode": "auto"}))
	all = search(t, set, u, `{"query":"","filter":{"mode":"auto"}}`)
	same(t, "a text becomes an object", contents(t, all), []string{`{"content":{"mode":"auto"}}`})
	ok(t, set, "manage_memory", u, object("action", "update", "id", strings.ToUpper(id), "content", "Plain again", "metadata", map[string]any{}))
	all = search(t, set, u, `{"query":""}`)
	if string(all[0].Value) != `{"content":"Plain again"}` {
		t.Fatalf("an object becomes a text and metadata goes: %s", all[0].Value)
	}

	refused(t, set, "manage_memory", u, `{"action":"update","content":"x"}`, loci.Invalid,
		"You must provide a MEMORY ID when deleting or updating a MEMORY.")
	refused(t, set, "manage_memory", u, object("action", "update", "id", id), loci.Invalid,
		"nothing to update: pass content, metadata or both")
	refused(t, set, "manage_memory", u, object("action", "update", "id", id, "content", ""), loci.Invalid, "content must not be empty")
	for _, unknown := range []string{someID, "42", "note-" + id, "' OR 1=1", strings.Repeat("é", 101)} {
		refused(t, set, "manage_memory", u, object("action", "update", "id", unknown, "content", "x"), loci.NotFound,
			`no memory with id "`+clip(unknown, 100)+`"`)
	}
}

func TestDeleteFact(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	id := create(t, set, u, `{"content":"Prefers dark mode"}`)
	reply := ok(t, set, "manage_memory", u, object("action", "delete", "id", id))
	if reply.Text != "Deleted memory "+id {
		t.Fatalf("text %q", reply.Text)
	}
	same(t, "after the delete", contents(t, search(t, set, u, `{"query":"dark mode"}`)), nil)
	refused(t, set, "manage_memory", u, object("action", "delete", "id", id), loci.NotFound, `no memory with id "`+id+`"`)
	refused(t, set, "manage_memory", u, `{"action":"delete","id":"42"}`, loci.NotFound, `no memory with id "42"`)
	refused(t, set, "manage_memory", u, `{"action":"delete"}`, loci.Invalid, "You must provide a MEMORY ID when deleting or updating a MEMORY.")
}

func TestPermittedActions(t *testing.T) {
	u := user(t, "u-1")
	set := newSet(t, Instance{Family: FamilyFacts, ActionsPermitted: []string{"create", "update"}})
	id := create(t, set, u, `{"content":"x"}`)
	refused(t, set, "manage_memory", u, object("action", "delete", "id", id), loci.Invalid, "Invalid action delete. Must be one of ('create', 'update').")
	// A refused action is reported before any other fault.
	refused(t, set, "manage_memory", u, `{"action":"delete"}`, loci.Invalid, "Invalid action delete. Must be one of ('create', 'update').")
	same(t, "still there", contents(t, search(t, set, u, `{"query":""}`)), []string{"x"})

	all := newSet(t, factsFamily)
	refused(t, all, "manage_memory", u, `{"action":"drop"}`, loci.Invalid, "Invalid action drop. Must be one of ('create', 'update', 'delete').")
	refused(t, all, "manage_memory", u, `{"action":""}`, loci.Invalid, "Invalid action . Must be one of ('create', 'update', 'delete').")

	// Without create, the first permitted action is the default.
	remover := newSet(t, Instance{Tool: "manage_memory", ActionsPermitted: []string{"delete"}})
	refused(t, remover, "manage_memory", u, object("id", someID), loci.NotFound, `no memory with id "`+someID+`"`)
	refused(t, remover, "manage_memory", u, `{"action":"create","content":"x"}`, loci.Invalid, "Invalid action create. Must be one of ('delete',).")
	swapped := newSet(t, Instance{Tool: "manage_memory", ActionsPermitted: []string{"delete", "create"}})
	create(t, swapped, u, `{"content":"create is the default wherever it stands"}`)

	for _, c := range []struct {
		actions     []string
		destructive bool
	}{{[]string{"create"}, false}, {[]string{"create", "update"}, true}, {[]string{"delete"}, true}, {nil, true}} {
		set := newSet(t, Instance{Family: FamilyFacts, ActionsPermitted: c.actions})
		if tool, _ := set.Lookup("manage_memory"); tool.Annotations.Destructive != c.destructive || tool.Annotations.ReadOnly {
			t.Errorf("%v: annotations %+v", c.actions, tool.Annotations)
		}
	}
}

func TestCustomInstructions(t *testing.T) {
	const mine = "Store only allergies."
	set := newSet(t, Instance{Family: FamilyFacts, Instructions: mine})
	manage, _ := set.Lookup("manage_memory")
	find, _ := set.Lookup("search_memory")
	if !strings.HasSuffix(manage.Description, mine) || strings.Contains(manage.Description, "Never store") {
		t.Errorf("description %q", manage.Description)
	}
	if strings.Contains(find.Description, mine) {
		t.Errorf("instructions for storing went to the search: %q", find.Description)
	}
	set = newSet(t, Instance{Tool: "search_memory", Instructions: mine})
	if find, _ = set.Lookup("search_memory"); !strings.HasSuffix(find.Description, mine) {
		t.Errorf("description %q", find.Description)
	}
}

func TestRuntimeNamespace(t *testing.T) {
	set := newSet(t, factsFamily)
	for _, c := range []struct {
		vars loci.Vars
		want loci.Namespace
	}{
		{loci.Vars{"user_id": "u-123"}, loci.Namespace{"user", "u-123"}},
		{loci.Vars{"org_id": "acme", "agent_id": "alpha"}, loci.Namespace{"org", "acme", "alpha"}},
		{loci.Vars{"org_id": "other"}, loci.Namespace{"org", "other"}},
	} {
		who := caller(t, c.vars)
		create(t, set, who, `{"content":"Where am I?"}`)
		if got := search(t, set, who, `{"query":"Where"}`); len(got) != 1 || !got[0].Namespace.Equal(c.want) {
			t.Errorf("%v: %+v", c.vars, got)
		}
	}
	misconfigured(t, set, caller(t, loci.Vars{"butler": "b"}),
		"ConfigurationError: Missing key in 'configurable' field: user_id. Available keys: ['butler']")
}

func TestNamespaceTemplate(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyFacts, Namespace: []string{"{user_id}", "memories"}})
	u := user(t, "u-123")
	create(t, set, u, `{"content":"Where am I?"}`)
	if got := search(t, set, u, `{"query":"Where"}`); len(got) != 1 || !got[0].Namespace.Equal(loci.Namespace{"u-123", "memories"}) {
		t.Errorf("%+v", got)
	}
	misconfigured(t, set, caller(t, loci.Vars{"org_id": "acme"}),
		"ConfigurationError: Missing key in 'configurable' field: user_id. Available keys: ['org_id']")
}

// misconfigured checks that both tools abort with a configuration error.
func misconfigured(t *testing.T, set *Set, c Caller, message string) {
	t.Helper()
	for name, args := range map[string]string{"manage_memory": `{"content":"x"}`, "search_memory": `{"query":"x"}`} {
		tool, _ := set.Lookup(name)
		_, err := tool.Call(t.Context(), c, []byte(args))
		if _, unchanged := err.(*loci.ConfigurationError); !unchanged || err.Error() != message {
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}
