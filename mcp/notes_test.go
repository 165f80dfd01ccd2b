package mcp_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
)

var notes = tool.Instance{Family: tool.FamilyNotes}

func TestNoteToolsAndTheirArguments(t *testing.T) {
	schemas := dial(t, newEngine(t), alice(t), notes).schemas()
	for name, want := range map[string]struct{ properties, required []string }{
		"memory_search": {[]string{"filter", "include_conversation", "min_score", "query", "since", "tags", "top_k", "until"}, []string{"query"}},
		"memory_save":   {[]string{"content", "tags"}, []string{"content"}},
		"memory_update": {[]string{"content", "note_id"}, []string{"content", "note_id"}},
		"memory_delete": {[]string{"note_id"}, []string{"note_id"}},
	} {
		s := schemas[name]
		if s == nil {
			t.Errorf("no tool %s", name)
			continue
		}
		var properties, required []string
		for p := range property(t, s.InputSchema, "properties").(map[string]any) {
			properties = append(properties, p)
		}
		for _, r := range property(t, s.InputSchema, "required").([]any) {
			required = append(required, r.(string))
		}
		slices.Sort(properties)
		slices.Sort(required)
		if !slices.Equal(properties, want.properties) || !slices.Equal(required, want.required) {
			t.Errorf("%s: arguments %v, required %v", name, properties, required)
		}
	}
	top := property(t, schemas["memory_search"].InputSchema, "properties", "top_k")
	if property(t, top, "default") != 5.0 || property(t, top, "minimum") != 1.0 || property(t, top, "maximum") != 20.0 {
		t.Errorf("top_k: %v", top)
	}
}

func TestNoteToolAnnotations(t *testing.T) {
	for name, s := range dial(t, newEngine(t), alice(t), notes).schemas() {
		a := s.Annotations
		if a.ReadOnlyHint != (name == "memory_search") {
			t.Errorf("%s: read only: %v", name, a.ReadOnlyHint)
		}
		if destroys := name == "memory_update" || name == "memory_delete"; a.DestructiveHint == nil || *a.DestructiveHint != destroys {
			t.Errorf("%s: destructive: %v", name, a.DestructiveHint)
		}
		if a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: open world", name)
		}
	}
}

func TestNoteDescriptionsGuideTheModel(t *testing.T) {
	schemas := dial(t, newEngine(t), alice(t), notes).schemas()
	for name, words := range map[string][]string{
		"memory_search": {"Use this when you need to recall user preferences", "include_conversation"},
		"memory_save":   {"Use this proactively", "Returns a note_id"},
		"memory_update": {"First use memory_search"},
		"memory_delete": {"forget", "First use memory_search"},
	} {
		for _, w := range words {
			if !strings.Contains(schemas[name].Description, w) {
				t.Errorf("%s does not say %q", name, w)
			}
		}
	}
}

func TestSaveNote(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	a := c.ask("memory_save", args{"content": "User likes chocolates."})
	id := a.id("note_id")
	if !strings.HasPrefix(id, "note-") || !uuid.MatchString(strings.TrimPrefix(id, "note-")) {
		t.Errorf("note_id %q", id)
	}
	a.want(`{"note_id":"` + id + `","message":"Note saved successfully."}`)
	c.ask("memory_save", args{"content": "  \n"}).refused(loci.Invalid, "content must not be empty")
}

func TestSearchNotes(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	id := c.ask("memory_save", args{"content": "User likes chocolates."}).id("note_id")
	c.ask("memory_save", args{"content": "The deployment is on Tuesday."})
	for _, query := range []string{"chocolates", "sweets"} { // by word, and by meaning alone
		hits := c.ask("memory_search", args{"query": query}).list()
		if len(hits) == 0 || hits[0]["note_id"] != id || hits[0]["text"] != "User likes chocolates." || hits[0]["source"] != "user_memory" {
			t.Fatalf("%s: %v", query, hits)
		}
		for _, h := range hits {
			if score, ok := h["score"].(float64); !ok || score < 0 || score > 1 {
				t.Errorf("%s: score %v", query, h["score"])
			}
		}
	}
}

func TestSearchNotesReturnsAtMostTopK(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	for i := range 25 {
		c.ask("memory_save", args{"content": fmt.Sprintf("Note %d about chocolates.", i)})
	}
	for want, in := range map[int]args{5: {"query": "chocolates"}, 1: {"query": "chocolates", "top_k": 1}, 20: {"query": "chocolates", "top_k": 20}} {
		if got := len(c.ask("memory_search", in).list()); got != want {
			t.Errorf("%v: %d hits", in, got)
		}
	}
	for _, k := range []int{0, -1, 21} {
		if a := c.ask("memory_search", args{"query": "chocolates", "top_k": k}); !a.isError || a.data["code"] != "invalid" {
			t.Errorf("top_k %d: %+v", k, a)
		}
	}
}

func TestSearchNotesWithConversation(t *testing.T) {
	engine, who := newEngine(t), alice(t)
	c := dial(t, engine, who, notes)
	id := c.ask("memory_save", args{"content": "User likes chocolates."}).id("note_id")
	in := args{"query": "chocolates", "include_conversation": true}
	if hits := c.ask("memory_search", in).list(); len(hits) != 1 {
		t.Errorf("notes come without a session, too: %v", hits)
	}
	m, err := engine.Memory(loci.View{
		Tenant:    who.Tenant(),
		Namespace: loci.Namespace{"user", who.Var(loci.VarUser)},
		Actor:     "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	said, err := session.ParseMessages([]byte(`[{"role":"user","content":"No more chocolates for me."}]`))
	if err == nil {
		_, err = session.Of(m).Append(t.Context(), "tui", said)
	}
	if err != nil {
		t.Fatal(err)
	}
	hits := c.ask("memory_search", in, sdk.Meta{"loci/session_id": "tui"}).list()
	sources := map[any]any{}
	for _, hit := range hits {
		sources[hit["source"]] = hit["note_id"]
	}
	if len(hits) != 2 || sources["user_memory"] != id || sources["conversation"] != "" {
		t.Errorf("hits %v", hits)
	}
	if hits := c.ask("memory_search", in, sdk.Meta{"loci/session_id": "other"}).list(); len(hits) != 1 {
		t.Errorf("of another session: %v", hits)
	}
}

func TestUpdateNote(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	id := c.ask("memory_save", args{"content": "User likes chocolates."}).id("note_id")
	c.ask("memory_update", args{"note_id": id, "content": "User is allergic to chocolates."}).
		want(`{"note_id":"` + id + `","message":"Note updated successfully."}`)
	hits := c.ask("memory_search", args{"query": "chocolates"}).list()
	if len(hits) != 1 || hits[0]["note_id"] != id || hits[0]["text"] != "User is allergic to chocolates." {
		t.Errorf("got %v", hits)
	}
}

func TestUpdateAndDeleteOfUnknownNotesAreRefused(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	for _, id := range []string{"note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77", "note-x", "", "'; DROP TABLE notes; --"} {
		c.ask("memory_update", args{"note_id": id, "content": "x"}).refused(loci.NotFound, "note `"+id+"` not found")
		c.ask("memory_delete", args{"note_id": id}).refused(loci.NotFound, "note `"+id+"` not found")
	}
}

func TestDeleteNote(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	id := c.ask("memory_save", args{"content": "User likes chocolates."}).id("note_id")
	c.ask("memory_delete", args{"note_id": id}).want(`{"note_id":"` + id + `","message":"Note deleted successfully."}`)
	c.ask("memory_search", args{"query": "chocolates"}).want("[]")
	c.ask("memory_delete", args{"note_id": id}).refused(loci.NotFound, "note `"+id+"` not found")
}

func TestNotesWithoutMemoryAreRefusedClearly(t *testing.T) {
	c := dial(t, nil, alice(t), notes)
	for name, in := range map[string]args{"memory_search": {"query": "x"}, "memory_save": {"content": "x"},
		"memory_update": {"note_id": "note-x", "content": "x"}, "memory_delete": {"note_id": "note-x"}} {
		if a := c.ask(name, in); !a.isError || a.text != "memory is not configured" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestNotesWithoutUserAreRefused(t *testing.T) {
	c := dial(t, newEngine(t), newPrincipal(t, loci.Vars{loci.VarOrg: "acme"}), notes)
	c.ask("memory_save", args{"content": "x"}).refused(loci.Forbidden, "user context is not available")
}

func TestNotesOfOneUserAreInvisibleToAnother(t *testing.T) {
	engine := newEngine(t)
	a := dial(t, engine, newPrincipal(t, loci.Vars{loci.VarUser: "a"}), notes)
	for _, name := range []string{"b", "A", "a ", "a:b", "user", "a/"} { // byte for byte, nothing folded or joined
		b := dial(t, engine, newPrincipal(t, loci.Vars{loci.VarUser: name}), notes)
		id := a.ask("memory_save", args{"content": "Chocolates of a, not of " + name}).id("note_id")
		b.ask("memory_search", args{"query": "chocolates"}).want("[]")
		b.ask("memory_update", args{"note_id": id, "content": "x"}).refused(loci.NotFound, "note `"+id+"` not found")
		b.ask("memory_delete", args{"note_id": id}).refused(loci.NotFound, "note `"+id+"` not found")
	}
}

// TestNotesAreSharedAcrossSessionsAndChannels: another connection, another
// session, another process on the same file.
func TestNotesAreSharedAcrossSessionsAndChannels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loci.db")
	id := dial(t, openEngine(t, path), alice(t), notes).
		ask("memory_save", args{"content": "User likes chocolates."}, sdk.Meta{"loci/session_id": "tui"}).id("note_id")
	other := dial(t, openEngine(t, path), alice(t), notes)
	hits := other.ask("memory_search", args{"query": "chocolates"}, sdk.Meta{"loci/session_id": "chat", "loci/thread_id": "7"}).list()
	if len(hits) != 1 || hits[0]["note_id"] != id {
		t.Errorf("got %v", hits)
	}
}

// TestNoteRoundTrip is the life of a note, as a model works with it.
func TestNoteRoundTrip(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	c.ask("memory_save", args{"content": "User's name is Shantanu"})
	hits := c.ask("memory_search", args{"query": "what is the user's name"}).list()
	if len(hits) != 1 || hits[0]["text"] != "User's name is Shantanu" {
		t.Fatalf("saved: %v", hits)
	}
	id := hits[0]["note_id"].(string)
	c.ask("memory_update", args{"note_id": id, "content": "User prefers to be called SG"})
	hits = c.ask("memory_search", args{"query": "name"}).list()
	if len(hits) != 1 || hits[0]["text"] != "User prefers to be called SG" || hits[0]["note_id"] != id {
		t.Fatalf("updated: %v", hits)
	}
	for _, h := range c.ask("memory_search", args{"query": "Shantanu"}).list() {
		if strings.Contains(h["text"].(string), "Shantanu") {
			t.Errorf("the old text is still there: %v", h)
		}
	}
	c.ask("memory_delete", args{"note_id": id})
	c.ask("memory_search", args{"query": "name"}).want("[]")
}

func TestNotesByTag(t *testing.T) {
	c := dial(t, newEngine(t), alice(t), notes)
	id := c.ask("memory_save", args{"content": "User likes chocolates.", "tags": []string{" Food ", "taste"}}).id("note_id")
	c.ask("memory_save", args{"content": "Chocolates are sold at the station.", "tags": []string{"food"}})
	hits := c.ask("memory_search", args{"query": "chocolates", "tags": []string{"taste", "FOOD"}}).list()
	if len(hits) != 1 || hits[0]["note_id"] != id {
		t.Errorf("got %v", hits)
	}
}

func TestRepliesAreCappedByWholeResults(t *testing.T) {
	c := dialOptions(t, newEngine(t), mcp.Options{Principal: alice(t)}, tool.Config{
		Entries:  []tool.Instance{notes},
		ReplyCap: 1024,
	})
	for i := range 10 {
		c.ask("memory_save", args{"content": fmt.Sprintf("Chocolates %d: %s", i, strings.Repeat("very ", 40))})
	}
	a := c.ask("memory_search", args{"query": "chocolates", "top_k": 10})
	hits := a.list()
	if len(a.text) > 1024 || len(hits) == 0 || len(hits) == 10 || a.data["dropped"] != float64(10-len(hits)) {
		t.Errorf("%d hits in %d bytes, dropped %v", len(hits), len(a.text), a.data["dropped"])
	}
}

// TestPipelinedSavesAreAllKept: fifty saves sent without waiting are each
// acknowledged with an id of its own, and all are there.
func TestPipelinedSavesAreAllKept(t *testing.T) {
	engine := newEngine(t)
	c := dial(t, engine, alice(t), notes)
	ids := make([]string, 50)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			a, err := c.try("memory_save", args{"content": fmt.Sprintf("Pipelined note %d", i), "tags": []string{fmt.Sprintf("n%d", i)}})
			if err == nil && !a.isError {
				ids[i], _ = a.data["note_id"].(string)
			}
		})
	}
	wait.Wait()
	seen := map[string]bool{}
	for i, id := range ids {
		if id == "" || seen[id] {
			t.Fatalf("save %d: id %q", i, id)
		}
		seen[id] = true
		hits := c.ask("memory_search", args{"query": "pipelined note", "tags": []string{fmt.Sprintf("n%d", i)}}).list()
		if len(hits) != 1 || hits[0]["note_id"] != id || hits[0]["text"] != fmt.Sprintf("Pipelined note %d", i) {
			t.Errorf("note %d: %v", i, hits)
		}
	}
}
