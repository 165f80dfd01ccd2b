package tool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func names(s *Set) (list []string) {
	for _, t := range s.Tools() {
		list = append(list, t.Name)
	}
	return list
}

func TestSetOrder(t *testing.T) {
	same(t, "by default", names(newSet(t)), []string{"memory_search", "memory_save", "memory_update", "memory_delete"})
	set := newSet(t, Instance{Family: FamilyNotes}, Instance{Tool: "search_memory", Name: "recall"}, Instance{Family: FamilyFacts})
	want := []string{"memory_search", "memory_save", "memory_update", "memory_delete", "recall", "manage_memory", "search_memory"}
	same(t, "as declared", names(set), want)
	for _, name := range want {
		if tool, found := set.Lookup(name); !found || tool.Name != name {
			t.Errorf("no %s", name)
		}
	}
	if _, found := set.Lookup("memory"); found {
		t.Error("found a tool that is not there")
	}
	set.Tools()[0] = nil
	if set.Tools()[0] == nil {
		t.Error("a caller can change the set")
	}
}

// Two instances of a tool work side by side, each in its place.
func TestInstances(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyFacts},
		Instance{Tool: "manage_memory", Name: "team_memory", Namespace: []string{"team", "{org_id}"}},
		Instance{Tool: "search_memory", Name: "team_search", Namespace: []string{"team", "{org_id}"}})
	u := caller(t, loci.Vars{"user_id": "u-1", "org_id": "acme"})
	ok(t, set, "manage_memory", u, `{"content":"mine"}`)
	ok(t, set, "team_memory", u, `{"content":"ours"}`)
	same(t, "own", contents(t, search(t, set, u, `{"query":""}`)), []string{"mine"})
	var shared []found
	decode(t, []byte(ok(t, set, "team_search", u, `{"query":""}`).Text), &shared)
	same(t, "shared", contents(t, shared), []string{"ours"})
}

// allNames are the names of all tools, as messages list them.
const allNames = `manage_memory, search_memory, memory_search, memory_save, memory_update, memory_delete, ` +
	`memory_store_episode, memory_store_fact, memory_store_rule, memory_recall, memory_context, memory_get, memory_confirm, ` +
	`memory_mark_helpful, memory_mark_harmful, memory_forget, memory_stats, memory, ` +
	`memory_list_sessions, memory_read_session, memory_search_sessions, memory_delete_session`

// TestFamiliesSideBySide: families that share a name are offered together under a prefix, or
// tool by tool. A description names the other tools as they are called here.
func TestFamiliesSideBySide(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyNotes}, Instance{Family: FamilyMemory, Prefix: "agent_"},
		Instance{Family: FamilyMemory, Tool: "memory_search", Name: "find"})
	for name, family := range map[string]string{"memory_search": FamilyNotes, "agent_memory_search": FamilyMemory, "find": FamilyMemory} {
		if tool, found := set.Lookup(name); !found || tool.Family != family {
			t.Errorf("%s: %+v", name, tool)
		}
	}
	fact, _ := set.Lookup("agent_memory_search")
	if !strings.Contains(fact.Description, "agent_memory_recall") {
		t.Errorf("description %q", fact.Description)
	}
	one := newSet(t, Instance{Tool: "memory_search"})
	if tool, _ := one.Lookup("memory_search"); tool.Family != FamilyNotes {
		t.Errorf("memory_search alone is of %s", tool.Family)
	}
}

// TestConfigFaults: each fault of a configuration of tools is named with its entry, all at
// once.
func TestConfigFaults(t *testing.T) {
	for _, c := range []struct {
		cfg  Config
		want []string
	}{
		{Config{Entries: []Instance{{Family: "memories"}}}, []string{`tools entry 1: unknown family "memories": must be one of facts, notes, memory, files, claude, sessions, all`}},
		{Config{Entries: []Instance{{Tool: "memory", Name: "Memory"}, {Family: "files", Scope: "thread"}, {Family: "notes", Memory: "x"}}}, []string{
			"tools entry 1: name \"Memory\" must be 1 to 64 of a to z, 0 to 9 and _",
			"tools entry 2: unknown scope \"thread\": must be one of global, perThread",
			"tools entry 3: memory is for the tool memory of the families files and claude only"}},
		{Config{Entries: []Instance{{Tool: "save"}}}, []string{`tools entry 1: unknown tool "save": must be one of ` + allNames}},
		{Config{Entries: []Instance{{}}}, []string{`tools entry 1: set family (one of facts, notes, memory, files, claude, sessions, all) or tool (one of ` + allNames + `)`}},
		{Config{Entries: []Instance{{Family: "facts", Tool: "memory_recall"}}}, []string{
			`tools entry 1: the family facts has no tool "memory_recall": must be one of manage_memory, search_memory`}},
		{Config{Entries: []Instance{{Family: "facts", Prefix: "a b"}, {Tool: "manage_memory", Prefix: "x_"}}}, []string{
			`tools entry 1: prefix "a b" must be 1 to 32 letters, digits, _ or -`,
			`tools entry 2: prefix is for a family: give one tool another name with name`}},
		{Config{Entries: []Instance{{Family: "notes"}, {Tool: "memory_search"}}}, []string{
			`two tools are named "memory_search", of entry 1 (family notes) and of entry 2 (tool memory_search): leave one out, or set a prefix for the names of one family, or a name for one tool`}},
		{Config{Entries: []Instance{{Family: "facts", Name: "x"}}}, []string{`tools entry 1: name is for one tool, not for a family: list the tools one by one`}},
		{Config{Entries: []Instance{{Tool: "manage_memory", Name: "a b"}}}, []string{`tools entry 1: name "a b" must be 1 to 64 letters, digits, _ or -`}},
		{Config{Entries: []Instance{{Family: "facts", ActionsPermitted: []string{}}}}, []string{`tools entry 1: actions_permitted cannot be empty`}},
		{Config{Entries: []Instance{{Family: "facts", ActionsPermitted: []string{"drop", "create", "create"}}}}, []string{
			`tools entry 1: unknown action "drop": must be one of create, update, delete`, `tools entry 1: action "create" is permitted twice: name it once`}},
		{Config{Entries: []Instance{{Family: "notes", ActionsPermitted: []string{"create"}}}}, []string{`tools entry 1: actions_permitted is for manage_memory only`}},
		{Config{Entries: []Instance{{Tool: "manage_memory", ResponseFormat: "content"}}}, []string{`tools entry 1: response_format is for search_memory only`}},
		{Config{Entries: []Instance{{Family: "facts", ResponseFormat: "raw"}}}, []string{`tools entry 1: unknown response_format "raw": must be one of content, content_and_artifact`}},
		{Config{Entries: []Instance{{Family: "facts", Namespace: []string{}}}}, []string{`tools entry 1: namespace must not be empty: it would be the memory of everybody`}},
		{Config{Entries: []Instance{{Family: "facts", Namespace: []string{"a", ""}}}}, []string{`tools entry 1: namespace label 2 must not be empty`}},
		{Config{Entries: []Instance{{Family: "facts", Namespace: []string{"{}"}}}}, []string{`tools entry 1: namespace template has an empty variable {}`}},
		{Config{Entries: []Instance{{Family: "facts", Namespace: []string{"u-{user_id}", "{user_id", "user_id}", "{a}{b}"}}}}, []string{
			`tools entry 1: namespace label "u-{user_id}": a variable must be the whole label, such as {user_id}`,
			`tools entry 1: namespace label "{user_id": a variable must be the whole label, such as {user_id}`,
			`tools entry 1: namespace label "user_id}": a variable must be the whole label, such as {user_id}`,
			`tools entry 1: namespace label "{a}{b}": a variable must be the whole label, such as {user_id}`}},
		{Config{Entries: []Instance{{Family: "notes"}, {Tool: "manage_memory"}, {Tool: "search_memory", Name: "memory_search"}}}, []string{
			`two tools are named "memory_search", of entry 1 (family notes) and of entry 3 (tool search_memory): leave one out, or set a prefix for the names of one family, or a name for one tool`}},
		{
			Config{
				ReplyCap:      255,
				MaxArguments:  -1,
				SearchLimit:   101,
				TopK:          21,
				SearchTimeout: -1,
				WriteTimeout:  Duration(time.Hour),
			},
			[]string{
				`reply_cap is 255; it must be 256 to 1048576`, `max_arguments is -1; it must be 256 to 67108864`, `search_limit is 101; it must be 1 to 100`,
				`top_k is 21; it must be 1 to 20`, `search_timeout is -1ns; it must be 1ms to 10m`, `write_timeout is 1h0m0s; it must be 1ms to 10m`},
		},
		{Config{TopK: 99, Entries: []Instance{{Family: "x"}, {Tool: "memory_save", Name: "é"}}}, []string{ // all at once
			`top_k is 99; it must be 1 to 20`, `tools entry 1: unknown family "x": must be one of facts, notes, memory, files, claude, sessions, all`,
			`tools entry 2: name "é" must be 1 to 64 letters, digits, _ or -`}},
	} {
		set, err := New(nil, c.cfg)
		if err == nil || set != nil {
			t.Errorf("%+v is accepted", c.cfg)
			continue
		}
		same(t, "faults", strings.Split(err.Error(), "\n"), c.want)
		joined, _ := err.(interface{ Unwrap() []error })
		for _, e := range joined.Unwrap() {
			var coded *loci.Error
			if !errors.As(e, &coded) || coded.Code != loci.Invalid {
				t.Errorf("%v is %T", e, e)
			}
		}
	}
}

// TestSecondToolOfANameGetsItsFamily: families that share names start together. What tools say
// of one another uses the names that they have here.
func TestSecondToolOfANameGetsItsFamily(t *testing.T) {
	memoryFirst := newSet(t, Instance{Family: FamilyMemory}, Instance{Family: FamilyNotes},
		Instance{Family: FamilyFiles}, Instance{Family: FamilyClaude})
	for name, family := range map[string]string{"memory_search": FamilyMemory, "notes_memory_search": FamilyNotes, "memory": FamilyFiles, "claude_memory": FamilyClaude} {
		tool, found := memoryFirst.Lookup(name)
		if !found || tool.Family != family || tool.Renamed != (name != tool.Original) {
			t.Errorf("%s: %+v", name, tool)
		}
	}
	for _, name := range []string{"memory_update", "memory_delete"} {
		if tool, _ := memoryFirst.Lookup(name); !strings.Contains(tool.Description, "First use notes_memory_search to") {
			t.Errorf("%s says: %s", name, tool.Description)
		}
	}
	all, each := newSet(t, Instance{Family: PresetAll}), newSet(t, Instance{Family: FamilyNotes},
		Instance{Family: FamilyMemory}, Instance{Family: FamilyFacts}, Instance{Family: FamilyFiles},
		Instance{Family: FamilySessions})
	same(t, "the preset", names(all), names(each))
	if tool, found := all.Lookup("memory_memory_search"); !found || !tool.Renamed || !strings.Contains(tool.Description, "use memory_recall") {
		t.Errorf("the preset: %v", names(all))
	}
	prefixed := newSet(t, Instance{Family: FamilyNotes}, Instance{Family: FamilyMemory, Prefix: "agent_"})
	if tool, found := prefixed.Lookup("agent_memory_search"); !found || tool.Renamed {
		t.Errorf("a prefix of the operator: %v", names(prefixed))
	}
}

func TestConfigFromJSON(t *testing.T) {
	var cfg Config
	decode(t, []byte(`{"entries":[{"tool":"manage_memory","name":"m","namespace":["{user_id}","memories"],"instructions":"i",
		"actions_permitted":["create"],"response_format":""},{"family":"notes"}],
		"reply_cap":512,"max_arguments":1024,"search_timeout":"1.5s","write_timeout":"2s","search_limit":7,"top_k":3,"keep_secrets":true}`), &cfg)
	set := setOver(t, newEngine(t, loci.Options{}), cfg)
	m, _ := set.Lookup("m")
	s, _ := set.Lookup("memory_search")
	if m.Timeout != 2*time.Second || s.Timeout != 1500*time.Millisecond || !strings.Contains(string(s.InputSchema), `"default":3`) {
		t.Errorf("%s, %s, %s", m.Timeout, s.Timeout, s.InputSchema)
	}
	u := user(t, "u-1")
	for i := range 5 {
		save(t, set, u, "tea "+strings.Repeat("x", i))
	}
	if hits := notes(t, set, u, `{"query":"tea"}`); len(hits) != 3 {
		t.Errorf("%d hits", len(hits))
	}
	if data, err := json.Marshal(cfg.SearchTimeout); err != nil || string(data) != `"1.5s"` {
		t.Errorf("%s %v", data, err)
	}
	if err := json.Unmarshal([]byte(`{"search_timeout":"soon"}`), &cfg); err == nil {
		t.Error(`"soon" is a duration`)
	}
}

func TestErrorReply(t *testing.T) {
	r := ErrorReply(loci.Errorf(loci.Conflict, "already <there>"))
	want := `{"error":"already <there>","code":"conflict","recovery":"Read the current state and decide again."}`
	if r.Text != "already <there>" || string(r.Structured) != want {
		t.Errorf("%s, %s", r.Text, r.Structured)
	}
	hidden := ErrorReply(errors.New("open /var/lib/secret: no such file"))
	if hidden.Text != "internal error" || strings.Contains(string(hidden.Structured), "secret") {
		t.Errorf("%s, %s", hidden.Text, hidden.Structured)
	}
}

// A set with too many entries is refused as a whole, and not for each of them.
func TestEntriesAreBounded(t *testing.T) {
	entries := make([]Instance, MaxEntries+1)
	for i := range entries {
		entries[i] = Instance{Family: "unknown"}
	}
	_, err := New(nil, Config{Entries: entries})
	if err == nil || err.Error() != "tools has 257 entries; the limit is 256: leave some out" {
		t.Errorf("%.300v", err)
	}
}
