package graph

import (
	"fmt"
	"slices"
	"strings"
)

// Handles of nodes.
const (
	handleSelf      = "$self"
	handleMemory    = "$memory"
	handleTools     = "tools"
	handleConnector = "setMemoryConnector"
)

// connectorHandles are the names under which an agent takes a connector: what it does
// with one, and what in it does so.
var connectorHandles = []string{handleConnector, "callModel", "CallModel"}

// A wire is a kind of edge.
type wire struct {
	source, sourceHandle string
	target               string
	targetHandles        []string
	connect              func(source, target *node) (taken *node)
}

// wires are the edges there may be. connect returns what is there already where only
// one fits.
var wires = []wire{
	{templateAgent, handleTools, templateTool, []string{handleSelf}, func(agent, t *node) *node {
		agent.tools = append(agent.tools, t)
		return nil
	}},
	{templateMemory, handleSelf, templateTool, []string{handleMemory}, setMemory},
	{templateMemory, handleSelf, templateConnector, []string{handleMemory}, setMemory},
	{templateConnector, handleSelf, templateAgent, connectorHandles, setConnector},
	{templateMemory, handleSelf, templateAgent, connectorHandles, setConnector},
}

func setMemory(memory, n *node) (taken *node) {
	taken, n.memory = n.memory, memory
	return taken
}

func setConnector(connector, agent *node) (taken *node) {
	taken, agent.connector = agent.connector, connector
	return taken
}

// edge reads one edge; at is its place in the list, from 1.
func (r *reader) edge(at int, value any, seen map[string]bool) {
	where := named("edge", at, value)
	m, ok := r.object(where, value, edgeKeys)
	if !ok {
		return
	}
	if id := r.text(where, "id", m["id"], false); id != "" {
		if key := "id\x00" + id; seen[key] {
			r.fault(where, "another edge has this id already")
		} else {
			seen[key] = true
		}
	}
	before := len(r.faults)
	var ends [4]string
	for i, name := range []string{"source", "sourceHandle", "target", "targetHandle"} {
		ends[i] = r.text(where, name, m[name], true)
	}
	if len(r.faults) > before {
		return
	}
	where += fmt.Sprintf(" (%s %s to %s %s)", quoted(ends[0]), ends[1], quoted(ends[2]), ends[3])
	source, target := r.end(where, "source", ends[0]), r.end(where, "target", ends[2])
	if key := strings.Join(ends[:], "\x00"); seen[key] {
		r.fault(where, "the same edge is there already")
		return
	} else {
		seen[key] = true
	}
	if source != nil && target != nil {
		r.connect(where, source, target, ends[1], ends[3])
	}
}

// end finds a node of an edge; nil: there is nothing to connect.
func (r *reader) end(where, name, id string) *node {
	n := r.nodes[id]
	if n == nil {
		r.fault(where, "%s: there is no node %s", name, quoted(id))
		return nil
	}
	if !slices.Contains(templates, n.template) {
		return nil // told at the node
	}
	return n
}

// connect does what an edge says, or says what it should be.
func (r *reader) connect(where string, source, target *node, sourceHandle, targetHandle string) {
	var fitting []string
	for _, w := range wires {
		if w.source != source.template || w.target != target.template {
			continue
		}
		if w.sourceHandle != sourceHandle || !slices.Contains(w.targetHandles, targetHandle) {
			fitting = append(fitting, w.sourceHandle+" to "+w.targetHandles[0])
			continue
		}
		if taken := w.connect(source, target); taken != nil {
			what := templateMemory
			if target.template == templateAgent {
				what = templateConnector
			}
			r.fault(where, "%s %s has a %s already, %s: remove one of the edges", target.template, quoted(target.id), what, quoted(taken.id))
		}
		return
	}
	if len(fitting) > 0 {
		r.fault(where, "wrong handle: the handles from %s to %s are %s", source.template, target.template, strings.Join(fitting, ", "))
		return
	}
	r.fault(where, "no edge leads from %s to %s%s", source.template, target.template, reversed(source, target))
}

// reversed says that an edge fits the other way round.
func reversed(source, target *node) string {
	for _, w := range wires {
		if w.source == target.template && w.target == source.template {
			return ": turn the edge round, from " + w.sourceHandle + " to " + w.targetHandles[0]
		}
	}
	return ""
}
