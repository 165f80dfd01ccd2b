package main

import (
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

// An agentNode is what an agent of the graph has.
type agentNode struct {
	id        string
	tools     []*tool.Tool
	connector *tool.Connector // nil: none
}

// agentNodes makes what the agents of the graph have, in its order.
func (a *app) agentNodes() (nodes []agentNode, err error) {
	if a.cfg.Graph == nil {
		return nil, nil
	}
	for _, agent := range a.cfg.Graph.Agents {
		n := agentNode{id: agent.ID}
		if len(agent.Tools) > 0 {
			cfg := a.cfg.Tools(a.logger())
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
	return agentNode{}, loci.Errorf(loci.NotFound, "the graph has no agent %q: it has %s", id, strings.Join(a.cfg.Graph.IDs(), ", "))
}
