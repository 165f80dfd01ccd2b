//go:build !race

// These tests meet sizes one after the other and start no goroutine: the race detector has
// nothing to see, and `make test` runs them without it.

package tool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// everyTool is a set with all tools of all families.
func everyTool(t testing.TB) *Set {
	t.Helper()
	var entries []Instance
	for _, f := range Families() {
		entries = append(entries, Instance{Family: f, Prefix: f + "_"})
	}
	for i := range entries {
		if entries[i].Family == FamilyFiles || entries[i].Family == FamilyClaude {
			entries[i] = Instance{Family: entries[i].Family, Tool: "memory", Name: entries[i].Family}
		}
	}
	return newSet(t, entries...)
}

// unbounded lists the places of a schema that do not bound the size of a value.
func unbounded(schema map[string]any, place string) (missing []string) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return schema[n] != nil })
	}
	switch typ, _ := schema["type"].(string); {
	case typ == "string" && !has("enum", "maxLength"), typ == "array" && !has("maxItems"),
		typ == "object" && schema["additionalProperties"] == nil && !has("maxProperties"), typ == "" && !has("anyOf"):
		missing = append(missing, place)
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if s, ok := schema[inner].(map[string]any); ok {
			missing = append(missing, unbounded(s, place+"."+inner)...)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		missing = append(missing, unbounded(p.(map[string]any), place+"."+name)...)
	}
	forms, _ := schema["anyOf"].([]any)
	for _, f := range forms {
		missing = append(missing, unbounded(f.(map[string]any), place)...)
	}
	return missing
}

// Every list, object and text of every tool's arguments has a bound.
func TestEveryArgumentHasABound(t *testing.T) {
	tools := everyTool(t).Tools()
	if len(tools) < 15 {
		t.Fatalf("only %d tools", len(tools))
	}
	for _, tool := range tools {
		var schema map[string]any
		decode(t, tool.InputSchema, &schema)
		for _, place := range unbounded(schema, tool.Name) {
			t.Errorf("%s has no bound", place)
		}
	}
	if got := unbounded(
		map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}},
		"x",
	); len(got) != 2 {
		t.Errorf("the walk finds %v", got)
	}
}

// An argument beyond its bound is refused by every tool that has it, whatever it
// holds, and one at its bound is not refused for its size.
func TestBoundsAreEnforced(t *testing.T) {
	u := caller(t, loci.Vars{loci.VarUser: "u-1", loci.VarButler: "general"})
	large := func(schema map[string]any, over int) any {
		if n, ok := schema["maxLength"].(float64); ok {
			return strings.Repeat("x", int(n)+over)
		}
		if n, ok := schema["maxItems"].(float64); ok {
			list := make([]any, int(n)+over)
			for i := range list {
				list[i] = fmt.Sprint(i)
			}
			return list
		}
		if n, ok := schema["maxProperties"].(float64); ok {
			m := map[string]any{}
			for i := range int(n) + over {
				m[fmt.Sprint(i)] = i
			}
			return m
		}
		return nil
	}
	checked := 0
	for _, tool := range everyTool(t).Tools() {
		tool.base.cfg.MaxArguments = 16 << 20 // so that nothing else refuses it
		var schema struct {
			Properties map[string]map[string]any `json:"properties"`
		}
		decode(t, tool.InputSchema, &schema)
		for name, s := range schema.Properties {
			forms := []any{s}
			if several, ok := s["anyOf"].([]any); ok {
				forms = several
			}
			for _, form := range forms {
				for over, refused := range []bool{false, true} {
					value := large(form.(map[string]any), over)
					if value == nil {
						continue
					}
					checked++
					reply, err := tool.Call(t.Context(), u, json.RawMessage(object(name, value)))
					if err == nil {
						err = reply.Err
					}
					said := fmt.Sprint(err)
					if got := strings.HasPrefix(said, name+" has ") && !strings.Contains(said, " bytes;"); got != refused {
						t.Errorf("%s, %s with %d over its bound: %.200s", tool.Name, name, over, said)
					}
				}
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d arguments were checked", checked)
	}
}

// Too many tags are refused in one pass, and nothing is made of any tag.
func TestManyTagsAreRefusedBeforeTheyAreDecoded(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyNotes}), user(t, "u-1")
	tool, _ := set.Lookup("memory_search")
	allocations := func(n int) float64 {
		tags := make([]string, n)
		for i := range tags {
			tags[i] = fmt.Sprintf("t%06d", i)
		}
		args := json.RawMessage(object("query", "x", "tags", tags))
		return locitest.Allocations(func() {
			if _, err := tool.Call(t.Context(), u, args); err == nil || !strings.Contains(err.Error(), "tags has") {
				t.Errorf("%d tags: %v", n, err)
			}
		})
	}
	if few, many := allocations(20), allocations(60_000); many > 2*few+20 {
		t.Errorf("20 tags take %v allocations, 60,000 take %v", few, many)
	}
}

// A filter's values are counted wherever they lie before any is decoded.
func TestFiltersAreCountedBeforeTheyAreDecoded(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyFacts}), user(t, "u-1")
	tool, _ := set.Lookup("search_memory")
	cost := func(filter string) float64 {
		args := json.RawMessage(`{"query":"x","filter":` + filter + `}`)
		return locitest.Allocations(func() {
			reply, err := tool.Call(t.Context(), u, args)
			if err == nil {
				err = reply.Err
			}
			if err == nil || !strings.Contains(err.Error(), "filter has more than 100 conditions: leave some out") {
				t.Errorf("%.40s: %v", filter, err)
			}
		})
	}
	list := func(value string, n int) string {
		return `{"a":[` + strings.Repeat(value+",", n-1) + value + `]}`
	}
	for _, value := range []string{"1", `"a"`, "[]", `{"b":[1]}`} {
		if few, many := cost(list(value, 100)), cost(list(value, 50_000)); many > 2*few+20 {
			t.Errorf("100 values %s take %v allocations, 50,000 take %v", value, few, many)
		}
	}
	ok(t, set, "search_memory", u, `{"query":"x","filter":`+list("1", 99)+`}`)
}

// A text is stored as it was sent: half a pair of surrogates is refused, and names are exact.
func TestArgumentsAreStoredAsSent(t *testing.T) {
	set, u := newSet(t, Instance{Family: FamilyNotes}, Instance{Family: FamilyFacts}), user(t, "u-1")
	half := "a text of the arguments contains half of a surrogate pair, such as \\ud800: write the whole character"
	refused(t, set, "memory_save", u, `{"content":"a\ud800"}`, loci.Invalid, half)
	refused(t, set, "memory_save", u, `{"content":"a","tags":["\udc00"]}`, loci.Invalid, half)
	refused(t, set, "manage_memory", u, `{"content":"a","metadata":{"\ud800":1}}`, loci.Invalid, half)
	refused(
		t,
		set,
		"memory_save",
		u,
		`{"content":"a","CONTENT":"b"}`,
		loci.Invalid,
		`unknown argument "CONTENT": this tool takes content, tags`,
	)
	refused(
		t,
		set,
		"manage_memory",
		u,
		`{"content":{"a":1,"a":2}}`,
		loci.Invalid,
		`arguments: one has an object with the name "a" twice: give it once`,
	)
	ok(t, set, "memory_save", u, `{"content":"a \ud83d\ude00"}`)
	if got := contents(t, search(t, set, u, `{"query":""}`)); !slices.Equal(got, []string{"a 😀"}) {
		t.Errorf("stored %q", got)
	}
}
