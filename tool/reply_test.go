package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// TestForeignButler: whoever names another agent hears which is its own, if there is one.
func TestForeignButler(t *testing.T) {
	set := newMemoryTools(t)
	own := func(name string) (string, string) {
		return `butler "other" is refused: it is not this credential's own`,
			`Pass your own agent, "` + name + `", or use a credential with the scope delegate.`
	}
	for _, c := range []struct {
		vars loci.Vars
		own  string
	}{
		{loci.Vars{loci.VarUser: "u-1"}, ""},
		{loci.Vars{loci.VarUser: "u-1", loci.VarButler: "general"}, "general"},
		{loci.Vars{loci.VarUser: "u-1", loci.VarAgent: "coder"}, "coder"},
		{loci.Vars{loci.VarUser: "u-1", loci.VarButler: "general", loci.VarAgent: "coder"}, "general"},
	} {
		message, remedy := own(c.own)
		if c.own == "" {
			message = `butler "other" is refused: this credential names no agent`
			remedy = "Ask the operator to name the agent of this connection, or to give it the scope delegate."
		}
		tool, _ := set.Lookup("memory_store_episode")
		_, err := tool.Call(t.Context(), caller(t, c.vars), json.RawMessage(`{"content":"x","butler":"other"}`))
		var e *loci.Error
		if !errors.As(err, &e) || e.Code != loci.Forbidden || e.Msg != message || e.Recovery != remedy {
			t.Errorf("%v: %+v", c.vars, e)
		}
		for _, name := range []string{c.vars[loci.VarButler], c.vars[loci.VarAgent]} {
			if name != "" {
				ok(t, set, "memory_store_episode", caller(t, c.vars), object("content", "x", "butler", name))
			}
		}
	}
}

// TestFactNamesWhatItSupersedes: a fact that took the place of another one names it, and no
// other one names anything.
func TestFactNamesWhatItSupersedes(t *testing.T) {
	set, u := newMemoryTools(t), general(t)
	store := func(value string) string {
		return storeOne(t, set, u, "memory_store_fact", object("subject", "user", "predicate", "color", "content", value))
	}
	first := store("blue")
	var said storedMemory
	r := ok(t, set, "memory_store_fact", u, object("subject", "user", "predicate", "color", "content", "green"))
	decode(t, r.Structured, &said)
	second := said.ID.String()
	if want := `"superseded_id":"` + first + `"`; !strings.Contains(r.Text, want) {
		t.Errorf("%s is not in %s", want, r.Text)
	}
	for id, want := range map[string]string{first: `"supersedes_id":null`, second: `"supersedes_id":"` + first + `"`} {
		text := ok(t, set, "memory_get", u, object("type", "fact", "id", id)).Text
		if !strings.Contains(text, want) || strings.Count(text, "supersedes") != 1 {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

// TestContextNamesTwenty: the structured form of a context counts all that it left out, and
// names the first twenty of them.
func TestContextNamesTwenty(t *testing.T) {
	for _, stored := range []int{19, 20, 21, 30} {
		set, u := newMemoryTools(t), general(t)
		for i := range stored {
			storeOne(t, set, u, "memory_store_rule", object("content", fmt.Sprintf("Rule %d about tea.", i)))
		}
		var reply struct {
			Omitted []loci.ContextItem `json:"omitted"`
			Count   int                `json:"omitted_count"`
		}
		r := ok(t, set, "memory_context", u, `{"trigger_prompt":"tea","butler":"general","token_budget":0}`)
		decode(t, r.Structured, &reply)
		if reply.Count != stored || len(reply.Omitted) != min(stored, 20) {
			t.Errorf("of %d: %d named, %d counted", stored, len(reply.Omitted), reply.Count)
		}
	}
}

// TestTopKOfAnEntry: the number is bounded by the tool with the smallest bound, and is for
// tools that search alone.
func TestTopKOfAnEntry(t *testing.T) {
	for _, c := range []struct {
		entry Instance
		fault string
	}{
		{Instance{Tool: "memory_search", Family: FamilyNotes, TopK: 20}, ""},
		{Instance{Tool: "memory_search", Family: FamilyNotes, TopK: 21}, "top_k is 21; it must be 1 to 20"},
		{Instance{Tool: "memory_search", Family: FamilyNotes, TopK: 1}, ""},
		{Instance{Tool: "memory_search", Family: FamilyNotes, TopK: -1}, "top_k is -1; it must be 1 to 20"},
		{Instance{Tool: "search_memory", TopK: 100}, ""},
		{Instance{Tool: "search_memory", TopK: 101}, "top_k is 101; it must be 1 to 100"},
		{Instance{Family: FamilyNotes, TopK: 21}, "top_k is 21; it must be 1 to 20"}, // others of the family do not search
		{Instance{Tool: "memory_save", TopK: 5}, "top_k is for tools that search or list only"},
		{Instance{Family: PresetAll, TopK: 21}, "top_k is 21; it must be 1 to 20"}, // of notes, among those of 100
	} {
		_, err := New(nil, Config{Entries: []Instance{c.entry}})
		if (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%+v: %v, want %q", c.entry, err, c.fault)
		}
	}
}

// TestWholeUpToTheCap: a match that just fits into a reply is shown whole; a byte more, and it is
// an excerpt, of the passage that fits the query or, without one, of the first.
func TestWholeUpToTheCap(t *testing.T) {
	text := strings.Repeat("Nothing happened on that day. ", 40) + "The parrot is called Igor."
	first := newSet(t, factsFamily)
	u := user(t, "u-1")
	create(t, first, u, object("content", text))
	whole := len(ok(t, first, "search_memory", u, `{"query":""}`).Text) // a list of one match, without scores
	for spare, excerpt := range map[int]bool{0: false, 1: false, -1: true} {
		set := setOver(t, newEngine(t, loci.Options{}),
			Config{ReplyCap: whole + spare, Entries: []Instance{factsFamily}})
		create(t, set, u, object("content", text))
		got := search(t, set, u, `{"query":""}`)
		if len(got) != 1 || got[0].Excerpt != excerpt || excerpt == strings.Contains(string(got[0].Value), "Igor") {
			t.Errorf("with a cap of %+d: %+v", spare, got)
		}
	}
}

// TestDetailsGoBeforeHalfOfTheContent: a record that is too long for a reply loses the end of
// its content, but not below half of the cap as long as it has details to lose.
func TestDetailsGoBeforeHalfOfTheContent(t *testing.T) {
	const limit = 1200
	set := setOver(t, newEngine(t, loci.Options{}), Config{
		ReplyCap: limit, Entries: []Instance{{Family: FamilyMemory}, {Tool: "manage_memory"}},
	})
	u := general(t)
	get := func(content, detail int) (f factRecord, size int) {
		id := create(t, set, u, object("content", strings.Repeat("x", content), "metadata",
			map[string]any{"note": strings.Repeat("m", detail), "of": content}))
		r := ok(t, set, "memory_get", u, object("type", "fact", "id", id))
		decode(t, r.Structured, &f)
		return f, len(r.Text)
	}
	if f, size := get(300, 10); f.Truncated || len(f.Content) != 300 || f.Metadata == nil {
		t.Errorf("what fits is cut: %d of content, %d bytes, %v", len(f.Content), size, f.Truncated)
	}
	if f, size := get(400, 3000); !f.Truncated || len(f.Content) != 400 || f.Metadata != nil || size > limit {
		t.Errorf("a long detail: %d of content, %d bytes", len(f.Content), size)
	}
	f, size := get(3000, 10)
	if !f.Truncated || f.Metadata == nil || len(f.Content) < limit/2 || size > limit {
		t.Errorf("a long content: %d of it, %d bytes, metadata %v", len(f.Content), size, f.Metadata)
	}
	if size < limit-2 {
		t.Errorf("a long content is cut to %d bytes; the cap is %d", size, limit)
	}
	if f, size := get(3000, 3000); !f.Truncated || f.Metadata != nil || len(f.Content) != limit/2 || size > limit {
		t.Errorf("both are long: %d of content, %d bytes", len(f.Content), size)
	}
}

// TestEdgesOfHiddenCharacters: the first and the last of each range that nobody sees is hidden, and its
// neighbours are not, nor are the joiners of scripts and of emoji.
func TestEdgesOfHiddenCharacters(t *testing.T) {
	for _, c := range []struct{ from, to rune }{
		{0x80, 0x9F}, {0xAD, 0xAD}, {0x61C, 0x61C}, {0x180E, 0x180E}, {0xFEFF, 0xFEFF}, {0x200B, 0x200B},
		{0x200E, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x206F}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
	} {
		if hidden(c.from-1) || hidden(c.to+1) || !hidden(c.from) || !hidden(c.to) {
			t.Errorf("%U to %U: %t, %t, %t, %t", c.from, c.to, hidden(c.from-1), hidden(c.from), hidden(c.to), hidden(c.to+1))
		}
	}
	for _, r := range []rune{0, '\n', 'a', 0x7F, 0xA0, 0x200C, 0x200D, 0x2029, 0x1F9AD} {
		if hidden(r) {
			t.Errorf("%U is hidden", r)
		}
	}
}
