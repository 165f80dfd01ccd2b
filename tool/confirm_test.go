package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// Each tool that changes something has a toll: whoever adds one decides whether a person is
// asked before a call of it. What only reads has none, and no row is left over.
func TestEveryToolHasAToll(t *testing.T) {
	var entries []Instance
	for n, family := range Families() {
		entries = append(entries, Instance{Family: family, Prefix: fmt.Sprintf("f%d_", n)})
	}
	set, left := newSet(t, entries...), map[[2]string]bool{}
	for key := range tolls {
		left[key] = true
	}
	for _, one := range set.Tools() {
		key := [2]string{one.Family, one.Original}
		toll, there := tolls[key]
		if there == one.Reads() {
			t.Errorf("%v reads: %v, and has the toll %q: put each tool that changes something into the table, and no other", key, one.Reads(), toll)
		}
		if one.Toll() != toll && there || one.Reads() && one.Toll() != TollNone {
			t.Errorf("%v has the toll %q", key, one.Toll())
		}
		if toll == TollMany && !one.Annotations.Destructive {
			t.Errorf("%v takes many memories and does not say that it is destructive", key)
		}
		delete(left, key)
	}
	for key := range left {
		t.Errorf("there is no tool %v", key)
	}
}

// bulk are a call of each tool that may take many memories, and what is there before it.
var bulk = []struct {
	family, tool, args, question string
	fill                         func(t *testing.T, e *loci.Engine, set *Set, c Caller, more string)
	items                        int64
}{
	{FamilyFiles, "memory", `{"command":"delete","path":"/d"}`,
		"Delete the directory /d with 2 files (8 bytes)? They are /d/a, /d/b. " +
			"Their earlier versions go with them, and this cannot be undone.", fillFiles, 2},
	{FamilyFiles, "memory", `{"command":"delete","path":"/"}`,
		"Delete everything in the memory with 2 files (8 bytes)? They are /d/a, /d/b. " +
			"Their earlier versions go with them, and this cannot be undone.", fillFiles, 2},
	{FamilyClaude, "memory", `{"command":"delete","path":"/memories/d"}`,
		"Delete the directory /memories/d with 2 files (8 bytes)? They are /memories/d/a, /memories/d/b. " +
			"Their earlier versions go with them, and this cannot be undone.", fillFiles, 2},
	{FamilySessions, "memory_delete_session", `{"session_id":"trip"}`,
		`Delete the conversation "Where is \u202e it?" ("trip") with 2 messages, of DATE to DATE? This cannot be undone.`,
		func(t *testing.T, e *loci.Engine, _ *Set, c Caller, more string) {
			texts := []string{"Where is \u202e it?", "There."}
			if more != "" {
				texts = []string{more}
			}
			say(t, talkOf(t, e, c), "trip", texts...)
		}, 2},
}

func fillFiles(t *testing.T, e *loci.Engine, _ *Set, c Caller, more string) {
	t.Helper()
	set := setOver(t, e, Config{Entries: []Instance{{Family: FamilyFiles}}})
	for _, name := range []string{"a", "b", more} {
		if name != "" && (more == "" || name == more) {
			ok(t, set, "memory", c, object("command", "append", "path", "/d/"+name, "content", "text"))
		}
	}
}

// Each tool that may take many memories asks, does what was shown once that is agreed to, and
// takes nothing that came since.
func TestBulkCallsNeedAnAgreement(t *testing.T) {
	covered := map[[2]string]bool{}
	for _, b := range bulk {
		t.Run(b.family+" "+b.args, func(t *testing.T) {
			covered[[2]string{b.family, b.tool}] = true
			e := newEngine(t, loci.Options{})
			set := setOver(t, e, Config{Entries: []Instance{{Family: b.family}}})
			c := user(t, "u-1")
			one, _ := set.Lookup(b.tool)
			call := func(c Caller) (*UnconfirmedError, *loci.Error) {
				t.Helper()
				r, err := one.Call(t.Context(), c, json.RawMessage(b.args))
				if err == nil {
					err = r.Err
				}
				if err == nil {
					return nil, nil
				}
				var ask *UnconfirmedError
				errors.As(err, &ask)
				return ask, loci.AsError(err)
			}
			asking := c
			asking.Confirms = true

			b.fill(t, e, set, c, "")
			ask, err := call(asking)
			if ask == nil || ask.Items != b.items || ask.Changed || err.Code != loci.Forbidden ||
				!strings.Contains(err.Advice(), "loci ") || ask.Mark == "" {
				t.Fatalf("asked %+v, %v", ask, err)
			}
			if got := undated(ask.Question); got != b.question {
				t.Errorf("asked\n %s\nwant\n %s", got, b.question)
			}
			agreed := asking
			agreed.Agreed = ask.Mark
			b.fill(t, e, set, c, "late")
			ask, err = call(agreed)
			if ask == nil || ask.Items != b.items+1 || !ask.Changed || err.Code != loci.Conflict {
				t.Fatalf("after more came: %+v, %v", ask, err)
			}
			ask, _ = call(asking)
			if ask == nil || ask.Items != b.items+1 || ask.Changed {
				t.Fatalf("what came is gone: %+v", ask)
			}
			agreed.Agreed = ask.Mark
			if ask, err := call(agreed); err != nil {
				t.Fatalf("agreed: %+v, %v", ask, err)
			}
			b.fill(t, e, set, c, "")
			if ask, err := call(c); err != nil {
				t.Fatalf("where nobody is asked: %+v, %v", ask, err)
			}
			b.fill(t, e, set, c, "one")
			if ask, err := call(asking); err != nil {
				t.Fatalf("one memory: %+v, %v", ask, err)
			}
			reader := user(t, "u-1", loci.ScopeRead, loci.ScopeWrite)
			reader.Confirms = true
			if ask, err := call(reader); ask != nil || err == nil || err.Code != loci.Forbidden {
				t.Errorf("without the scope: %+v, %v", ask, err)
			}
		})
	}
	for key, toll := range tolls {
		if toll == TollMany && !covered[key] {
			t.Errorf("no test calls %v", key)
		}
	}
}

// undated is a question without the days on which a test runs.
func undated(text string) string {
	words := strings.Fields(text)
	for n, w := range words {
		if len(strings.TrimRight(w, "?")) == len("2026-01-02") && strings.Count(w, "-") == 2 {
			words[n] = "DATE" + w[len("2026-01-02"):]
		}
	}
	return strings.Join(words, " ")
}

// The toll of one memory is one memory at most, whatever a call names.
func TestSmallTollsAreSmall(t *testing.T) {
	set := newSet(t, bothFamilies...)
	c := user(t, "u-1")
	for i := range 3 {
		save(t, set, c, fmt.Sprintf("note number %d", i))
		create(t, set, c, object("content", fmt.Sprintf("fact number %d", i)))
	}
	count := func() int {
		return len(search(t, set, c, `{"query":"","limit":100}`)) + len(notes(t, set, c, `{"query":"number","top_k":20}`))
	}
	before := count()
	for _, one := range set.Tools() {
		if one.Toll() != TollOne {
			continue
		}
		for _, id := range []string{"*", "%", "", "note-*", "note-%", "user"} {
			for _, args := range []string{object("note_id", id), object("action", "delete", "id", id)} {
				if _, err := one.Call(t.Context(), c, json.RawMessage(args)); err == nil {
					t.Errorf("%s took %s", one.Name, args)
				}
			}
		}
	}
	if after := count(); after != before {
		t.Errorf("%d of %d memories are left", after, before)
	}
}

// late is a store in which somebody else writes just before a delete is stored.
type late struct {
	loci.Store
	meanwhile func()
}

func (s *late) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if len(c.Erase) > 0 && s.meanwhile != nil {
		then := s.meanwhile
		s.meanwhile = nil
		then()
	}
	return s.Store.Apply(ctx, t, c)
}

// What comes between the last look and the delete was not shown either.
func TestNothingComesBetweenTheLookAndTheDelete(t *testing.T) {
	for _, b := range bulk {
		t.Run(b.family+" "+b.args, func(t *testing.T) {
			inner := locitest.OpenMemory()
			store := &late{Store: inner}
			e := locitest.NewEngine(t, store, loci.Options{Embedder: words{}})
			others := locitest.NewEngine(t, inner, loci.Options{Embedder: words{}})
			set := setOver(t, e, Config{Entries: []Instance{{Family: b.family}}})
			c := user(t, "u-1")
			b.fill(t, e, set, c, "")
			one, _ := set.Lookup(b.tool)
			c.Confirms = true
			call := func() error {
				r, err := one.Call(t.Context(), c, json.RawMessage(b.args))
				return cmp.Or(err, r.Err)
			}
			var ask *UnconfirmedError
			if err := call(); !errors.As(err, &ask) {
				t.Fatal(err)
			}
			c.Agreed = ask.Mark
			store.meanwhile = func() { b.fill(t, others, set, c, "late") }
			if err := call(); !errors.Is(err, loci.ErrConflict) {
				t.Errorf("the delete took what came: %v", err)
			}
			if err := call(); !errors.As(err, &ask) || ask.Items != b.items+1 {
				t.Errorf("not all is left: %v", err)
			}
		})
	}
}
