package rest

import (
	"encoding/json"
	"testing"

	"github.com/loci-memory/loci/store/memory"
	"go.yaml.in/yaml/v4"
)

// TestOpenAPI: the document is the golden one, and its two forms say the same.
// Whether it is valid is for tests/openapi, with a validator of others.
func TestOpenAPI(t *testing.T) {
	b := newBench(t, memory.Open(), nil)
	asJSON := b.send("GET", "/v1/openapi.json", "")
	var document, other any
	if err := json.Unmarshal([]byte(asJSON.body), &document); err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(document, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "openapi.json", string(indented)+"\n")
	asYAML := b.send("GET", "/v1/openapi.yaml", "")
	if err := yaml.Unmarshal([]byte(asYAML.body), &other); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(other, "", " ")
	if err != nil || string(again) != string(indented) {
		t.Errorf("the YAML says something else: %v", err)
	}
}
