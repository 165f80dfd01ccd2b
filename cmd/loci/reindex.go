package main

import "github.com/loci-memory/loci"

type reindexCmd struct {
	DryRun bool `help:"Say what would be done, and do nothing."`
}

// Help is shown below the usage.
func (*reindexCmd) Help() string {
	return `Makes vectors with the configured embedder for all memories of the tenant, switches search to them, then drops the old ones. Until
the switch, search uses the old vectors. If you stop it, run it again: it goes on where it was. When you change the embedder, the
MCP server does the same while it runs, unless the new embedder costs money or needs the network. Memories saved while the embedder
did not answer get their vectors, too.

    loci reindex --dry-run
    loci reindex`
}

// Run builds the generation of the configured embedder and switches to it.
func (c *reindexCmd) Run(a *app) error {
	if err := a.open(loci.ScopeWrite); err != nil {
		return err
	}
	show, end := a.progressOf("embedding")
	report, err := a.engine.Reindex(a.ctx, a.principal.Tenant(), &loci.ReindexOptions{DryRun: c.DryRun, Progress: show})
	end()
	if err != nil {
		if report.Embedded > 0 {
			a.note("%s got vectors before it stopped; run it again for the rest", memories(report.Embedded))
		}
		return err
	}
	if a.json {
		return a.printJSON(struct {
			loci.ReindexReport
			DryRun bool `json:"dry_run"`
		}{report, c.DryRun})
	}
	if c.DryRun {
		a.printf("%s to embed with %s: %d bytes of text\n", memories(report.Lacking), report.To, report.Bytes)
		if report.From != report.To && !report.From.IsZero() {
			a.printf("search goes on with %s until they are made\n", report.From)
		}
		return nil
	}
	a.printf("%s embedded\n", memories(report.Embedded))
	if report.Refused > 0 {
		a.printf("%s refused by the embedder: found by keyword alone\n", memories(report.Refused))
	}
	if report.Switched && !report.From.IsZero() {
		a.printf("search uses %s instead of %s\n", report.To, report.From)
	}
	if report.Dropped > 0 {
		a.printf("old vectors of %s dropped\n", memories(report.Dropped))
	}
	return nil
}
