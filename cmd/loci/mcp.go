package main

import (
	"context"

	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/tool"
)

type mcpCmd struct{}

// Help is shown below the usage.
func (*mcpCmd) Help() string {
	return `The agent's program starts this command and speaks the Model Context Protocol with it. The log goes to standard error.

    loci mcp --user alice --tools notes`
}

// Run serves until standard input ends or a signal comes.
func (*mcpCmd) Run(a *app) error {
	if err := a.open(); err != nil {
		return err
	}
	set, err := tool.New(a.engine, a.cfg.toolConfig(a.logger()))
	if err != nil {
		return err
	}
	server, err := mcp.New(mcp.Options{Tools: set.Tools(), Principal: a.principal, RecordElevation: a.engine.RecordElevation,
		Version: buildVersion().Version, Logger: a.logger()})
	if err != nil {
		return err
	}
	if isTerminal(a.stdin) {
		a.note("Serving MCP on standard input and output: start it from your agent's configuration. The memory is in %s; Ctrl-D ends.", a.cfg.store)
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
