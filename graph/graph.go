// Package graph reads the node graphs in which builders of agents say which agent has
// which memory: nodes of the templates memory, memoryTool, memoryConnector and agent,
// and edges between their handles.
//
//	g, err := graph.Parse(data)
//	for _, agent := range g.Agents { … }
//
// It makes no tool: it says what an agent gets, as the configuration of its tools and its
// connector.
package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

// MaxBytes is how long a graph may be.
const MaxBytes = 1 << 20

// maxDepth is how deep a graph may nest.
const maxDepth = 64

// A Graph is what the agents of a node graph have.
type Graph struct {
	Agents []Agent // in the order of their nodes
}

// An Agent is a node with the template agent.
type Agent struct {
	ID string

	// Tools are the memoryTool nodes at its handle "tools", in the order of the edges.
	// One without a memory is unwired. An agent that is connected to nothing has one
	// unwired tool, which says what is missing when it is called.
	Tools []tool.Instance

	Connector *tool.ConnectorConfig // nil: none
}

// Agent finds an agent by its id.
func (g *Graph) Agent(id string) (Agent, bool) {
	if g == nil {
		return Agent{}, false
	}
	for _, a := range g.Agents {
		if a.ID == id {
			return a, true
		}
	}
	return Agent{}, false
}

// IDs lists the ids of the agents; none for a nil graph.
func (g *Graph) IDs() (ids []string) {
	if g != nil {
		for _, a := range g.Agents {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// Parse reads a graph as JSON or YAML. The error joins everything that is wrong with
// it, each a [*loci.Error] that names the node or the edge.
func Parse(data []byte) (*Graph, error) {
	if len(data) > MaxBytes {
		return nil, loci.Errorf(loci.TooLarge, "the graph has %d bytes; the limit is %d", len(data), MaxBytes)
	}
	var value any
	if text := bytes.TrimSpace(data); json.Valid(text) { // JSON may be indented by tabs, which YAML refuses
		if fault := jsonguard.Check(text, maxDepth, nil); fault != "" {
			return nil, loci.Errorf(loci.Invalid, "the graph %s", fault.Of(text))
		}
		if err := json.Unmarshal(text, &value); err != nil {
			return nil, loci.Errorf(loci.Invalid, "not JSON: %s", jsonform.Fault(err))
		}
	} else if err := yaml.Load(text, &value); err != nil {
		return nil, loci.Errorf(loci.Invalid, "neither JSON nor YAML: %s", fault(err))
	}
	return Read(value)
}

// fault is what the parser of YAML says, and where, without its own name.
func fault(err error) string {
	var e *yaml.LoadError
	if !errors.As(err, &e) || e.Message == "" {
		return err.Error()
	}
	mark := e.Mark
	if mark.Line == 0 {
		mark = e.ContextMark
	}
	return fmt.Sprintf("line %d, column %d: %s", mark.Line, mark.Column, e.Message)
}

// Read is [Parse] for a graph that was decoded already, as a part of a larger file:
// maps with names of any kind, lists and scalars.
func Read(value any) (*Graph, error) {
	r := &reader{nodes: map[string]*node{}}
	r.read(value)
	if len(r.faults) > 0 {
		return nil, errors.Join(r.faults...)
	}
	g := &Graph{}
	for _, id := range r.order {
		if n := r.nodes[id]; n.template == templateAgent {
			g.Agents = append(g.Agents, n.agent())
		}
	}
	return g, nil
}

// agent turns the node of an agent into what it has.
func (n *node) agent() Agent {
	a := Agent{ID: n.id}
	for _, t := range n.tools {
		a.Tools = append(a.Tools, t.instance())
	}
	if c := n.connector; c != nil {
		a.Connector = &tool.ConnectorConfig{
			Placement: tree.Placement(c.config["placement"]),
			Content:   tree.ConnectorContent(c.config["content"]), MaxChars: c.maxChars,
		}
		if c.template == templateMemory { // connected without a node between
			*a.Connector = tool.ConnectorConfig{}
			c.memory = c
		}
		if a.Connector.Unwired = c.memory == nil; c.memory != nil {
			a.Connector.Memory, a.Connector.Scope = c.memory.id, c.memory.config["scope"]
		}
	}
	if a.Tools == nil && a.Connector == nil {
		a.Tools = []tool.Instance{{Family: tool.FamilyFiles, Tool: toolMemory, Unwired: true}}
	}
	return a
}

// toolMemory is the tool that a node with the template memoryTool is.
const toolMemory = "memory"

// instance turns the node of a tool into its configuration.
func (n *node) instance() tool.Instance {
	i := tool.Instance{
		Family: tool.FamilyFiles, Tool: toolMemory, Name: n.config["name"],
		Title: n.config["title"], Description: n.config["description"],
	}
	i.Commands = n.commands
	if n.memory == nil {
		i.Unwired = true
		return i
	}
	i.Memory, i.Scope = n.memory.id, n.memory.config["scope"]
	return i
}

// toolName is what models call the tool of a node.
func (n *node) toolName() string {
	if name := n.config["name"]; name != "" {
		return name
	}
	return toolMemory
}
