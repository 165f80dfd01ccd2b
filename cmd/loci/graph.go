package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/graph"
	"github.com/loci-memory/loci/tool"
)

// setGraph takes the path of a file; it is read when the configuration is complete, so
// that one that another layer overrides need not be there.
func setGraph(c *config, v string) error {
	c.graphFile, c.graph = v, nil
	return notEmpty(v)
}

// graph reads a graph that stands in the configuration file itself.
func (r *fileReader) graph(s *setting, n *yaml.Node) {
	var value any
	err := n.Load(&value)
	if err == nil {
		r.c.graphFile = ""
		r.c.graph, err = graph.Read(value)
	}
	addLines(r.bad, r.at(n), "graph: ", err)
	r.c.origin[s.key] = r.at(n)
}

// checkGraph reads the file with the graph, and checks what holds between the graph
// and other settings.
func (c *config) checkGraph(bad *faults) {
	origin := c.origin["graph"]
	if c.graphFile != "" {
		data, err := readLimited(c.graphFile, graph.MaxBytes)
		if err == nil {
			c.graph, err = graph.Parse(data)
			addLines(bad, c.graphFile, "", err)
		} else {
			bad.add(origin, fmt.Errorf("graph: %w", err))
		}
	}
	for _, id := range c.graph.IDs() {
		if slices.Contains(c.agents, id) {
			bad.add(origin, fmt.Errorf("graph: the agent %q is in the setting agents, too: it has one address, so leave it out there", id))
		}
	}
}

// addLines reports each line of an error as a fault of its own; nil has none.
func addLines(bad *faults, where, prefix string, err error) {
	if err == nil {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		bad.add(where, errors.New(prefix+line))
	}
}

// An agentNode is what an agent of the graph has.
type agentNode struct {
	id        string
	tools     []*tool.Tool
	connector *tool.Connector // nil: none
}

// agentNodes makes what the agents of the graph have, in its order.
func (a *app) agentNodes() (nodes []agentNode, err error) {
	if a.cfg.graph == nil {
		return nil, nil
	}
	for _, agent := range a.cfg.graph.Agents {
		n := agentNode{id: agent.ID}
		if len(agent.Tools) > 0 {
			cfg := a.cfg.toolConfig(a.logger())
			cfg.Entries = agent.Tools
			set, err := tool.New(a.engine, cfg)
			if err != nil {
				return nil, err
			}
			n.tools = set.Tools()
		}
		if agent.Connector != nil {
			if n.connector, err = tool.NewConnector(a.engine, *agent.Connector); err != nil {
				return nil, err
			}
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// agentNode makes what one agent of the graph has.
func (a *app) agentNode(id string) (agentNode, error) {
	nodes, err := a.agentNodes()
	if err != nil {
		return agentNode{}, err
	}
	for _, n := range nodes {
		if n.id == id {
			return n, nil
		}
	}
	if len(nodes) == 0 {
		return agentNode{}, &loci.Error{Code: loci.Invalid, Msg: "--agent-node needs a graph", Recovery: "Name its file with --graph."}
	}
	return agentNode{}, loci.Errorf(loci.NotFound, "the graph has no agent %q: it has %s", id, strings.Join(a.cfg.graph.IDs(), ", "))
}
