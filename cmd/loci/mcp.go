package main

import (
	"context"
	"strings"

	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/tool"
)

type mcpCmd struct {
	AgentNode string `placeholder:"ID" help:"Serve what this agent of the graph has, in place of the configured tools."`
}

// Help is shown below the usage.
func (*mcpCmd) Help() string {
	return `The agent's program starts this command and speaks the Model Context Protocol with it. The log goes to standard error.

    loci mcp --user alice --tools notes
    loci mcp --user alice --graph graph.json --agent-node A`
}

// Run serves until standard input ends or a signal comes.
func (c *mcpCmd) Run(a *app) error {
	defer cores.RoomyHeap(cores.ClientHeap)()
	if err := a.open(); err != nil {
		return err
	}
	agent, err := c.agent(a)
	if err != nil {
		return err
	}
	opts := mcp.Options{
		Tools: agent.tools, Connector: agent.connector, Principal: a.principal,
		RecordElevation: a.engine.RecordElevation, Version: buildVersion().Version, Logger: a.logger(),
		Confirm: a.cfg.Confirm,
	}
	traces, err := a.traces(nil)
	if err != nil {
		return err
	}
	defer traces.Close()
	traced(&opts, traces)
	server, err := mcp.New(opts)
	if err != nil {
		return err
	}
	if isTerminal(a.stdin) {
		a.note("Serving MCP on standard input and output: start it from your agent's configuration. The memory is in %s; Ctrl-D ends.", shownURL(a.cfg.Store))
	}
	ctx, stop := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.upkeep(ctx, a.principal.Tenant())
	}()
	err = server.Serve(a.ctx, a.stdin, a.rawOut)
	stop()
	<-done
	return err
}

// agent names whose tools are served: those of an agent of the graph, or the configured
// ones.
func (c *mcpCmd) agent(a *app) (agentNode, error) {
	if c.AgentNode != "" {
		return a.agentNode(c.AgentNode)
	}
	if a.cfg.Graph != nil {
		a.note("The tools are those of the setting tools: --agent-node chooses an agent of the graph, one of %s.", strings.Join(a.cfg.Graph.IDs(), ", "))
	}
	set, err := tool.New(a.engine, a.cfg.Tools(a.logger()))
	if err != nil {
		return agentNode{}, err
	}
	return agentNode{tools: set.Tools()}, nil
}
