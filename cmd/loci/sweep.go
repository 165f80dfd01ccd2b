package main

import "github.com/loci-memory/loci"

type sweepCmd struct {
	DryRun bool `help:"Say what would be done, and do nothing."`
}

// Help is shown below the usage.
func (*sweepCmd) Help() string {
	return `Erases expired memories and the episodes beyond their limit, records which facts and rules have faded or expired, and makes missing
vectors. Reads do not depend on it: they work out each state at the moment of reading. The MCP server does the same while it runs.

    loci sweep --dry-run
    loci sweep`
}

// Run does the upkeep of the tenant.
func (c *sweepCmd) Run(a *app) error {
	if err := a.open(loci.ScopeWrite, loci.ScopeDelete); err != nil {
		return err
	}
	sweep := a.engine.SweepTenant
	if c.DryRun {
		sweep = a.engine.PlanSweep
	}
	report, err := sweep(a.ctx, a.principal.Tenant())
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	if c.DryRun {
		a.printf("to do: ")
		report.Embedded = int(report.Lacking)
	}
	a.printf("%s erased, %d embedded\n", number(report.Expired, "expired memory", "expired memories"), report.Embedded)
	if report.Capped+report.Faded+report.Ended > 0 {
		a.printf("%d episodes beyond the cap erased, %d memories faded, %d expired by decay\n", report.Capped, report.Faded, report.Ended)
	}
	return nil
}
