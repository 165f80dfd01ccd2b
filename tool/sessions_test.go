package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// talkOf opens the conversations of the user of a caller.
func talkOf(t *testing.T, e *loci.Engine, c Caller) *session.Handle {
	t.Helper()
	m, err := e.Memory(loci.View{Tenant: c.Principal.Tenant(), Namespace: loci.Namespace{"user",
		c.Principal.Var(loci.VarUser)}, Actor: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	return session.Of(m)
}

func say(t *testing.T, talk *session.Handle, id string, texts ...string) {
	t.Helper()
	var messages []session.Message
	for i, text := range texts {
		role := []string{"user", "assistant"}[i%2]
		if i == 0 && strings.HasPrefix(text, "You are") {
			role = "system"
		}
		m, err := session.ParseMessage([]byte(object("role", role, "content", text)))
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	if _, err := talk.Append(t.Context(), id, messages); err != nil {
		t.Fatal(err)
	}
}

// A model lists its earlier conversations with titles, summaries and times, reads one, finds
// what was said, and deletes one for good.
func TestSessionTools(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	e := newEngine(t, loci.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	set := setOver(t, e, Config{Entries: []Instance{{Family: FamilySessions}}})
	ada := caller(t, loci.Vars{loci.VarUser: "ada", loci.VarSession: "harbour"})
	refused(t, set, "memory_search_sessions", ada, `{"query":"train","session_id":"nosuch"}`, loci.NotFound,
		"session `nosuch` not found")
	refused(t, set, "memory_search_sessions", ada, `{"query":" "}`, loci.Invalid,
		"query must not be empty: say what to look for, or call memory_list_sessions")
	talk := talkOf(t, e, ada)
	say(
		t,
		talk,
		"harbour",
		"You are a guide",
		"ignored",
		"Where is the  harbour\nof Genoa? My key is AKIAIOSFODNN7EXAMPLE",
		"At the Via Gramsci.",
	)
	if _, err := talk.Create(t.Context(), session.New{ID: "trip", Metadata: json.RawMessage(`{"title":"The trip to Rome"}`)}); err != nil {
		t.Fatal(err)
	}
	say(t, talk, "trip", "Which train?", "The night train at nine.")
	say(t, talk, "walk", "You are a guide", "Hello.", "Where to?", "To the sea.", "And then?")
	if got := ok(t, set, "memory_list_sessions", ada, `{"limit":1}`).Text; !strings.Contains(got, `"title":"Where to?"`) {
		t.Errorf("the title is not the first question: %s", got)
	}
	ok(t, set, "memory_delete_session", ada, `{"session_id":"walk"}`)
	list := ok(t, set, "memory_list_sessions", ada, `{}`)
	want := `{"sessions":[` +
		`{"session_id":"trip","title":"The trip to Rome","status":"active","message_count":2,"created_at":"CREATED","updated_at":"UPDATED"},` +
		`{"session_id":"harbour","title":"Where is the harbour of Genoa? My key is [REDACTED]","status":"active","current":true,"message_count":4,"created_at":"CREATED","updated_at":"UPDATED"}]}`
	if got := timeless(list.Text); got != want || list.Text != string(list.Structured) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	read := ok(t, set, "memory_read_session", ada, `{"session_id":"harbour","limit":2}`)
	want = `{"session_id":"harbour","messages":[{"seq":3,"speaker":"user","created_at":"CREATED","text":"Where is the  harbour\nof Genoa? My key is [REDACTED]"},` +
		`{"seq":4,"speaker":"assistant","created_at":"CREATED","text":"At the Via Gramsci."}],"before":3}`
	if got := timeless(read.Text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := timeless(ok(t, set, "memory_read_session", ada, `{"session_id":"harbour","limit":2,"before":3}`).Text); !strings.HasPrefix(
		got,
		`{"session_id":"harbour","messages":[{"seq":1,`,
	) ||
		strings.Contains(got, "before") {
		t.Errorf("further back: %s", got)
	}
	var hits struct{ Results []shownHit }
	decode(t, []byte(ok(t, set, "memory_search_sessions", ada, `{"query":"night train"}`).Text), &hits)
	if len(hits.Results) == 0 || hits.Results[0].SessionID != "trip" || hits.Results[0].Seq != 2 ||
		hits.Results[0].Text != "The night train at nine." {
		t.Errorf("found %+v", hits)
	}
	if got := ok(t, set, "memory_search_sessions", ada, `{"query":"night train","session_id":"harbour"}`).Text; strings.Contains(
		got,
		"train at nine",
	) {
		t.Errorf("of another conversation: %s", got)
	}
	bob := user(t, "bob")
	for name, args := range map[string]string{"memory_read_session": `{"session_id":"trip"}`, "memory_delete_session": `{"session_id":"trip"}`} {
		refused(t, set, name, bob, args, loci.NotFound, "session `trip` not found")
	}
	if got := ok(t, set, "memory_list_sessions", bob, `{}`).Text + ok(t, set, "memory_search_sessions", bob, `{"query":"train"}`).Text; got != `{"sessions":[]}{"results":[]}` {
		t.Errorf("bob sees %s", got)
	}
	if got := ok(t, set, "memory_delete_session", ada, `{"session_id":"trip"}`).Text; got != `{"session_id":"trip","message":"Session deleted successfully."}` {
		t.Errorf("deleted: %s", got)
	}
	refused(t, set, "memory_read_session", ada, `{"session_id":"trip"}`, loci.NotFound, "session `trip` not found")
	refused(
		t,
		set,
		"memory_delete_session",
		user(t, "ada", loci.ScopeRead),
		`{"session_id":"harbour"}`,
		loci.Forbidden,
		`memory_delete_session needs the scope "delete", which this credential lacks`,
	)
}

// timeless puts words in the places of times.
func timeless(text string) string {
	for _, name := range []string{"created_at", "updated_at"} {
		parts := strings.Split(text, `"`+name+`":"`)
		for i := range parts[1:] {
			_, rest, _ := strings.Cut(parts[i+1], `"`)
			parts[i+1] = strings.ToUpper(strings.TrimSuffix(name, "_at")) + `"` + rest
		}
		text = strings.Join(parts, `"`+name+`":"`)
	}
	return text
}

// Replies keep to the cap: a list goes on where it ended. A reading has the newest messages,
// and the beginning of a long one.
func TestSessionToolsKeepToTheCap(t *testing.T) {
	e := newEngine(t, loci.Options{})
	set := setOver(t, e, Config{ReplyCap: 1500, Entries: []Instance{{Family: FamilySessions, TopK: 30}}})
	ada := user(t, "ada")
	talk := talkOf(t, e, ada)
	for i := range 20 {
		say(t, talk, fmt.Sprintf("talk-%02d", i), strings.Repeat("word ", 40), "yes")
	}
	seen := map[string]bool{}
	for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
		var page struct {
			Sessions   []shownSession
			NextCursor string `json:"next_cursor"`
		}
		reply := ok(t, set, "memory_list_sessions", ada, object("cursor", cursor)).Text
		decode(t, []byte(reply), &page)
		if len(reply) > 1500 || len(page.Sessions) == 0 || len(page.Sessions[0].Title) > 90 || pages > 20 {
			t.Fatalf("%d bytes: %s", len(reply), reply)
		}
		for _, s := range page.Sessions {
			seen[s.SessionID] = true
		}
		cursor = page.NextCursor
	}
	if len(seen) != 20 {
		t.Errorf("saw %d", len(seen))
	}
	say(t, talk, "long", strings.Repeat("old ", 1000), strings.Repeat("x", 900), strings.Repeat("y", 900))
	text := ok(t, set, "memory_read_session", ada, `{"session_id":"long"}`).Text
	if len(text) > 1500 || !strings.Contains(text, "yyy") || strings.Contains(text, "xxx") ||
		!strings.HasSuffix(text, `,"before":3}`) {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	roomy := setOver(t, e, Config{Entries: []Instance{{Family: FamilySessions}}})
	text = ok(t, roomy, "memory_read_session", ada, `{"session_id":"long","before":2}`).Text
	if !strings.HasSuffix(text, `"excerpt":true}]}`) || strings.Count(text, "old") != 500 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// What one entry says of time, care and number holds for that entry alone.
func TestSettingsOfAnEntry(t *testing.T) {
	set := newSet(
		t,
		Instance{
			Tool:    "memory_search",
			Name:    "quick",
			Timeout: Duration(time.Millisecond),
			Tier:    SideEffecting,
			TopK:    2,
		},
		Instance{Family: FamilyNotes},
		Instance{Family: FamilyMemory, Prefix: "m_", TopK: 7,
			Timeout: Duration(time.Minute)},
	)
	quick, _ := set.Lookup("quick")
	if quick.Timeout != time.Millisecond || quick.Tier != SideEffecting || quick.Annotations.ReadOnly ||
		!quick.Reads() || !strings.Contains(string(quick.InputSchema), `"default":2`) {
		t.Errorf("%+v %s", quick, quick.InputSchema)
	}
	plain, _ := set.Lookup("memory_search")
	if plain.Timeout != 15*time.Second || plain.Tier != ReadOnly ||
		!strings.Contains(string(plain.InputSchema), `"default":5`) {
		t.Errorf("%+v %s", plain, plain.InputSchema)
	}
	recall, _ := set.Lookup("m_memory_recall")
	save, _ := set.Lookup("m_memory_store_fact")
	if !strings.Contains(string(recall.InputSchema), `"default":7`) || save.Timeout != time.Minute ||
		save.Tier != SideEffecting {
		t.Errorf("%s %+v", recall.InputSchema, save)
	}
	for want, entry := range map[string]Instance{
		"tools entry 1: tier is ReadOnly, but memory_save changes what is remembered: leave tier out, or choose tools that only read": {Tool: "memory_save", Tier: ReadOnly},
		`tools entry 1: unknown tier "careful": must be one of ReadOnly, SideEffecting`:                                               {Tool: "memory_save", Tier: "careful"},
		"tools entry 1: timeout is 11m0s; it must be 1ms to 10m": {
			Tool:    "memory_save",
			Timeout: Duration(11 * time.Minute),
		},
		"tools entry 1: top_k is for tools that search or list only": {Tool: "memory_save", TopK: 3},
		"tools entry 1: top_k is 21; it must be 1 to 20":             {Family: FamilyNotes, TopK: 21},
		"tools entry 1: top_k is -1; it must be 1 to 100":            {Family: FamilyFacts, TopK: -1},
	} {
		if _, err := New(nil, Config{Entries: []Instance{entry}}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
