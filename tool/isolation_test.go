package tool

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// Identifiers that a careless join, fold or normalisation would confuse.
var oddUsers = []string{"a:b", "a/b", "a%", "a%2Fb", "a", "A", "a_", "a*", "b", ":b", "a:", " a", "user", "{user_id}",
	"Jos\u00e9", "Jose\u0301", "a\u200b", "*", "%", "'; --", "..", "a.b"}

// No user reads, changes or removes what another one stored, whatever their ids are.
func TestUsersAreIsolated(t *testing.T) {
	set := newSet(t, bothFamilies...)
	facts, ids := map[string]string{}, map[string]string{}
	for i, name := range oddUsers {
		u := user(t, name)
		facts[name] = create(t, set, u, object("content", "secret fact of "+strings.Repeat("x", i+1)))
		ids[name] = save(t, set, u, "secret note of "+strings.Repeat("x", i+1))
	}
	for i, name := range oddUsers {
		u := user(t, name)
		own := []string{"secret fact of " + strings.Repeat("x", i+1), "secret note of " + strings.Repeat("x", i+1)}
		check := func() {
			t.Helper()
			for _, args := range []string{`{"query":"secret fact note","limit":100}`, `{"query":"","limit":100}`} {
				got := contents(t, search(t, set, u, args))
				if len(got) != 2 || !strings.HasSuffix(got[0], own[0][14:]) || !strings.HasSuffix(got[1], own[0][14:]) {
					t.Fatalf("%q finds %q", name, got)
				}
			}
			if hits := notes(t, set, u, `{"query":"secret","top_k":20}`); len(hits) != 2 {
				t.Fatalf("%q finds %+v", name, hits)
			}
		}
		check()
		for _, other := range oddUsers {
			if other == name {
				continue
			}
			o := user(t, other)
			refused(t, set, "memory_update", o, object("note_id", ids[name], "content", "mine"), loci.NotFound, "note `"+ids[name]+"` not found")
			refused(t, set, "memory_delete", o, object("note_id", ids[name]), loci.NotFound, "note `"+ids[name]+"` not found")
			refused(t, set, "manage_memory", o, object("action", "update", "id", facts[name], "content", "mine"), loci.NotFound, `no memory with id "`+facts[name]+`"`)
			refused(t, set, "manage_memory", o, object("action", "delete", "id", facts[name]), loci.NotFound, `no memory with id "`+facts[name]+`"`)
		}
		check()
	}
}

// The same user id in another tenant is another user.
func TestTenantsAreIsolated(t *testing.T) {
	set := newSet(t, bothFamilies...)
	u := user(t, "u-1")
	id := save(t, set, u, "secret")
	tenant, err := loci.NewTenant("T1")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loci.NewPrincipal(tenant, "key-1", loci.Vars{"user_id": "u-1"}, loci.Scopes...)
	if err != nil {
		t.Fatal(err)
	}
	o := Caller{Principal: p}
	same(t, "notes", texts(notes(t, set, o, `{"query":"secret"}`)), nil)
	same(t, "facts", contents(t, search(t, set, o, `{"query":""}`)), nil)
	refused(t, set, "memory_delete", o, object("note_id", id), loci.NotFound, "note `"+id+"` not found")
	same(t, "still there", texts(notes(t, set, u, `{"query":"secret"}`)), []string{"secret"})
}

func TestScopes(t *testing.T) {
	set := newSet(t, bothFamilies...)
	id := save(t, set, user(t, "u-1"), "x")
	every := []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}
	for _, c := range []struct {
		tool, args, message string
		needs               loci.Scope
	}{
		{"search_memory", `{"query":"x"}`, `search_memory needs the scope "read", which this credential lacks`, loci.ScopeRead},
		{"memory_search", `{"query":"x"}`, `memory_search needs the scope "read", which this credential lacks`, loci.ScopeRead},
		{"memory_save", `{"content":"y"}`, `memory_save needs the scope "write", which this credential lacks`, loci.ScopeWrite},
		{"memory_update", object("note_id", id, "content", "y"), `memory_update needs the scope "write", which this credential lacks`, loci.ScopeWrite},
		{"memory_delete", object("note_id", id), `memory_delete needs the scope "delete", which this credential lacks`, loci.ScopeDelete},
		{"manage_memory", `{"content":"y"}`, `this credential lacks the scope "write"`, loci.ScopeWrite},
		{"manage_memory", object("action", "update", "id", id[5:], "content", "y"), `this credential lacks the scope "write"`, loci.ScopeWrite},
		{"manage_memory", object("action", "delete", "id", id[5:]), `this credential lacks the scope "delete"`, loci.ScopeDelete},
	} {
		var others []loci.Scope
		for _, s := range every {
			if s != c.needs {
				others = append(others, s)
			}
		}
		refused(t, set, c.tool, user(t, "u-1", append(others, loci.ScopeAdmin, loci.ScopeElevate, loci.ScopeDelegate)...),
			c.args, loci.Forbidden, c.message)
	}
	refused(t, set, "manage_memory", user(t, "u-1", loci.ScopeRead), `{}`, loci.Forbidden,
		`manage_memory needs the scope "write" or "delete", which this credential lacks`)
	refused(t, set, "manage_memory", Caller{}, `{}`, loci.Forbidden, `manage_memory needs the scope "write" or "delete", which this credential lacks`)
	same(t, "unchanged", texts(notes(t, set, user(t, "u-1", loci.ScopeRead), `{"query":"x"}`)), []string{"x"})
}

// While a tenant is suspended its callers hear that, and not that their credential lacks a scope,
// which another one would lack, too. What may be done without the taken scopes goes on.
func TestCallersOfASuspendedTenant(t *testing.T) {
	set := newSet(t, append(slices.Clone(bothFamilies), Instance{Tool: "memory", Family: FamilyFiles, Name: "files"})...)
	suspended := func(held ...loci.Scope) Caller {
		c := user(t, "u-1", held...)
		c.Principal = c.Principal.Suspended(loci.ScopeWrite, loci.ScopeDelete)
		return c
	}
	all := suspended(loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)
	const message = "this tenant is suspended: its callers may only read"
	for name, args := range map[string]string{
		"memory_save": `{"content":"y"}`, "memory_delete": `{"note_id":"x"}`, "manage_memory": `{"content":"y"}`,
	} {
		refused(t, set, name, all, args, loci.Forbidden, message)
		tool, _ := set.Lookup(name)
		_, err := tool.Call(t.Context(), all, []byte(args))
		if lacking := (*loci.ScopeError)(nil); errors.As(err, &lacking) || loci.AsError(err).Advice() != "Ask the operator of the server." {
			t.Errorf("%s sends the caller for another credential: %v", name, err)
		}
	}
	refused(t, set, "memory_save", suspended(loci.ScopeRead), `{"content":"y"}`, loci.Forbidden,
		`memory_save needs the scope "write", which this credential lacks`)
	same(t, "read", texts(notes(t, set, all, `{"query":"x"}`)), []string{})
	if reply := ok(t, set, "files", all, `{"path":"/","command":"list"}`); reply.Err != nil {
		t.Errorf("a tool that reads and writes lists nothing: %v", reply.Err)
	}
}

// The record says who stored a memory, for which request and from where.
func TestCallerIsRecorded(t *testing.T) {
	store := memory.Open()
	defer store.Close()
	engine, err := loci.New(store, &loci.Options{Features: locitest.Features(), Embedder: words{}})
	if err != nil {
		t.Fatal(err)
	}
	set := setOver(t, engine, Config{Entries: bothFamilies})
	u := user(t, "u-1")
	u.RequestID, u.Client = "req-7", "desk/1.0"+strings.Repeat("!", 1000)
	id := save(t, set, u, "x")
	ok(t, set, "memory_update", u, object("note_id", id, "content", "y"))
	ok(t, set, "memory_delete", u, object("note_id", id))
	m, err := engine.Memory(loci.View{Tenant: u.Principal.Tenant(), Namespace: loci.Namespace{"user", "u-1"}, Actor: "audit"})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, string(e.Type))
		if e.Actor != "key-1" || e.RequestID != "req-7" || notePrefix+e.Entity.String() != id {
			t.Errorf("event %+v", e)
		}
	}
	same(t, "events", types, []string{"erased", "updated", "created"})

	id = create(t, set, u, `{"content":"z"}`)
	fact, err := m.Fact(t.Context(), must(loci.ParseID(id)))
	if err != nil {
		t.Fatal(err)
	}
	if want := (loci.Source{Kind: "agent", Client: u.Client[:256], Tool: "manage_memory"}); fact.Source != want {
		t.Errorf("source %+v", fact.Source)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A write that is repeated under its key is done once, whichever tool it is.
func TestIdempotency(t *testing.T) {
	set := setOver(t, newEngine(t, loci.Options{
		Content: loci.ContentOptions{KeepDuplicates: true},
	}), Config{Entries: bothFamilies})
	key := func(k string) Caller {
		u := user(t, "u-1")
		u.IdempotencyKey = k
		return u
	}
	id := save(t, set, key("k1"), "tea")
	if again := save(t, set, key("k1"), "tea"); again != id {
		t.Errorf("%s, again %s", id, again)
	}
	fact := create(t, set, key("k2"), `{"content":"tea"}`)
	if again := create(t, set, key("k2"), `{"content":"tea"}`); again != fact || fact == id[5:] {
		t.Errorf("%s, again %s", fact, again)
	}
	refused(t, set, "memory_save", key("k1"), `{"content":"milk"}`, loci.Conflict, "this idempotency key was used for another request")
	refused(t, set, "memory_delete", key("k1"), object("note_id", id), loci.Conflict, "this idempotency key was used for another request")
	for range 2 { // the second is answered from memory, though nothing is left to erase
		ok(t, set, "memory_delete", key("k3"), object("note_id", id))
		ok(t, set, "manage_memory", key("k4"), object("action", "delete", "id", fact))
	}
	refused(t, set, "memory_delete", key("k5"), object("note_id", id), loci.NotFound, "note `"+id+"` not found")
	// Another user's key is another key.
	o := user(t, "u-2")
	o.IdempotencyKey = "k1"
	save(t, set, o, "milk")
}

func TestSecretsAreScrubbed(t *testing.T) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	engine, u := newEngine(t, loci.Options{Content: loci.ContentOptions{KeepSecrets: true}}), user(t, "u-1")
	entries := []Instance{{Family: FamilyFacts, ResponseFormat: FormatContentAndArtifact}, {Family: FamilyNotes}}
	set := setOver(t, engine, Config{Entries: entries})
	id := create(t, set, u, object("content", "token "+token, "metadata", map[string]any{"also": []string{token}, token: 1}))
	create(t, set, u, object("content", map[string]any{"token": token}))
	save(t, set, u, "note "+token, token)
	put(t, engine, u, loci.Namespace{"user", "u-1"}, "item", object("token", token))
	keeping := setOver(t, engine, Config{Entries: entries, KeepSecrets: true})
	for _, c := range [][2]string{{"search_memory", `{"query":"token"}`}, {"search_memory", `{"query":""}`}, {"memory_search", `{"query":"note"}`}} {
		r := ok(t, set, c[0], u, c[1])
		all := strings.ToLower(r.Text + string(r.Structured))
		if strings.Contains(all, strings.ToLower(token)) || !strings.Contains(all, "[redacted]") {
			t.Errorf("%s shows a secret: %s %s", c[0], r.Text, r.Structured)
		}
		if !strings.Contains(r.Text, id) {
			t.Errorf("%s: our own id is gone: %s", c[0], r.Text)
		}
		if r := ok(t, keeping, c[0], u, c[1]); !strings.Contains(r.Text, token) {
			t.Errorf("%s: %s", c[0], r.Text)
		}
	}
}

// A secret that lies across the border of two passages is in neither.
func TestSecretAcrossPassages(t *testing.T) {
	var body strings.Builder
	for i := range 30 {
		body.WriteString(strings.Repeat(string(rune('A'+i%26)), 63) + "x\n")
	}
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + body.String() + "-----END RSA PRIVATE KEY-----"
	set, u := setOver(t, newEngine(t, loci.Options{
		Content: loci.ContentOptions{KeepSecrets: true},
	}), Config{ReplyCap: 1024, Entries: bothFamilies}), user(t, "u-1")
	save(t, set, u, "The key of the old server is here.\n"+key+"\nIt was replaced in May. "+strings.Repeat("Nothing else is known. ", 100))
	for _, query := range []string{"old server", "replaced in May", strings.Repeat("F", 63) + "x"} {
		shown := texts(notes(t, set, u, object("query", query)))
		excerpts := search(t, set, u, object("query", query))
		if len(shown) != 1 || len(excerpts) != 1 || !excerpts[0].Excerpt {
			t.Fatalf("%q finds %q and %+v", query, shown, excerpts)
		}
		shown = append(shown, string(excerpts[0].Value))
		for line := range strings.Lines(body.String()) {
			for _, text := range shown {
				if strings.Contains(text, strings.TrimSpace(line)) {
					t.Fatalf("%q shows a part of the key: %s", query, text)
				}
			}
		}
	}
}
