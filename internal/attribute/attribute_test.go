package attribute

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestSplitIsTheInverseOfJoin, digits of large numbers included.
func TestSplitIsTheInverseOfJoin(t *testing.T) {
	for _, c := range []struct {
		value    string
		metadata map[string]any
		joined   string
	}{
		{"", nil, ""},
		{`{"a":9007199254740993}`, nil, `{"content":{"a":9007199254740993}}`},
		{"", map[string]any{"k": "v"}, `{"k":"v"}`},
		{`1`, nil, `{"content":1}`},
		{`"text"`, map[string]any{"k": json.Number("1.50")}, `{"content":"text","k":1.50}`},
	} {
		joined, err := Join(json.RawMessage(c.value), c.metadata)
		if err != nil || string(joined) != c.joined {
			t.Errorf("join %+v: %s, %v", c, joined, err)
		}
		value, metadata, err := Split(joined)
		if err != nil || string(value) != c.value || !reflect.DeepEqual(metadata, c.metadata) {
			t.Errorf("split %s: %s, %v, %v", joined, value, metadata, err)
		}
	}
}

// TestJoinChangesNothingGiven: callers keep using their metadata.
func TestJoinChangesNothingGiven(t *testing.T) {
	metadata := map[string]any{"k": "v", "m": "n"}
	if _, err := Join(json.RawMessage(`1`), metadata); err != nil || len(metadata) != 2 {
		t.Errorf("metadata is %v, %v", metadata, err)
	}
	if with := With(metadata, map[string]any{"k": "w", "l": 1}); len(metadata) != 2 || metadata["k"] != "v" ||
		!reflect.DeepEqual(with, map[string]any{"k": "w", "l": 1, "m": "n"}) {
		t.Errorf("%v became %v", metadata, with)
	}
}

// TestOnlyObjectsAreAttributes: anything else is an error and never an empty object.
func TestOnlyObjectsAreAttributes(t *testing.T) {
	for _, bad := range []string{`[]`, `"text"`, `1`, `null`, `{`, `{} {}`} {
		if object, err := Object(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is %v", bad, object)
		}
		if _, _, err := Split(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was split", bad)
		}
	}
	if object, err := Object(nil); object != nil || err != nil {
		t.Errorf("nothing is %v, %v", object, err)
	}
}
