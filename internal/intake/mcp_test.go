package intake

import (
	"reflect"
	"testing"
)

func TestMCPNotes(t *testing.T) {
	person := map[string]any{"entity": "Ann", "entity_type": "person"}
	plain := map[string]any{"entity": "Ann", "entity_type": ""}
	for line, want := range map[string][]MCPNote{
		`{"type":"entity","name":"Ann","entityType":"person","observations":["a","b"]}`: {
			{Field: "observations[0]", Content: "Ann (person): a", Metadata: person},
			{Field: "observations[1]", Content: "Ann (person): b", Metadata: person},
		},
		`{"type":"entity","name":"Ann","entityType":"person"}`: {
			{Field: "observations[0]", Content: "Ann is a known person.", Metadata: person},
		},
		`{"type":"entity","name":"Ann"}`: {
			{Field: "observations[0]", Content: "Ann is a known entity.", Metadata: plain},
		},
		`{"type":"entity","name":"Ann","observations":["a"]}`: {
			{Field: "observations[0]", Content: "Ann: a", Metadata: plain},
		},
		`{"type":"relation","from":"Ann","to":"Acme","relationType":"works_at"}`: {{
			Content:  "Ann works at Acme.",
			Metadata: map[string]any{"from": "Ann", "relation": "works_at", "to": "Acme"},
		}},
	} {
		if got, err := MCPNotes([]byte(line)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", line, got, err)
		}
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"entity","name":" "}`:              "name of the entity is missing",
		`{"type":"relation","from":"a","to":"b"}`:   "from, to or relationType of the relation is missing",
		`{"type":"other"}`:                          `type "other": must be entity or relation`,
		`{"type":"entity","name":"a","name":1}`:     "",
		`{"type":"entity","observations":"a word"}`: "",
	} {
		got, err := MCPNotes([]byte(line))
		if err == nil || want != "" && err.Error() != want {
			t.Errorf("%s: %+v, %v; want %s", line, got, err, want)
		}
	}
}
