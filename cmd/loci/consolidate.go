package main

import (
	"strings"

	"github.com/loci-memory/loci"
)

func (a *app) consolidateOptions() loci.ConsolidateOptions {
	opts := a.cfg.Consolidation
	opts.Completer = a.completer
	return opts
}

type consolidateCmd struct {
	DryRun bool `help:"Say what would be done, and do nothing."`
}

// Help is shown below the usage.
func (*consolidateCmd) Help() string {
	return `Takes the tenant's waiting episodes, asks the configured language model once for each agent's group of them, and writes the facts
and rules it answers with, linked to the episodes. llm.max_tokens_per_run and llm.max_tokens_per_day limit what it may spend. Without
llm.provider it only says what it would do. The MCP server does the same every llm.consolidate_every.

    loci consolidate --dry-run
    loci consolidate`
}

// Run consolidates the episodes of the tenant.
func (c *consolidateCmd) Run(a *app) error {
	if err := a.open(loci.ScopeWrite); err != nil {
		return err
	}
	opts := a.consolidateOptions()
	opts.DryRun = c.DryRun
	report, err := a.engine.Consolidate(a.ctx, a.principal.Tenant(), opts)
	if err != nil {
		if report.Groups > 0 {
			a.note("before it stopped: %d calls, %d episodes consolidated, %d tokens", report.Groups, report.Consolidated, report.Usage.Total())
		}
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	if report.DryRun {
		a.printf("to do: %d episodes in %d calls, at most about %d tokens\n", report.Episodes, report.Groups, report.EstimatedTokens)
		if a.completer == nil {
			a.note("no language model is configured: set llm.provider and llm.model")
		}
	} else {
		a.printConsolidated(&report)
	}
	if report.TooLarge+report.Waiting > 0 {
		a.printf("%d episodes fit in no prompt, %d wait for another attempt\n", report.TooLarge, report.Waiting)
	}
	return nil
}

func (a *app) printConsolidated(r *loci.ConsolidateReport) {
	a.printf("%d episodes consolidated, %d failed, %d given up\n", r.Consolidated, r.Failed, r.DeadLettered)
	a.printf("%d facts created, %d updated, %d rules created, %d confirmed\n", r.Created, r.Updated, r.Rules, r.Confirmed)
	var skipped []string
	for _, reason := range r.Reasons() {
		skipped = append(skipped, strings.ReplaceAll(reason, "_", " "))
	}
	if len(skipped) > 0 {
		a.printf("items of answers left out: %s\n", strings.Join(skipped, ", "))
	}
	a.printf("%d calls of %s took %d tokens\n", r.Groups, r.Model, r.Usage.Total())
	if r.Budget != "" {
		a.note("the budget of a %s is used up: the rest follows later", r.Budget)
	}
}
