package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestArguments: each wrong argument is refused with a sentence that names it and says what to
// pass, and nothing is stored.
func TestArguments(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyFacts}, Instance{Family: FamilyNotes})
	u := user(t, "u-1")
	const (
		takesManage = "this tool takes content, action, id, metadata"
		takesSearch = "this tool takes query, limit, offset, filter, min_score, since, until"
	)
	for _, c := range []struct{ tool, args, message string }{
		{"manage_memory", `{"content":"x","colour":1}`, `unknown argument "colour": ` + takesManage},
		{"manage_memory", `{"Content":"x"}`, `unknown argument "Content": ` + takesManage},
		{"manage_memory", `{"content":"x","action":"create","content":"y"}`, `argument "content" is given twice: give it once`},
		{"manage_memory", `{"content":"x","content":"y"}`, `argument "content" is given twice: give it once`},
		{"manage_memory", `{"content":7}`, `content must be a string or an object, got the number 7: write it in quotes`},
		{"manage_memory", `{"content":["x"]}`, `content must be a string or an object, got a list: pass a string or an object`},
		{"manage_memory", `{"content":"x","action":true}`, `action must be a string, got true: write it in quotes`},
		{"manage_memory", `{"content":"x","id":{}}`, `id must be a string, got an object: pass a string`},
		{"manage_memory", `{"content":"x","metadata":"{\"a\":1}"}`, `metadata must be an object, got a string: pass the object itself, not its text`},
		{"manage_memory", `{"content":"x","metadata":[]}`, `metadata must be an object, got a list: pass an object`},
		{"search_memory", `{"query":"x","limit":"5"}`, `limit must be an integer, got a string: write the number without quotes`},
		{"search_memory", `{"query":"x","limit":5.5}`, `limit must be an integer, got the number 5.5: pass a whole number`},
		{"search_memory", `{"query":"x","limit":5e-1}`, `limit must be an integer, got the number 5e-1: pass a whole number`},
		{"search_memory", `{"query":"x","limit":1e999}`, `limit must be an integer, got the number 1e999: pass one from -9223372036854775808 to 9223372036854775807`},
		{"search_memory", `{"query":"x","limit":99999999999999999999}`, `limit must be an integer, got the number 99999999999999999999: pass one from -9223372036854775808 to 9223372036854775807`},
		{"search_memory", `{"query":"x","limit":false}`, `limit must be an integer, got false: pass an integer`},
		{"search_memory", `{"query":null}`, `argument query is missing: pass a string`},
		{"search_memory", `{"q":"x","limit":"5","filter":3}`, `unknown argument "q": ` + takesSearch +
			`; limit must be an integer, got a string: write the number without quotes; filter must be an object, got the number 3: pass an object; argument query is missing: pass a string`},
		{"memory_search", `{"query":"x","include_conversation":"yes"}`, `include_conversation must be true or false, got a string: write it without quotes`},
		{"memory_search", `{"query":"x","tags":"work"}`, `tags must be a list of strings, got a string: put it in a list`},
		{"memory_search", `{"query":"x","tags":["a",null]}`, `tags[1] must be a string: pass a list of strings`},
		{"memory_save", `{"content":{"a":1}}`, `content must be a string, got an object: pass a string`},
		{"memory_save", `[]`, `arguments must be a JSON object, got a list`},
		{"memory_save", `"content"`, `arguments must be a JSON object, got a string`},
		{"memory_save", `{"content":"x"`, `arguments are not valid JSON: pass one JSON object`},
		{"memory_save", `{"content":"x"} {}`, `arguments are not valid JSON: pass one JSON object`},
		{"memory_save", "{\"content\":\"\xff\"}", `arguments are not valid UTF-8`},
		{"memory_save", ``, `argument content is missing: pass a string`},
		{"memory_save", `null`, `argument content is missing: pass a string`},
		{"search_memory", `{"query":"x","filter":` + strings.Repeat(`{"a":`, 64) + `1` + strings.Repeat(`}`, 64) + `}`, `arguments nest deeper than 64 levels: flatten them`},
	} {
		refused(t, set, c.tool, u, c.args, loci.Invalid, c.message)
	}
	if n := len(search(t, set, u, `{"query":""}`)); n != 0 {
		t.Errorf("refused calls stored %d memories", n)
	}
	id := create(t, set, u, `{"content":"x","action":null,"id":null,"metadata":null}`)
	for _, args := range []string{`{"query":"x","limit":5.0}`, `{"query":"x","limit":5e0,"offset":null,"filter":null}`, ` {"query" : "x" } `,
		`{"query":"\"` + strings.Repeat("[", 99) + `","filter":{"a":"\\"}}`} {
		ok(t, set, "search_memory", u, args)
	}
	if got := search(t, set, u, `{"query":"x","limit":1.0}`); len(got) != 1 || got[0].Key != id {
		t.Errorf("found %+v", got)
	}
}

func TestArgumentSize(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyNotes}), user(t, "u-1")
	huge := object("content", strings.Repeat("x", DefaultMaxArguments))
	refused(t, set, "memory_save", u, huge, loci.TooLarge, "arguments have 1048590 bytes; the limit is 1048576: send less at once")
	small := setOver(t, newEngine(t, loci.Options{}), Config{
		MaxArguments: 256,
		Entries:      []Instance{{Family: FamilyNotes}},
	})
	refused(t, small, "memory_save", u, object("content", strings.Repeat("x", 300)), loci.TooLarge, "arguments have 314 bytes; the limit is 256: send less at once")
	refused(t, set, "memory_save", u, object("content", strings.Repeat("x", loci.DefaultMaxContent+1)), loci.TooLarge,
		"content has 262145 characters; the limit is 262144: split it")
}

// An object is stored as its text: one that is too long is refused before anything is made of its members.
func TestLongObjectsAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	cost := func(n int) float64 {
		args := `{"content":{"a":[` + strings.Repeat(`"\u0041\n", `, n) + `1]}}`
		said := fmt.Sprintf("content has %d bytes; the limit is 262144: split it", 5*n+9)
		return locitest.Allocations(func() { refused(t, set, "manage_memory", u, args, loci.TooLarge, said) })
	}
	if few, many := cost(55_000), cost(80_000); many > 2*few+20 || few > 1000 {
		t.Errorf("55,000 values take %v allocations, 80,000 take %v", few, many)
	}
	ok(t, set, "manage_memory", u, `{"content":{"a":["\u00e4"`+strings.Repeat(" ", 300_000)+`]}}`)
}

// Of many arguments that a tool does not know, some are named.
func TestManyUnknownArguments(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	cost := func(n int) float64 {
		args := []byte(`{"a":1`)
		for i := range n {
			args = fmt.Appendf(args, `,"u%d":1`, i)
		}
		args = append(args, '}')
		return locitest.Allocations(func() {
			tool, _ := set.Lookup("manage_memory")
			if _, err := tool.Call(t.Context(), u, args); err == nil || !strings.Contains(err.Error(), `unknown argument "u2"`) {
				t.Error(err)
			}
		})
	}
	if few, many := cost(1000), cost(10_000); many > few+2.5*9000 { // each has a name
		t.Errorf("1,000 arguments take %v allocations, 10,000 take %v", few, many)
	}
}

// The answer is short, however much of what was sent is wrong.
func TestErrorsAreShort(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	tool, _ := set.Lookup("search_memory")
	many := map[string]any{"query": "x"}
	for i := range 1000 {
		many[strings.Repeat("é", i)] = i
	}
	args, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{string(args),
		object("query", "x", "filter", map[string]any{"a": map[string]any{"$" + strings.Repeat("é", 9999): 1}})} {
		_, err := tool.Call(t.Context(), u, json.RawMessage(args))
		e := loci.AsError(err)
		if e == nil || e.Code != loci.Invalid || utf8.RuneCountInString(e.Msg) > 1002 || !utf8.ValidString(e.Msg) {
			t.Errorf("%.2000v", err)
		}
	}
}

func TestTenantArguments(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyFacts}, Instance{Family: FamilyNotes})
	operator := user(t, "u-1", loci.Scopes...)
	for _, tool := range set.Tools() {
		for _, name := range []string{"tenant", "tenant_id", "tenantId", "TENANT", "org_tenant", "Tenant-ID", "x.tenant.y"} {
			args := object(name, "t1", "query", 7) // even the caller's own, and before any other fault
			refused(t, set, tool.Name, user(t, "u-1"), args, loci.Forbidden,
				`argument "`+name+`" is refused: the tenant follows from the credential and cannot be chosen by a call`)
			_, err := tool.Call(t.Context(), operator, json.RawMessage(args))
			if e := loci.AsError(err); e == nil || e.Code != loci.Invalid || !strings.Contains(e.Msg, `unknown argument "`+name+`"`) {
				t.Errorf("%s, operator: %v", tool.Name, err)
			}
		}
		for _, lacking := range [][]loci.Scope{{loci.ScopeAdmin}, {loci.ScopeElevate}} {
			who := user(t, "u-1", append(lacking, loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)...)
			_, err := tool.Call(t.Context(), who, json.RawMessage(`{"tenant":"t2"}`))
			if !errors.Is(err, loci.ErrForbidden) {
				t.Errorf("%s with %v: %v", tool.Name, lacking, err)
			}
		}
	}
	// Inside a text or a filter the word is data.
	create(t, set, user(t, "u-1"), `{"content":"The tenant pays","metadata":{"tenant":"Smith"}}`)
	if got := search(t, set, user(t, "u-1"), `{"query":"tenant","filter":{"tenant":"Smith"}}`); len(got) != 1 {
		t.Errorf("found %+v", got)
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `{"content":"x","action":"create"}`, `{"query":"x","limit":1e2,"filter":{"a":{"$gt":[1]}}}`,
		`{"note_id":"note-","content":"\ud800"}`, `{"tenant":1}`, `{"query":"\u0000","tags":["a"]}`, `[[[[`, `{"a":1,"a":2}`, "{\"\xff\":1}",
		`{"id":"` + someID + `","action":"delete"}`, `{"content":{"content":null}}`, `{"query":"","offset":-0}`} {
		f.Add(seed)
	}
	set := newSet(f, Instance{
		Family:         FamilyFacts,
		ResponseFormat: FormatContentAndArtifact,
	}, Instance{Family: FamilyNotes})
	u := user(f, "u-1")
	f.Fuzz(func(t *testing.T, args string) {
		for _, tool := range set.Tools() {
			reply, err := tool.Call(t.Context(), u, json.RawMessage(args))
			if err != nil {
				var e *loci.Error
				if !errors.As(err, &e) || e.Code == "" || e.Code == loci.Internal || e.Code == loci.Unavailable {
					t.Fatalf("%s(%q): %v", tool.Name, args, err)
				}
				reply = ErrorReply(err)
			}
			if reply.Text == "" || !utf8.ValidString(reply.Text) {
				t.Fatalf("%s(%q): text %q", tool.Name, args, reply.Text)
			}
			conforms(t, tool, reply)
		}
	})
}
