package tool

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// Where not even one row fits the cap, a list and a reading end without any.
func TestARowBeyondTheCap(t *testing.T) {
	e := newEngine(t, loci.Options{})
	set := setOver(t, e, Config{ReplyCap: 512, Entries: []Instance{{Family: FamilySessions}}})
	ada := user(t, "ada")
	id := strings.Repeat("long", 60)
	say(t, talkOf(t, e, ada), id, strings.Repeat("🦭", 200), strings.Repeat("y", 900))
	if text := ok(t, set, "memory_list_sessions", ada, `{}`).Text; text != `{"sessions":[]}` {
		t.Errorf("a list: %s", text)
	}
	want := fmt.Sprintf(`{"session_id":%q,"messages":[]}`, id)
	if text := ok(t, set, "memory_read_session", ada, object("session_id", id)).Text; text != want {
		t.Errorf("a reading: %s", text)
	}
}

// A content of two KiB is shown whole in a list, one of a byte more by its best passage.
func TestTheLongestContentOfAList(t *testing.T) {
	for _, size := range []int{2048, 2049} {
		set, u := newMemoryTools(t), general(t)
		text := "tea " + strings.Repeat("x", size-len("tea ")-1) + "."
		storeOne(t, set, u, "memory_store_fact", object("subject", "s", "predicate", "p", "content", text))
		list, _ := results(t, ok(t, set, "memory_search", u, `{"query":"tea"}`))
		if len(list) != 1 || list[0].Excerpt != (size > 2048) || !list[0].Excerpt && list[0].Content != text {
			t.Errorf("%d bytes: %+v", size, list)
		}
	}
}

// Of the lines where a text occurs forty are named, and more are said to be more.
func TestOccurrencesThatAreNamed(t *testing.T) {
	for _, n := range []int{40, 41} {
		set, u := newSet(t, Instance{Family: FamilyClaude}), user(t, "u-1")
		ok(t, set, "memory", u, object("command", "create", "path", "/memories/a.md", "file_text", strings.Repeat("same\n", n)))
		tl, _ := set.Lookup("memory")
		_, err := tl.Call(t.Context(), u, json.RawMessage(`{"command":"str_replace","path":"/memories/a.md","old_str":"same","new_str":"x"}`))
		if err == nil || !strings.Contains(err.Error(), ", 39, 40") || strings.Contains(err.Error(), ", 40, …. Please") != (n > 40) {
			t.Errorf("%d lines: %v", n, err)
		}
	}
}

// A reading is never longer than the cap, and not much shorter where there is more to show.
func TestAReadingFillsTheCap(t *testing.T) {
	e, ada := newEngine(t, loci.Options{}), user(t, "ada")
	var texts []string
	for i := range 40 {
		texts = append(texts, fmt.Sprintf("message %d", i))
	}
	say(t, talkOf(t, e, ada), "s", texts...)
	for most := 512; most < 712; most += 5 {
		set := setOver(t, e, Config{ReplyCap: most, Entries: []Instance{{Family: FamilySessions}}})
		text := ok(t, set, "memory_read_session", ada, object("session_id", "s")).Text
		if len(text) > most || len(text) < most-150 {
			t.Errorf("%d bytes of %d: %s", len(text), most, text)
		}
	}
}
