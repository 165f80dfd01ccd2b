package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

func newNotes(t testing.TB) *Set { return newSet(t, Instance{Family: FamilyNotes}) }

func TestNoteSave(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	reply := ok(t, set, "memory_save", u, `{"content":"User's name is Shantanu"}`)
	want := regexp.MustCompile(`^\{"note_id":"note-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}","message":"Note saved successfully\."\}$`)
	if !want.MatchString(reply.Text) || reply.Text != string(reply.Structured) {
		t.Fatalf("text %s, structured %s", reply.Text, reply.Structured)
	}
	again := ok(t, set, "memory_save", u, `{"content":"user's name  is shantanu"}`)
	if again.Text != reply.Text ||
		string(again.Structured) != strings.TrimSuffix(reply.Text, "}")+`,"outcome":"duplicate_of"}` {
		t.Errorf("the same again: text %s, structured %s", again.Text, again.Structured)
	}
	for _, blank := range []string{"", " ", "\n\t"} {
		refused(t, set, "memory_save", u, object("content", blank), loci.Invalid, "content must not be empty")
	}
	refused(t, set, "memory_save", u, `{}`, loci.Invalid, "argument content is missing: pass a string")
}

func TestNoteSearchReply(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	id := save(t, set, u, "User's name is Shantanu")
	reply := ok(t, set, "memory_search", u, `{"query":"name"}`)
	var scored []struct{ Score float64 }
	if err := json.Unmarshal([]byte(reply.Text), &scored); err != nil || len(scored) != 1 {
		t.Fatalf("text %s: %v", reply.Text, err)
	}
	// The note has the one word of the query, so it more likely than not answers it. Four
	// digits are shown.
	score := scored[0].Score
	if score <= 0.5 || score >= 1 || math.Round(score*1e4)/1e4 != score {
		t.Errorf("score %v", score)
	}
	text := fmt.Sprintf(`[{"note_id":%q,"text":"User's name is Shantanu","score":%v,"source":"user_memory"}]`, id, score)
	structured := regexp.MustCompile(`,"created_at":"[-0-9T:.]+Z"}]}$`).ReplaceAllString(string(reply.Structured), "}]}")
	if reply.Text != text || structured != `{"results":`+text+`}` || structured == string(reply.Structured) {
		t.Fatalf("text %s\nstructured %s", reply.Text, reply.Structured)
	}
	for _, name := range []string{"tea", "coffee", "milk", "water", "juice", "beer", "wine"} {
		save(t, set, u, "The user drinks "+name)
	}
	hits := notes(t, set, u, `{"query":"what the user drinks"}`)
	if len(hits) != DefaultTopK {
		t.Errorf("top_k is not %d by default: %d hits", DefaultTopK, len(hits))
	}
	four := regexp.MustCompile(`^(1|0|0\.[0-9]{1,4})$`)
	for _, m := range regexp.MustCompile(`"score":([^,]+),`).FindAllStringSubmatch(ok(t, set, "memory_search", u, `{"query":"user drinks tea or milk","top_k":20}`).Text, -1) {
		if !four.MatchString(m[1]) {
			t.Errorf("score %s", m[1])
		}
	}
	if none := ok(t, set, "memory_search", user(t, "nobody"), `{"query":"tea"}`); none.Text != "[]" || string(none.Structured) != `{"results":[]}` {
		t.Errorf("nothing found: %s %s", none.Text, none.Structured)
	}
}

func TestNoteSearchLimits(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	for i := range 25 {
		save(t, set, u, "Note about tea, number "+strings.Repeat("i", i+1))
	}
	for args, want := range map[string]int{`{"query":"tea","top_k":1}`: 1, `{"query":"tea","top_k":20}`: 20, `{"query":"tea","top_k":null}`: 5} {
		if hits := notes(t, set, u, args); len(hits) != want {
			t.Errorf("%s: %d hits", args, len(hits))
		}
	}
	refused(t, set, "memory_search", u, `{"query":"tea","top_k":0}`, loci.Invalid, "top_k is 0; it must be 1 to 20")
	refused(t, set, "memory_search", u, `{"query":"tea","top_k":21}`, loci.Invalid, "top_k is 21; it must be 1 to 20")
	refused(t, set, "memory_search", u, `{"query":" "}`, loci.Invalid, "query must not be empty")
	refused(t, set, "memory_search", u, `{}`, loci.Invalid, "argument query is missing: pass a string")
}

func TestNoteBestPassageOnce(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	long := strings.Repeat("The weather was mild that day. ", 60) + "The parrot is called Igor. " + strings.Repeat("Nothing else happened then. ", 60)
	id := save(t, set, u, long)
	hits := notes(t, set, u, `{"query":"parrot called Igor"}`)
	if len(hits) != 1 || hits[0].NoteID != id || !strings.Contains(hits[0].Text, "parrot is called Igor") ||
		len(hits[0].Text) > loci.DefaultChunkSize {
		t.Fatalf("hits %+v", hits)
	}
}

func TestNoteTags(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	save(t, set, u, "Tea at work", " Drink", "WORK")
	save(t, set, u, "Tea at home", "drink")
	for args, want := range map[string][]string{
		`{"query":"tea","tags":["drink","work"]}`: {"Tea at work"},
		`{"query":"tea","tags":["Work "]}`:        {"Tea at work"},
		`{"query":"tea","tags":["food"]}`:         nil,
	} {
		same(t, args, texts(notes(t, set, u, args)), want)
	}
	if hits := notes(t, set, u, `{"query":"tea","tags":[]}`); len(hits) != 2 {
		t.Errorf("no tags: %+v", hits)
	}
	refused(t, set, "memory_save", u, `{"content":"x","tags":[" "]}`, loci.Invalid, "tags[0] must not be empty")
	many := make([]string, 17)
	for i := range many {
		many[i] = strings.Repeat("t", i+1)
	}
	refused(t, set, "memory_save", u, object("content", "x", "tags", many), loci.Invalid, "tags has 17 entries; the limit is 16: leave some out")
	refused(t, set, "memory_save", u, object("content", "x", "tags", []string{strings.Repeat("é", 65)}), loci.Invalid,
		"tags[0] has 65 characters; the limit is 64: shorten it")
}

// The round trip of a name: save, update, delete, with a search after each.
func TestNoteRoundTrip(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	id := save(t, set, u, "User's name is Shantanu")
	same(t, "saved", texts(notes(t, set, u, `{"query":"name"}`)), []string{"User's name is Shantanu"})

	reply := ok(t, set, "memory_update", u, object("note_id", id, "content", "User prefers the name SG"))
	if reply.Text != `{"note_id":"`+id+`","message":"Note updated successfully."}` || reply.Text != string(reply.Structured) {
		t.Fatalf("update: %s, %s", reply.Text, reply.Structured)
	}
	same(t, "updated", texts(notes(t, set, u, `{"query":"name"}`)), []string{"User prefers the name SG"})
	same(t, "the old words", texts(notes(t, set, u, `{"query":"Shantanu"}`)), []string{"User prefers the name SG"})

	reply = ok(t, set, "memory_delete", u, object("note_id", id))
	if reply.Text != `{"note_id":"`+id+`","message":"Note deleted successfully."}` || reply.Text != string(reply.Structured) {
		t.Fatalf("delete: %s, %s", reply.Text, reply.Structured)
	}
	same(t, "deleted", texts(notes(t, set, u, `{"query":"name"}`)), nil)
}

func TestNoteIDs(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	id := save(t, set, u, "one")
	bare := strings.TrimPrefix(id, "note-")
	for _, form := range []string{bare, id, strings.ToUpper(bare)} {
		var r noteChange
		decode(t, []byte(ok(t, set, "memory_update", u, object("note_id", form, "content", "two")).Text), &r)
		if r.NoteID != id {
			t.Errorf("%s is answered with %s", form, r.NoteID)
		}
	}
	for _, unknown := range []string{"note-" + someID, someID, "note-", "", "note-xyz789", "note-note-" + bare, " " + id, "'; DROP TABLE notes"} {
		refused(t, set, "memory_update", u, object("note_id", unknown, "content", "x"), loci.NotFound, "note `"+unknown+"` not found")
		refused(t, set, "memory_delete", u, object("note_id", unknown), loci.NotFound, "note `"+unknown+"` not found")
	}
	long := strings.Repeat("é", 200)
	refused(t, set, "memory_delete", u, object("note_id", long), loci.NotFound, "note `"+long[:200]+"` not found")
	refused(t, set, "memory_update", u, object("note_id", id, "content", " "), loci.Invalid, "content must not be empty")
	same(t, "nothing was changed", texts(notes(t, set, u, `{"query":"two"}`)), []string{"two"})
}

// TestNoteIncludeConversation: a search adds messages of the caller's own session if asked to:
// none of another session or user, and none twice.
func TestNoteIncludeConversation(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	set, u := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes}}}), user(t, "u-1")
	say := func(userID, talk string, texts ...string) {
		t.Helper()
		m, err := engine.Memory(loci.View{Tenant: u.Principal.Tenant(), Namespace: loci.Namespace{"user", userID}, Actor: "test"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			message, err := session.ParseMessage([]byte(object("role", "user", "content", text)))
			if err == nil {
				_, err = session.Of(m).Append(t.Context(), talk, []session.Message{message})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	save(t, set, u, "Likes tea")
	save(t, set, u, "Tea at five", "drinks")
	say("u-1", "now", "The tea is cold, my key is AKIAIOSFODNN7EXAMPLE", "Likes  tea", "What about coffee?")
	say("u-1", "before", "Tea in an earlier session")
	say("u-2", "now", "Tea of somebody else")
	in := func(vars loci.Vars) Caller {
		p, err := u.Principal.With(vars)
		if err != nil {
			t.Fatal(err)
		}
		return Caller{Principal: p}
	}
	for name, c := range map[string]struct {
		caller Caller
		args   string
		want   []string
	}{
		"no session":        {u, `{"query":"tea","include_conversation":true}`, []string{"Likes tea", "Tea at five"}},
		"not asked for":     {in(loci.Vars{loci.VarSession: "now"}), `{"query":"tea"}`, []string{"Likes tea", "Tea at five"}},
		"the session":       {in(loci.Vars{loci.VarSession: "now"}), `{"query":"tea","include_conversation":true}`, []string{"Likes tea", "Tea at five", "The tea is cold, my key is [REDACTED]"}},
		"the thread":        {in(loci.Vars{loci.VarThread: "before"}), `{"query":"tea","include_conversation":true}`, []string{"Likes tea", "Tea at five", "Tea in an earlier session"}},
		"session first":     {in(loci.Vars{loci.VarThread: "before", loci.VarSession: "now"}), `{"query":"cold","include_conversation":true}`, []string{"The tea is cold, my key is [REDACTED]"}},
		"an unknown one":    {in(loci.Vars{loci.VarSession: "never"}), `{"query":"tea","include_conversation":true}`, []string{"Likes tea", "Tea at five"}},
		"messages, no tags": {in(loci.Vars{loci.VarSession: "now"}), `{"query":"tea","include_conversation":true,"tags":["drinks"]}`, []string{"Tea at five"}},
		"messages, no key":  {in(loci.Vars{loci.VarSession: "now"}), `{"query":"tea","include_conversation":true,"filter":{"subject":"user"}}`, nil},
	} {
		var got []string
		for _, hit := range notes(t, set, c.caller, c.args) {
			got = append(got, hit.Text)
			if (hit.Source == sourceConversation) != (hit.NoteID == "") || hit.Score < 0 || hit.Score > 1 {
				t.Errorf("%s: hit %+v", name, hit)
			}
		}
		slices.Sort(got)
		if c.args == `{"query":"cold","include_conversation":true}` {
			got = slices.DeleteFunc(got, func(text string) bool { return !strings.Contains(text, "cold") })
		}
		if got = slices.DeleteFunc(got, func(text string) bool { return text == "What about coffee?" }); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if hits := notes(t, set, in(loci.Vars{loci.VarSession: "now"}), `{"query":"tea","include_conversation":true,"top_k":2}`); len(hits) != 2 {
		t.Errorf("top_k: %+v", hits)
	}
}

func TestNotesNeedUser(t *testing.T) {
	calls := map[string]string{
		"memory_search": `{"query":"x"}`, "memory_save": `{"content":"x"}`,
		"memory_update": object("note_id", someID, "content", "x"), "memory_delete": object("note_id", someID),
	}
	org := caller(t, loci.Vars{"org_id": "acme", "agent_id": "alpha"})
	set := newNotes(t)
	for name, args := range calls {
		refused(t, set, name, org, args, loci.Forbidden, "user context is not available")
	}
	// The operator may say where notes are without a user.
	shared := newSet(t, Instance{Family: FamilyNotes, Namespace: []string{"org", "{org_id}"}})
	save(t, shared, org, "Shared note")
	same(t, "with a template", texts(notes(t, shared, org, `{"query":"shared"}`)), []string{"Shared note"})
}

func TestMemoryNotConfigured(t *testing.T) {
	set := setOver(t, nil, Config{Entries: []Instance{{Family: FamilyFacts}, {Family: FamilyNotes}}})
	for name, args := range map[string]string{
		"manage_memory": `{"content":"x"}`, "search_memory": `{"query":"x"}`,
		"memory_search": `{"query":"x"}`, "memory_save": `{"content":"x"}`,
		"memory_update": object("note_id", someID, "content", "x"), "memory_delete": object("note_id", someID),
	} {
		refused(t, set, name, user(t, "u-1"), args, loci.Unavailable, "memory is not configured")
		refused(t, set, name, caller(t, nil), args, loci.Unavailable, "memory is not configured")
	}
}

// What one channel saves, another finds: notes belong to the user.
func TestNotesAcrossThreads(t *testing.T) {
	set, u := newNotes(t), user(t, "u-1")
	chat, err := u.Principal.With(loci.Vars{loci.VarThread: "terminal"})
	if err != nil {
		t.Fatal(err)
	}
	save(t, set, Caller{Principal: chat}, "Likes tea")
	other, err := u.Principal.With(loci.Vars{loci.VarThread: "phone", loci.VarSession: "s-2"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "from another thread", texts(notes(t, set, Caller{Principal: other}, `{"query":"tea"}`)), []string{"Likes tea"})
}

// An item that a program keeps under a key of its own is not a note.
func TestItemsAreNoNotes(t *testing.T) {
	engine, u := newEngine(t, loci.Options{}), user(t, "u-1")
	set := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes}}})
	put(t, engine, u, loci.Namespace{"user", "u-1"}, "settings", `{"title":"tea settings"}`)
	same(t, "notes", texts(notes(t, set, u, `{"query":"tea"}`)), nil)
}

func TestNoteTiers(t *testing.T) {
	for _, tool := range newNotes(t).Tools() {
		reads := tool.Name == "memory_search"
		if (tool.Tier == ReadOnly) != reads || tool.Annotations.ReadOnly != reads {
			t.Errorf("%s: %s, %+v", tool.Name, tool.Tier, tool.Annotations)
		}
		if changes := slices.Contains([]string{"memory_update", "memory_delete"}, tool.Name); tool.Annotations.Destructive != changes {
			t.Errorf("%s: %+v", tool.Name, tool.Annotations)
		}
		if want := map[bool]string{true: "15s", false: "10s"}[reads]; tool.Timeout.String() != want {
			t.Errorf("%s: %s", tool.Name, tool.Timeout)
		}
	}
}

// TestSavedNoteNamesWhatIsNear: a model that saves a correction as a new note hears which
// note says otherwise, beside the text, whose words are fixed.
func TestSavedNoteNamesWhatIsNear(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyNotes}, Instance{Tool: "manage_memory"}), user(t, "u-1")
	blue := save(t, set, u, "My favorite color is blue")
	reply := ok(t, set, "memory_save", u, `{"content":"My favorite color is green"}`)
	var green savedNote
	decode(t, reply.Structured, &green)
	fixed := `{"note_id":"` + green.NoteID + `","message":"Note saved successfully."`
	if reply.Text != fixed+"}" || string(reply.Structured) != fixed+`,"possible_update_of":"`+blue+`"}` {
		t.Errorf("a correction: %s, %s", reply.Text, reply.Structured)
	}
	reply = ok(t, set, "memory_save", u, `{"content":"My favorite color is green, of course"}`)
	decode(t, reply.Structured, &green)
	if green.RelatedTo == "" || green.Outcome != "" {
		t.Errorf("the same in other words: %s", reply.Structured)
	}

	seats := strings.TrimPrefix(ok(t, set, "manage_memory", u, `{"content":"The server runs PostgreSQL 16"}`).Text, "created memory ")
	reply = ok(t, set, "manage_memory", u, `{"content":"The server runs PostgreSQL 18"}`)
	var made managed
	decode(t, reply.Structured, &made)
	if reply.Text != "created memory "+made.ID || made.PossibleUpdateOf != seats {
		t.Errorf("a correction by manage_memory: %s, %s", reply.Text, reply.Structured)
	}
}
