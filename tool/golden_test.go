package tool

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

var update = flag.Bool("update", false, "write the golden files again")

// goldens are the configurations whose tools are kept in testdata, word for word: what a model
// reads is an interface.
var goldens = map[string]Config{
	"facts":       {Entries: []Instance{{Family: FamilyFacts}}},
	"notes":       {Entries: []Instance{{Family: FamilyNotes}}},
	"memory":      {Entries: []Instance{{Family: FamilyMemory}}},
	"files":       {Entries: []Instance{{Family: FamilyFiles}, {Tool: "memory", Name: "memory_write", Title: "Mem Write", Description: "Write memory tool"}}},
	"claude":      {Entries: []Instance{{Family: FamilyClaude}}},
	"sessions":    {Entries: []Instance{{Family: FamilySessions}}},
	"facts_raw":   {Entries: []Instance{{Family: FamilyFacts, ResponseFormat: FormatContentAndArtifact}}},
	"create_only": {Entries: []Instance{{Tool: "manage_memory", ActionsPermitted: []string{"create"}}}},
	"update_only": {Entries: []Instance{{Tool: "manage_memory", ActionsPermitted: []string{"update"}}}},
	"custom": {SearchLimit: 3, TopK: 7, Entries: []Instance{
		{Tool: "manage_memory", Name: "remember", ActionsPermitted: []string{"create", "update"}, Instructions: "Store only allergies."},
		{Tool: "search_memory", Name: "recall-allergies", Instructions: "Ask before any recipe."},
		{Tool: "memory_search", Instructions: "Notes are in French."},
	}},
}

// TestGoldenTools: names, descriptions and schemas of all tools are those of testdata: a model
// reads every byte of them.
func TestGoldenTools(t *testing.T) {
	type shown struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		Family       string          `json:"family"`
		Tier         Tier            `json:"tier"`
		Timeout      string          `json:"timeout"`
		Annotations  Annotations     `json:"annotations"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	}
	for name, cfg := range goldens {
		var all []shown
		for _, tool := range setOver(t, nil, cfg).Tools() {
			all = append(all,
				shown{tool.Name, tool.Title, tool.Description, tool.Family, tool.Tier, tool.Timeout.String(),
					tool.Annotations, tool.InputSchema, tool.OutputSchema})
		}
		var got bytes.Buffer
		e := json.NewEncoder(&got)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s is not what the tools say now; after a look at the difference, run with -update:\n%s", path, got.Bytes())
		}
	}
}

// Schemas are the same bytes each time, and small: every session of every model
// pays for them.
func TestSchemasAreStableAndSmall(t *testing.T) {
	for name, cfg := range goldens {
		a, b := setOver(t, nil, cfg).Tools(), setOver(t, nil, cfg).Tools()
		for i := range a {
			if !bytes.Equal(a[i].InputSchema, b[i].InputSchema) || !bytes.Equal(a[i].OutputSchema, b[i].OutputSchema) {
				t.Errorf("%s: the schemas of %s change", name, a[i].Name)
			}
			if n := len(a[i].InputSchema); n > 1050 { // a search with eleven arguments is the largest
				t.Errorf("%s: the input schema of %s has %d bytes", name, a[i].Name, n)
			}
		}
	}
}

// What the input schema admits and refuses is what the tool admits and refuses.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	set := newSet(t, Instance{Family: FamilyFacts, ActionsPermitted: []string{"create", "update"}}, Instance{Family: FamilyNotes},
		Instance{Family: FamilyMemory, Prefix: "a_"})
	u := caller(t, loci.Vars{loci.VarUser: "u-1", loci.VarButler: "general"})
	for _, c := range []struct {
		tool, args string
		valid      bool
	}{
		{"manage_memory", `{"content":"x"}`, true},
		{"manage_memory", `{"content":{"a":1},"action":"create","metadata":{"b":[1]}}`, true},
		{"manage_memory", `{"content":1}`, false},
		{"manage_memory", `{"content":["x"]}`, false},
		{"manage_memory", `{"action":"delete"}`, false},
		{"manage_memory", `{"content":"x","metadata":"y"}`, false},
		{"manage_memory", `{"content":"x","more":1}`, false},
		{"search_memory", `{"query":"x","limit":1,"offset":0,"filter":{}}`, true},
		{"search_memory", `{"query":"x","limit":5.0}`, true},
		{"search_memory", `{"query":"x","limit":5.5}`, false},
		{"search_memory", `{"query":"x","limit":0}`, false},
		{"search_memory", `{"query":"x","offset":10001}`, false},
		{"search_memory", `{}`, false},
		{"memory_search", `{"query":"x","top_k":20,"include_conversation":true,"tags":["a"]}`, true},
		{"memory_search", `{"query":"x","top_k":21}`, false},
		{"memory_search", `{"query":"x","include_conversation":"true"}`, false},
		{"memory_search", `{"query":"x","tags":[1]}`, false},
		{"memory_save", `{"content":{"a":1}}`, false},
		{"memory_delete", `{}`, false},
		{"a_memory_store_episode", `{"content":"x","butler":"general","importance":9.5,"session_id":"s"}`, true},
		{"a_memory_store_episode", `{"content":"x","butler":"general","importance":10.1}`, false},
		{"a_memory_store_episode", `{"content":"x","butler":"general","importance":"9"}`, false},
		{"a_memory_store_episode", `{"content":"x"}`, false},
		{"a_memory_store_fact", `{"subject":"s","predicate":"p","content":"c","permanence":"stable","tags":["t"],"scope":"x"}`, true},
		{"a_memory_store_fact", `{"subject":"s","predicate":"p","content":"c","permanence":"for ever"}`, false},
		{"a_memory_store_fact", `{"subject":"s","content":"c"}`, false},
		{"a_memory_search", `{"query":"x","types":["fact","rule","episode"],"mode":"keyword","limit":100,"min_confidence":0.5}`, true},
		{"a_memory_search", `{"query":"x","types":["note"]}`, false},
		{"a_memory_search", `{"query":"x","mode":"fuzzy"}`, false},
		{"a_memory_search", `{"query":"x","min_confidence":1.01}`, false},
		{"a_memory_recall", `{"topic":"x","limit":101}`, false},
		{"a_memory_get", `{"type":"item","id":"x"}`, false},
		{"a_memory_stats", `{}`, true},
		{"a_memory_stats", `{"scope":7}`, false},
		{"a_memory_context", `{"trigger_prompt":"x","butler":"general","token_budget":0}`, true},
		{"a_memory_context", `{"trigger_prompt":"x","butler":"general","token_budget":200001}`, false},
	} {
		tool, _ := set.Lookup(c.tool)
		var schema jsonschema.Schema
		decode(t, tool.InputSchema, &schema)
		resolved, err := schema.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		var value any
		decode(t, []byte(c.args), &value)
		if err := resolved.Validate(value); (err == nil) != c.valid {
			t.Errorf("%s(%s): the schema says %v", c.tool, c.args, err)
		}
		if _, err := tool.Call(t.Context(), u, []byte(c.args)); (err == nil) != c.valid {
			t.Errorf("%s(%s): the tool says %v", c.tool, c.args, err)
		}
	}
}
