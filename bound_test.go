//go:build !race

// These tests meet sizes one after the other and start no goroutine: the race detector has
// nothing to see, and `make test` runs them without it.

package loci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tree"
)

// Too many tags are refused in one pass: each further tag costs the same, and a tag given twice
// counts once.
func TestTagsAreBoundedFirst(t *testing.T) {
	many := func(n int) []string {
		tags := make([]string, n)
		for i := range tags {
			tags[i] = fmt.Sprintf("T%d", i)
		}
		return tags
	}
	allocations := func(n int) float64 {
		tags := many(n)
		return locitest.Allocations(func() {
			_, err := loci.CheckTags(tags)
			if want := fmt.Sprintf(
				"tags has %d entries; the limit is 16: leave some out",
				n,
			); err == nil ||
				err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
	if few, most := allocations(17), allocations(80_000); most > 2*few+20 {
		t.Errorf("17 tags take %v allocations, 80,000 take %v", few, most)
	}
	if got, err := loci.CheckTags(append(many(16), many(16)...)); err != nil || len(got) != 16 {
		t.Errorf("16 tags, each twice: %v, %v", got, err)
	}
}

// The number of values in a filter is bounded, however deep they lie. It is checked before any
// value is read.
func TestFiltersAreBounded(t *testing.T) {
	list := func(n int) []any { return make([]any, n) }
	object := func(n int) map[string]any {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprintf("k%d", i)] = i
		}
		return m
	}
	for name, filter := range map[string]map[string]any{
		"100": object(100), "a list of 99": {"a": list(99)}, "an object of 99": {"a": object(99)}, "bytes": {"a": make([]byte, 1000)},
		"two lists": {"a": list(49), "b": list(49)},
	} {
		if _, err := loci.ParseWhere(filter); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	type point struct{ A []int }
	for name, filter := range map[string]map[string]any{
		"101": object(101), "a list of 100": {"a": list(100)}, "an object of 100": {"a": object(100)}, "two lists": {"a": list(50), "b": list(50)},
		"an operator": {"a": map[string]any{"$eq": list(99)}}, "numbers": {"a": make([]float64, 100)}, "a struct": {"a": point{make([]int, 100)}},
		"raw": {"a": json.RawMessage("[" + strings.Repeat("1,", 100) + "1]")}, "a million": {"a": list(1_000_000)},
	} {
		if _, err := loci.ParseWhere(
			filter,
		); err == nil ||
			err.Error() != "filter has more than 100 conditions: leave some out" {
			t.Errorf("%s: %v", name, err)
		}
	}
	few, many := map[string]any{"a": object(200)}, map[string]any{"a": object(50_000)}
	cost := func(filter map[string]any) float64 {
		return locitest.Allocations(func() { _, _ = loci.ParseWhere(filter) })
	}
	if a, b := cost(few), cost(many); b > 2*a+20 {
		t.Errorf("200 values take %v allocations, 50,000 take %v", a, b)
	}
}

// The scopes and kinds of a search are bounded in number: each is compared with every record.
func TestSearchesAreBounded(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m := locitest.Bind(t, e, "user", "u")
	for _, n := range []int{loci.MaxScopes, loci.MaxScopes + 1} {
		scopes := strings.Split(strings.Repeat("s", n), "")
		_, err := m.Search(t.Context(), loci.Query{Text: "x", Scopes: scopes})
		if (err != nil) != (n > loci.MaxScopes) {
			t.Errorf("%d scopes: %v", n, err)
		}
		if _, err = m.Recall(
			t.Context(),
			loci.RecallQuery{Topic: "x", Scopes: scopes},
		); (err != nil) != (n > loci.MaxScopes) {
			t.Errorf("recall of %d scopes: %v", n, err)
		}
	}
	if _, err := m.Search(t.Context(), loci.Query{Kinds: make([]loci.Kind, 33)}); err == nil {
		t.Error("33 kinds are searched")
	}
	if _, _, err := m.Events(
		t.Context(),
		loci.EventFilter{Types: make([]loci.EventType, len(loci.EventTypes)+1)},
		loci.Page{},
	); err == nil {
		t.Error("events of more types than there are")
	}
}

// JSON that could not be stored as it was sent is refused wherever a program hands it over.
// Items and messages may hold NUL, as they always could.
func TestJSONIsStoredAsSent(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m, ctx := locitest.Bind(t, e, "user", "u"), t.Context()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	put := func(value string) error { return item.Of(m).Put(ctx, m.View().Namespace, "k", raw(value), nil) }
	for name, store := range map[string]func(value string) error{
		"item": put,
		"fact": func(v string) error { _, err := m.StoreFact(ctx, loci.NewFact{Value: raw(v)}); return err },
		"session": func(v string) error {
			_, err := session.Of(m).Create(ctx, session.New{Metadata: raw(v)})
			return err
		},
		"message": func(v string) error {
			_, err := session.ParseMessage(raw(`{"type":"human","data":{"content":"","x":` + v + `}}`))
			return err
		},
		"messages": func(v string) error {
			return session.Message{Type: session.MessageHuman, Data: raw(`{"content":"","x":` + v + `}`)}.Validate()
		},
		"chat": func(v string) error {
			_, err := tree.ParseChat(raw(`[{"role":"user","content":"","x":` + v + `}]`))
			return err
		},
		"import": func(v string) error {
			_, err := session.Of(m).Import(ctx, strings.NewReader(`{"format":"loci.session","version":1,"messages":[],"session":{"metadata":`+v+`}}`), session.Import{})
			return err
		},
		"lines": func(v string) error {
			_, err := m.Import(ctx, strings.NewReader(`{"type":"entity","name":"n","observations":["o"],"x":`+v+"}\n"), nil)
			return err
		},
	} {
		for _, bad := range []string{`{"a":"\ud800"}`, `{"\udfff":1}`, `{"a":{"b":1,"b":2}}`, "{\"a\":\"\xff\"}"} {
			if err := store(bad); err == nil || loci.AsError(err).Code != loci.Invalid {
				t.Errorf("%s: %s: %v", name, bad, err)
			}
		}
		if err := store(`{"a":"\ud83d\ude00"}`); err != nil {
			t.Errorf("%s: a whole pair: %v", name, err)
		}
	}
	for _, name := range []string{`{"TYPE":"entity","name":"n"}`, `{"type":"entity","Name":"n"}`, `{"type":"header","format":"loci.export","version":1,"Version":1}`} {
		if _, err := m.Import(
			ctx,
			strings.NewReader(name+"\n"),
			nil,
		); err == nil ||
			!strings.Contains(err.Error(), "is unknown: write it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A version that no program ever wrote is the caller's fault; one from the future is not.
func TestVersionsOfImports(t *testing.T) {
	e, err := loci.New(memory.Open(), &loci.Options{Features: locitest.Features()})
	if err != nil {
		t.Fatal(err)
	}
	m := locitest.Bind(t, e, "user", "u")
	for version, want := range map[int]loci.Code{-1: loci.Invalid, 0: loci.Invalid, 2: loci.Unsupported} {
		_, err := m.Import(
			t.Context(),
			strings.NewReader(fmt.Sprintf(`{"type":"header","format":"loci.export","version":%d}`+"\n", version)),
			nil,
		)
		if loci.AsError(err).Code != want {
			t.Errorf("export of version %d: %v", version, err)
		}
		_, err = session.Of(m).Import(t.Context(), bytes.NewReader([]byte(fmt.Sprintf(`{"format":"loci.session","version":%d,"messages":[]}`, version))), session.Import{})
		if loci.AsError(err).Code != want {
			t.Errorf("session of version %d: %v", version, err)
		}
	}
}

// The parts of a message are bounded, since others compare them with one another.
func TestPartsOfMessagesAreBounded(t *testing.T) {
	for name, data := range map[string]string{
		"tool_calls":         `"content":"","tool_calls":[%s]`,
		"invalid_tool_calls": `"content":"","invalid_tool_calls":[%s]`,
		"content":            `"content":[%s]`,
	} {
		for _, n := range []int{session.MaxMessageParts, session.MaxMessageParts + 1} {
			part := `{"name":"f","args":{}}`
			if name != "tool_calls" {
				part = `{"type":"text"}`
			}
			parts := strings.TrimSuffix(strings.Repeat(part+",", n), ",")
			_, err := session.ParseMessage([]byte(`{"type":"ai","data":{` + fmt.Sprintf(data, parts) + `}}`))
			if (err != nil) != (n > session.MaxMessageParts) || err != nil && !strings.Contains(err.Error(), "; the limit is 10000: split the message") {
				t.Errorf("%d %s: %v", n, name, err)
			}
		}
	}
}

// A message whose line in an export would be too long is refused: JSON writes each of these
// bytes as two.
func TestImportOfTooMuch(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Content: loci.ContentOptions{KeepSecrets: true},
	}), "u") // it never comes to a store
	locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"a":"b"}`, &item.PutOptions{Index: []string{}})
	long := strings.Replace(locitest.Exported(t, m), `"a":"b"`, `"a":"`+strings.Repeat("\u2028", 18<<20/3)+`"`, 1)
	_, err := m.Import(t.Context(), strings.NewReader(long), nil)
	locitest.WantCode(t, err, loci.TooLarge)
	if err == nil || !strings.Contains(err.Error(), "too much for one memory") {
		t.Errorf("error %v", err)
	}
}
