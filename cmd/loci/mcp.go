package main

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
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

// Upkeep starts after the first replies, which must not wait for it, and looks
// now and then whether a write has gone without its vectors. A whole sweep comes
// once a day.
const (
	upkeepDelay    = 5 * time.Second
	upkeepInterval = time.Minute
	sweepInterval  = 24 * time.Hour
)

// upkeep erases what has expired and makes missing vectors while the server runs.
func (a *app) upkeep(ctx context.Context, tenant loci.Tenant) {
	log := a.logger()
	var last time.Time
	for wait := upkeepDelay; ; wait = upkeepInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if time.Since(last) < sweepInterval && !a.engine.Lagging(tenant) {
			continue
		}
		if report, err := a.engine.SweepTenant(ctx, tenant); err != nil {
			log.Warn("upkeep stopped early; it goes on later", "error", err)
		} else {
			last = time.Now()
			log.Debug("upkeep", "expired", report.Expired, "capped", report.Capped, "faded", report.Faded, "ended", report.Ended, "embedded", report.Embedded)
		}
	}
}
