package main

import "github.com/loci-memory/loci"

type sweepCmd struct{}

// Help is shown below the usage.
func (*sweepCmd) Help() string {
	return `Erases what has expired and makes the vectors that are missing. Reads do not depend on it: what has expired is out of
them at that moment. The MCP server does the same while it runs.

    loci sweep`
}

// Run does the upkeep of the tenant.
func (c *sweepCmd) Run(a *app) error {
	if err := a.open(loci.ScopeWrite, loci.ScopeDelete); err != nil {
		return err
	}
	report, err := a.engine.SweepTenant(a.ctx, a.principal.Tenant())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	a.printf("%d expired memories erased, %d embedded\n", report.Expired, report.Embedded)
	return nil
}
