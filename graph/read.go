package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

// The templates of nodes.
const (
	templateMemory    = "memory"
	templateTool      = "memoryTool"
	templateConnector = "memoryConnector"
	templateAgent     = "agent"
)

var templates = []string{templateMemory, templateTool, templateConnector, templateAgent}

// The settings that the config of a node may have, by template. Only the agent itself
// reads its config.
var settings = map[string][]string{
	templateMemory:    {"scope"},
	templateTool:      {"name", "description", "title", "commands"},
	templateConnector: {"placement", "content", "maxChars"},
}

// What editors of graphs keep beside what counts.
var (
	graphKeys = []string{"nodes", "edges", "name", "description", "version", "updatedAt", "viewport"}
	nodeKeys  = []string{"id", "data", "type", "position", "positionAbsolute", "width", "height", "measured", "selected", "dragging", "zIndex", "style", "state"}
	dataKeys  = []string{"template", "config", "title", "label", "state"}
	edgeKeys  = []string{"id", "source", "sourceHandle", "target", "targetHandle", "type", "label", "data", "animated", "selected", "style"}
)

// A node is a node of the graph, with what the edges connect to it.
type node struct {
	id, template string
	config       map[string]string // the settings that are texts
	maxChars     int
	commands     []string // of a tool; nil: all

	memory    *node   // of a tool or a connector
	tools     []*node // of an agent
	connector *node   // of an agent: a connector, or a memory
}

// A reader collects the nodes, and everything that is wrong.
type reader struct {
	nodes  map[string]*node // by id; one with an unknown template is there, too
	order  []string
	faults []error
}

func (r *reader) fault(where, format string, args ...any) {
	r.faults = append(r.faults, loci.Errorf(loci.Invalid, "%s: %s", where, fmt.Sprintf(format, args...)))
}

func (r *reader) read(value any) {
	top, ok := r.object("the graph", value, graphKeys)
	if !ok {
		return
	}
	for i, v := range r.list("nodes", top["nodes"]) {
		r.node(i+1, v)
	}
	seen := map[string]bool{}
	for i, v := range r.list("edges", top["edges"]) {
		r.edge(i+1, v, seen)
	}
	agents := 0
	for _, id := range r.order {
		if n := r.nodes[id]; n.template == templateAgent {
			agents++
			r.names(n)
		}
	}
	if agents == 0 && len(r.faults) == 0 {
		r.fault("the graph", "there is no node with the template agent, so that nobody has a memory")
	}
}

// object takes a mapping whose names are all known.
func (r *reader) object(where string, value any, known []string) (map[string]any, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		if loose, is := value.(map[any]any); is {
			m, ok = map[string]any{}, true
			for k, v := range loose {
				m[fmt.Sprint(k)] = v
			}
		}
	}
	if !ok {
		r.fault(where, "must be an object, not %s", kindOf(value))
		return nil, false
	}
	for _, name := range sortedNames(m) {
		if known != nil && !slices.Contains(known, name) {
			r.fault(where, "%s is not known here: it must be one of %s", quoted(name), strings.Join(known, ", "))
		}
	}
	return m, true
}

func sortedNames(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// list takes a list; one that is missing is empty.
func (r *reader) list(name string, value any) []any {
	l, ok := value.([]any)
	if !ok && value != nil {
		r.fault("the graph", "%s must be a list, not %s", name, kindOf(value))
	}
	return l
}

// text takes a text; required says that it must be there.
func (r *reader) text(where, name string, value any, required bool) string {
	s, ok := value.(string)
	switch {
	case value == nil && required:
		r.fault(where, "%s is missing", name)
	case value == nil:
	case !ok:
		r.fault(where, "%s must be a text, not %s", name, kindOf(value))
	case s == "" && required:
		r.fault(where, "%s must not be empty", name)
	}
	return s
}

// node reads one node; at is its place in the list, from 1.
func (r *reader) node(at int, value any) {
	where := named("node", at, value)
	m, ok := r.object(where, value, nodeKeys)
	if !ok {
		return
	}
	n := &node{id: r.text(where, "id", m["id"], true), config: map[string]string{}}
	if n.id != "" {
		if err := (loci.Namespace{n.id}).Validate(); err != nil { // the name of a tree, and a part of an address
			r.fault(where, "%v", err)
		}
		if _, twice := r.nodes[n.id]; twice {
			r.fault(where, "another node has this id already")
		} else {
			r.nodes[n.id] = n
			r.order = append(r.order, n.id)
		}
	}
	if m["data"] == nil {
		r.fault(where, "data is missing")
		return
	}
	data, ok := r.object(where+": data", m["data"], dataKeys)
	if !ok {
		return
	}
	n.template = r.text(where, "data.template", data["template"], true)
	if n.template == "" {
		return
	}
	if !slices.Contains(templates, n.template) {
		r.fault(where, "unknown template %s: it must be one of %s", quoted(n.template), strings.Join(templates, ", "))
		return
	}
	if n.template == templateAgent && strings.Trim(n.id, ".") == "" && n.id != "" {
		r.fault(where, "the id of an agent cannot be of periods alone: it stands in an address")
	}
	if data["config"] != nil {
		r.config(where, n, data["config"])
	}
}

// named says which node or edge something is about, with its id where it has one.
func named(what string, at int, value any) string {
	where := fmt.Sprintf("%s %d", what, at)
	if m, ok := value.(map[string]any); ok {
		if id, _ := m["id"].(string); id != "" {
			where += " " + quoted(id)
		}
	}
	return where
}

// config reads the settings of a node.
func (r *reader) config(where string, n *node, value any) {
	m, ok := r.object(where+": config", value, settings[n.template])
	if !ok || n.template == templateAgent {
		return
	}
	before := len(r.faults)
	for _, name := range settings[n.template] {
		if name != "maxChars" && name != "commands" {
			n.config[name] = r.text(where, name, m[name], false)
			if m[name] == "" {
				r.fault(where, "%s must not be empty: give it a value or leave it out", name)
			}
		}
	}
	if v := m["maxChars"]; v != nil {
		if n.maxChars, ok = whole(v); !ok || n.maxChars < 1 || n.maxChars > tree.MaxConnectorChars {
			r.fault(where, "maxChars is %s; it must be a whole number from 1 to %d", shown(v), tree.MaxConnectorChars)
		}
	}
	if v := m["commands"]; v != nil {
		n.commands = r.commands(where, v)
	}
	if len(r.faults) > before {
		return
	}
	choice := func(name string, values ...string) {
		if v := n.config[name]; v != "" && !slices.Contains(values, v) {
			r.fault(where, "unknown %s %s: it must be one of %s", name, quoted(v), strings.Join(values, ", "))
		}
	}
	choice("scope", tool.ScopeGlobal, tool.ScopePerThread)
	choice("placement", string(tree.AfterSystem), string(tree.LastMessage))
	choice("content", string(tree.ContentTree), string(tree.ContentFull))
	if n.template == templateTool {
		if _, err := tool.New(nil, tool.Config{Entries: []tool.Instance{n.instance()}}); err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				r.fault(where, "%s", strings.TrimPrefix(line, "tools entry 1: "))
			}
		}
	}
}

// commands reads what a tool may do. A list that is empty is a fault of the tool.
func (r *reader) commands(where string, value any) []string {
	list, ok := value.([]any)
	if !ok {
		r.fault(where, "commands must be a list such as [\"read\", \"list\"], not %s", shown(value))
	}
	commands := []string{}
	for _, v := range list {
		commands = append(commands, r.text(where, "commands", v, true))
	}
	return commands
}

// names reports tools of one agent that models could not tell apart.
func (r *reader) names(agent *node) {
	first := map[string]string{}
	for _, t := range agent.tools {
		name := t.toolName()
		if other, taken := first[name]; taken {
			r.fault("agent "+quoted(agent.id), "its tools %s and %s are both named %s: give one of them another name", quoted(other), quoted(t.id), quoted(name))
			continue
		}
		first[name] = t.id
	}
}

// whole takes a whole number, however it was decoded.
func whole(value any) (int, bool) {
	switch v := value.(type) {
	case int:
		return v, true
	case float64:
		return int(v), v == math.Trunc(v) && math.Abs(v) < 1<<31
	}
	return 0, false
}

// kindOf names what a value is, for messages.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case string:
		return "the text " + quoted(v)
	case map[string]any, map[any]any:
		return "an object"
	case []any:
		return "a list"
	case bool:
		return fmt.Sprint(v)
	case int, int64, uint64, float64:
		return "the number " + fmt.Sprint(v)
	}
	return "something else"
}

func shown(value any) string {
	if s, ok := value.(string); ok {
		return quoted(s)
	}
	if n, ok := whole(value); ok {
		return fmt.Sprint(n)
	}
	return cmp.Or(strings.TrimPrefix(kindOf(value), "the number "), "nothing")
}

// quoted shows a text of a file, shortened, with invisible characters escaped.
func quoted(text string) string {
	runes := []rune(text)
	if len(runes) > 64 {
		text = string(runes[:64]) + "…"
	}
	return fmt.Sprintf("%+q", text)
}
