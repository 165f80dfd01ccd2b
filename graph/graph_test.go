package graph_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/graph"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

// asYAML is the graph of testdata, written as YAML.
const asYAML = `
nodes:
- {id: M, data: {template: memory, config: {scope: global}}}
- {id: N, data: {template: memory, config: {scope: perThread}}}
- {id: A, data: {template: agent}}
- {id: B, data: {template: agent, config: {}}}
- {id: T1, data: {template: memoryTool, config: {name: memory_readonly, description: Read-only memory tool, title: Mem Read}}}
- {id: T2, data: {template: memoryTool, config: {name: memory_thread}}}
- {id: T3, data: {template: memoryTool, config: null}}
- {id: C, data: {template: memoryConnector, config: {placement: last_message, content: full, maxChars: 100}}}
edges:
- {source: C, sourceHandle: $self, target: A, targetHandle: callModel}
- {source: A, sourceHandle: tools, target: T1, targetHandle: $self}
- {source: A, sourceHandle: tools, target: T2, targetHandle: $self}
- {source: A, sourceHandle: tools, target: T3, targetHandle: $self}
- {source: M, sourceHandle: $self, target: T1, targetHandle: $memory}
- {source: N, sourceHandle: $self, target: T2, targetHandle: $memory}
- {source: N, sourceHandle: $self, target: C, targetHandle: $memory}
`

func TestParse(t *testing.T) {
	asJSON, err := os.ReadFile("testdata/two_tools.json")
	if err != nil {
		t.Fatal(err)
	}
	want := []graph.Agent{
		{
			ID: "A",
			Connector: &tool.ConnectorConfig{
				Memory:    "N",
				Scope:     "perThread",
				Placement: tree.LastMessage,
				Content:   tree.ContentFull,
				MaxChars:  100,
			},
			Tools: []tool.Instance{
				{Family: "files", Tool: "memory", Name: "memory_readonly", Title: "Mem Read", Description: "Read-only memory tool", Memory: "M", Scope: "global"},
				{Family: "files", Tool: "memory", Name: "memory_thread", Memory: "N", Scope: "perThread"},
				{Family: "files", Tool: "memory", Unwired: true},
			},
		},
		{ID: "B", Tools: []tool.Instance{{Family: "files", Tool: "memory", Unwired: true}}},
	}
	for name, text := range map[string]string{"JSON": string(asJSON), "YAML": asYAML} {
		g, err := graph.Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !reflect.DeepEqual(g.Agents, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, g.Agents, want)
		}
	}
}

// TestCommandsOfANode: a tool of an agent may be one that only reads.
func TestCommandsOfANode(t *testing.T) {
	g, err := graph.Parse([]byte(`{nodes: [{id: A, data: {template: agent}}, {id: M, data: {template: memory}},
		{id: T, data: {template: memoryTool, config: {commands: [read, list]}}}],
		edges: [{source: A, sourceHandle: tools, target: T, targetHandle: $self}, {source: M, sourceHandle: $self, target: T, targetHandle: $memory}]}`))
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.New(nil, tool.Config{Entries: g.Agents[0].Tools})
	if err != nil {
		t.Fatal(err)
	}
	if only := set.Tools()[0]; !only.Annotations.ReadOnly || !strings.Contains(string(only.InputSchema), `"enum":["read","list"]`) {
		t.Errorf("%+v %s", only.Annotations, only.InputSchema)
	}
}

// The example works as its document says.
func TestExample(t *testing.T) {
	data, err := os.ReadFile("../examples/graph.json")
	if err != nil {
		t.Fatal(err)
	}
	g, err := graph.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := g.Agent("A"); !ok || len(a.Tools) != 2 || a.Connector == nil {
		t.Errorf("%+v", a)
	}
}

// A memory may be connected to an agent without a node between, and a connector may
// wait for its memory.
func TestConnectors(t *testing.T) {
	g, err := graph.Parse([]byte(`
nodes: [{id: M, data: {template: memory, config: {scope: perThread}}}, {id: A, data: {template: agent}}, {id: B, data: {template: agent}}, {id: C, data: {template: memoryConnector}}]
edges: [{source: M, sourceHandle: $self, target: A, targetHandle: setMemoryConnector}, {source: C, sourceHandle: $self, target: B, targetHandle: setMemoryConnector}]`))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := g.Agent("A")
	b, _ := g.Agent("B")
	if want := (tool.ConnectorConfig{Memory: "M", Scope: "perThread"}); a.Tools != nil || *a.Connector != want {
		t.Errorf("%+v", a.Connector)
	}
	if want := (tool.ConnectorConfig{Unwired: true}); *b.Connector != want {
		t.Errorf("%+v", b.Connector)
	}
}

// TestFaults: everything that is wrong is reported at once, each with its node or edge.
func TestFaults(t *testing.T) {
	const agent = `{id: A, data: {template: agent}}, {id: M, data: {template: memory}}, {id: T, data: {template: memoryTool}}, {id: C, data: {template: memoryConnector}}`
	edge := func(source, sourceHandle, target, targetHandle string) string {
		return "{source: " + source + ", sourceHandle: " + sourceHandle + ", target: " + target + ", targetHandle: " + targetHandle + "}"
	}
	for _, c := range []struct{ nodes, edges, want string }{
		{"", "", "the graph: there is no node with the template agent, so that nobody has a memory"},
		{"7", "[]", "node 1: must be an object, not the number 7\nedge 1: must be an object, not a list"},
		{"{id: A}", "", `node 1 "A": data is missing`},
		{"{data: {template: agent}}", "", "node 1: id is missing"},
		{"{id: 7, data: {template: agent}}", "", "node 1: id must be a text, not the number 7"},
		{"{id: A, data: {}}", "", `node 1 "A": data.template is missing`},
		{"{id: A, data: {template: agnet}}, {id: A, data: {template: shellTool}}", "",
			`node 1 "A": unknown template "agnet": it must be one of memory, memoryTool, memoryConnector, agent` + "\n" +
				`node 2 "A": another node has this id already` + "\n" +
				`node 2 "A": unknown template "shellTool": it must be one of memory, memoryTool, memoryConnector, agent`},
		{`{id: .., data: {template: agent}}`, "", `node 1 "..": the id of an agent cannot be of periods alone: it stands in an address`},
		{`{id: "` + strings.Repeat("x", 257) + `", data: {template: memory}}, ` + agent, "", "…"},
		{"{id: A, data: {template: agent}, dta: 1}", "", `node 1 "A": "dta" is not known here: it must be one of id, data,…`},
		{"{id: A, data: {template: agent, confg: {}}}", "", `node 1 "A": data: "confg" is not known here: it must be one of template, config,…`},
		{"{id: A, data: {template: agent, config: []}}", "", `node 1 "A": config: must be an object, not a list`},
		{agent + ", {id: X, data: {template: memory, config: {scope: thread, maxChars: 1}}}", "",
			`node 5 "X": config: "maxChars" is not known here: it must be one of scope` + "\n" + `node 5 "X": unknown scope "thread": it must be one of global, perThread`},
		{agent + ", {id: X, data: {template: memory, config: {scope: 1}}}", "", `node 5 "X": scope must be a text, not the number 1`},
		{agent + `, {id: X, data: {template: memoryTool, config: {name: "My Tool", title: ""}}}`, "", `node 5 "X": title must not be empty: give it a value or leave it out`},
		{agent + `, {id: X, data: {template: memoryTool, config: {name: "My Tool"}}}`, "", `node 5 "X": name "My Tool" must be 1 to 64 letters, digits, _ or -` + "\n" + `node 5 "X": name "My Tool" must be 1 to 64 of a to z, 0 to 9 and _`},
		{agent + ", {id: X, data: {template: memoryConnector, config: {placement: first, content: all, maxChars: 20001}}}", "",
			`node 5 "X": maxChars is 20001; it must be a whole number from 1 to 20000`},
		{agent + ", {id: X, data: {template: memoryConnector, config: {placement: first, content: all, maxChars: 20000}}}", "",
			`node 5 "X": unknown placement "first": it must be one of after_system, last_message` + "\n" + `node 5 "X": unknown content "all": it must be one of tree, full`},
		{agent + ", {id: X, data: {template: memoryTool, config: {commands: read}}}", "",
			`node 5 "X": commands must be a list such as ["read", "list"], not "read"`},
		{agent + ", {id: X, data: {template: memoryTool, config: {commands: [read, 7]}}}", "", `node 5 "X": commands must be a text, not the number 7`},
		{agent + ", {id: X, data: {template: memoryTool, config: {commands: []}}}", "", `node 5 "X": commands cannot be empty`},
		{agent + ", {id: X, data: {template: memoryTool, config: {commands: [view]}}}", "",
			`node 5 "X": unknown command "view": must be one of read, list, append, update, delete, search`},
		{agent + ", {id: X, data: {template: memoryConnector, config: {maxChars: 1.5}}}", "", `node 5 "X": maxChars is 1.5; it must be a whole number from 1 to 20000`},
		{agent, "{id: e, source: A}", `edge 1 "e": sourceHandle is missing` + "\n" + `edge 1 "e": target is missing` + "\n" + `edge 1 "e": targetHandle is missing`},
		{agent, "{id: e}, {id: e, source: A, sourceHandle: tools, target: T, targetHandle: $self}", `…edge 2 "e": another edge has this id already`},
		{agent, edge("X", "tools", "Y", "$self"), `edge 1 ("X" tools to "Y" $self): source: there is no node "X"` + "\n" + `edge 1 ("X" tools to "Y" $self): target: there is no node "Y"`},
		{agent, edge("A", "$self", "T", "$self"), `edge 1 ("A" $self to "T" $self): wrong handle: the handles from agent to memoryTool are tools to $self`},
		{agent, edge("M", "$self", "A", "$memory"), `edge 1 ("M" $self to "A" $memory): wrong handle: the handles from memory to agent are $self to setMemoryConnector`},
		{agent, edge("T", "$self", "A", "tools"), `edge 1 ("T" $self to "A" tools): no edge leads from memoryTool to agent: turn the edge round, from tools to $self`},
		{agent, edge("A", "tools", "A", "$self"), `edge 1 ("A" tools to "A" $self): no edge leads from agent to agent`},
		{agent, edge("A", "tools", "T", "$self") + ", " + edge("A", "tools", "T", "$self"), `edge 2 ("A" tools to "T" $self): the same edge is there already`},
		{agent + ", {id: N, data: {template: memory}}", edge("M", "$self", "T", "$memory") + ", " + edge("N", "$self", "T", "$memory"),
			`edge 2 ("N" $self to "T" $memory): memoryTool "T" has a memory already, "M": remove one of the edges`},
		{agent, edge("M", "$self", "A", "setMemoryConnector") + ", " + edge("C", "$self", "A", "setMemoryConnector"),
			`edge 2 ("C" $self to "A" setMemoryConnector): agent "A" has a memoryConnector already, "M": remove one of the edges`},
		{agent + ", {id: U, data: {template: memoryTool}}", edge("A", "tools", "T", "$self") + ", " + edge("A", "tools", "U", "$self"),
			`agent "A": its tools "T" and "U" are both named "memory": give one of them another name`},
	} {
		_, err := graph.Parse([]byte("nodes: [" + c.nodes + "]\nedges: [" + c.edges + "]\n"))
		got := ""
		if err != nil {
			got = err.Error()
		}
		start, starts := strings.CutSuffix(c.want, "…")
		end, ends := strings.CutPrefix(c.want, "…")
		fits := got == c.want ||
			got != "" && (starts && strings.HasPrefix(got, start) || ends && strings.HasSuffix(got, end))
		if !fits {
			t.Errorf("nodes %s, edges %s\n got %s\nwant %s", c.nodes, c.edges, got, c.want)
		}
	}
	for _, text := range []string{"", "nodes", "nodes: {}", "{", `{"nodes":[],"nodes":[]}`, "nodes: []\nnodes: []", "a: &a [*a]", strings.Repeat("[", 1000),
		`{"nodes":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}"} {
		if _, err := graph.Parse([]byte(text)); err == nil {
			t.Errorf("%.40s: no error", text)
		} else if loci.AsError(err).Code == loci.Internal {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(asYAML)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := graph.Parse([]byte(text))
		if err != nil {
			return
		}
		for _, a := range g.Agents { // tools can be made from whatever is accepted
			if len(a.Tools) > 0 {
				if _, err := tool.New(nil, tool.Config{Entries: a.Tools}); err != nil {
					t.Errorf("%s: %v", a.ID, err)
				}
			}
			if a.Connector != nil {
				if _, err := tool.NewConnector(nil, *a.Connector); err != nil {
					t.Errorf("%s: %v", a.ID, err)
				}
			}
		}
	})
}

// What the parser of YAML refuses is told with its place, and without the parser's name.
func TestFaultsOfYAMLNameThePlace(t *testing.T) {
	_, err := graph.Parse([]byte("nodes: []\n" + strings.Repeat("[", 20_000)))
	if err == nil || !strings.Contains(err.Error(), "neither JSON nor YAML: line 2, column ") || strings.Contains(err.Error(), "go-yaml") {
		t.Errorf("it is told as %v", err)
	}
}
