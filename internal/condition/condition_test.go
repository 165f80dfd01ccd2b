package condition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/jsonform"
)

// holds parses a filter of the key k and asks it about a value; "" stands for none.
func holds(t *testing.T, filter, value string) bool {
	t.Helper()
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(`{"k":` + filter + `}`))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		t.Fatal(err)
	}
	set, err := Parse(object)
	if err != nil || len(set) != 1 || set[0].Key != "k" {
		t.Fatalf("%s: %+v, %v", filter, set, err)
	}
	if value == "" {
		return set[0].Holds(nil)
	}
	have, err := jsonform.Decode([]byte(value))
	if err != nil {
		t.Fatal(err)
	}
	return set[0].Holds(have)
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		filter, value string
		want          bool
	}{
		{`"a"`, `"a"`, true}, {`"a"`, `"b"`, false}, {`"a"`, "", false}, {`null`, "", true}, {`null`, `0`, false},
		{`true`, `true`, true}, {`true`, `1`, false}, {`1`, `"1"`, false}, {`"1"`, `1`, false},
		{`1`, `1.0`, true}, {`100`, `1e2`, true}, {`9007199254740993`, `9007199254740992`, false},
		{`[1,2]`, `[1,2.0]`, true}, {`[1,2]`, `[2,1]`, false}, {`[1]`, `[1,2]`, false}, {`[1]`, `1`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, true}, {`{"a":1}`, `{"b":2}`, false}, {`{"a":1}`, `1`, false}, {`{"a":null}`, `{}`, true},
		{`{"a":{"$gt":1}}`, `{"a":2}`, true}, {`[{"$gt":1}]`, `[2]`, true}, {`[{"$gt":1}]`, `[1]`, false},
		{`{"$eq":{"a":1}}`, `{"a":1,"b":2}`, false}, {`{"$eq":{"a":1}}`, `{"a":1.0}`, true}, {`{"$eq":[1]}`, `[1.0]`, true},
		{`{"$ne":1}`, "", true}, {`{"$ne":1}`, `1.0`, false}, {`{"$ne":1}`, `"x"`, true},
		{`{"$gt":1}`, `1`, false}, {`{"$gt":1}`, `1.5`, true}, {`{"$gte":1}`, `1`, true}, {`{"$gte":1}`, `0`, false},
		{`{"$lt":1}`, `1`, false}, {`{"$lt":1}`, `0`, true}, {`{"$lte":1}`, `1`, true}, {`{"$lte":1}`, `2`, false},
		{`{"$gt":"a"}`, `"b"`, true}, {`{"$gt":"10"}`, `"9"`, true}, {`{"$gt":10}`, `"9"`, false}, {`{"$lt":10}`, `"9"`, true},
		{`{"$gt":1}`, "", false}, {`{"$lte":1}`, "", false}, {`{"$gt":"a"}`, `1`, false}, {`{"$gt":1}`, `[2]`, false},
		{`{"$gt":1,"$lt":3}`, `2`, true}, {`{"$gt":1,"$lt":3}`, `3`, false},
		{`{"$gt":1}`, `"` + strings.Repeat("9", 65) + `"`, false}, // no number that people write
	} {
		if got := holds(t, c.filter, c.value); got != c.want {
			t.Errorf("%s of %s: %v", c.filter, c.value, got)
		}
	}
}

func nested(depth int) any {
	if depth == 0 {
		return 1
	}
	return map[string]any{"a": nested(depth - 1)}
}

// TestParseRefuses: a bad filter is an error that says what is wrong, and never one that
// selects something else.
func TestParseRefuses(t *testing.T) {
	many := make([]any, Max)
	for name, c := range map[string]struct {
		filter map[string]any
		want   string
	}{
		"an operator without a field": {map[string]any{"$gt": 1}, `filter: operator $gt needs a field, as in {"field": {"$gt": value}}`},
		"an unknown operator":         {map[string]any{"k": map[string]any{"$in": []any{1}}}, "Unsupported operator: $in. Must be one of $eq, $ne, $gt, $gte, $lt, $lte"},
		"an operator beside a field":  {map[string]any{"k": map[string]any{"$gt": 1, "a": 1}}, "Unsupported operator: a."},
		"an operator in a list":       {map[string]any{"k": []any{map[string]any{"$in": 1}}}, "Unsupported operator: $in."},
		"no JSON":                     {map[string]any{"k": make(chan int)}, "filter is not JSON"},
		"too deep":                    {map[string]any{"k": nested(maxDepth + 1)}, "filter is nested deeper than 16 levels: flatten it"},
		"too many":                    {map[string]any{"k": many}, "filter has more than 100 conditions: leave some out"},
		"too many of a struct":        {map[string]any{"k": struct{ A []any }{many}}, "filter has more than 100 conditions: leave some out"},
	} {
		if _, err := Parse(c.filter); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, filter := range map[string]map[string]any{
		"as deep as may be": {"k": nested(maxDepth)},
		"as many as may be": {"k": many[:Max-1]},
		"bytes":             {"k": make([]byte, 10*Max)},
	} {
		if _, err := Parse(filter); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSlots(t *testing.T) {
	for _, c := range []struct {
		prefix, slot string
		want         bool
	}{
		{"a", "a", true}, {"a", "ab", true}, {"a", "a\xff\xff", true}, {"a", "b", false}, {"a", "A", false}, {"a", "", false},
		{"a\xff", "a\xff", true}, {"a\xff", "a\xff1", true}, {"a\xff", "b", false}, {"a\xff", "a", false},
		{"\xff", "\xff\xff", true}, {"\xff", "\xfe", false}, {"", "x", true}, {"", "", true},
	} {
		s := SlotsBeginning(c.prefix)
		if got := s.Contains(c.slot); got != c.want || s.IsZero() != (c.prefix == "") {
			t.Errorf("%q in %q, which is %+v: %v", c.slot, c.prefix, s, got)
		}
	}
}

// What meets a filter has its traces, and what has none of them need not be looked at.
func TestTraces(t *testing.T) {
	for filter, want := range map[string]string{
		`{"a":"x"}`: `["a" "x"] []`, `{"a":{"$eq":"x"}}`: `["a" "x"] []`, `{"a":17}`: `["a"] [17]`, `{"a":-3}`: `["a"] [-3]`,
		`{"a":-0}`: `["a"] []`, `{"a":1.5}`: `["a"] []`, `{"a":1e3}`: `["a"] []`, `{"a":{"$gt":17}}`: `["a"] []`,
		`{"a":{"$ne":17}}`: `[] []`, `{"a":null}`: `[] []`, `{"a":{"b":"x"}}`: `["a"] []`, `{"a":["x"]}`: `["a"] []`,
		`{"a":true,"left":"x"}`: `["a"] []`, `{"a":{"$ne":null}}`: `["a"] []`,
	} {
		object, err := jsonform.Decode([]byte(filter))
		if err != nil {
			t.Fatal(err)
		}
		set, err := Parse(object.(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		if tr := set.Trace(nil, "left"); fmt.Sprint(tr.Texts, " ", tr.Numbers) != want {
			t.Errorf("%s: %v, want %s", filter, tr, want)
		}
	}
}

// The bounds of a value are those of its operators, a little wider where numbers are rounded.
func TestRanges(t *testing.T) {
	for filter, want := range map[string]string{
		`{"$gte":10}`: `[{k true 9.99999999999}]`, `{"$lt":10}`: `[{k false 10.00000000001}]`, `{"$gt":-10}`: `[{k true -10.00000000001}]`,
		`{"$lte":-10}`: `[{k false -9.99999999999}]`, `{"$gt":"a","$lte":"b"}`: `[{k true a} {k false b}]`, `{"$gt":"10"}`: `[{k true 10}]`, `{"$lte":0}`: `[{k false 0}]`,
		`{"$gt":1e400}`: `[]`, `{"$gt":` + strings.Repeat("1", 65) + `}`: `[]`, `{"$gt":true}`: `[]`, `{"$eq":1}`: `[]`, `1`: `[]`,
	} {
		for key, want := range map[string]string{"k": want, `k"`: "[]", "k.k": "[]", "k*": "[]"} {
			object, err := jsonform.Decode([]byte(filter))
			if err != nil {
				t.Fatal(err)
			}
			set, err := Parse(map[string]any{key: object})
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(set.Trace(nil).Ranges); got != want {
				t.Errorf("%s of %s: %v, want %s", filter, key, got, want)
			}
		}
	}
}
