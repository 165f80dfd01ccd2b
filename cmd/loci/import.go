package main

import (
	"errors"

	"github.com/loci-memory/loci"
)

type importCmd struct {
	File   string `arg:"" help:"The file to read; - is standard input."`
	DryRun bool   `help:"Check the whole file without storing anything."`
	place
}

// Help is shown below the usage.
func (*importCmd) Help() string {
	return `Reads a file of "loci export", or the JSONL file of the MCP reference memory server. The whole file is checked before anything is
stored. You may import a file again: memories that exist already are left alone.

    loci import memories.jsonl --dry-run
    loci import memories.jsonl`
}

// Run imports into a namespace.
func (c *importCmd) Run(a *app) (err error) {
	m, err := a.importTarget(c) // first whether the caller may at all
	if err != nil {
		return err
	}
	in, err := a.openInput(c.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	show, end := a.progress("importing")
	defer end()
	report, err := m.Import(a.ctx, in, show)
	a.imported = true // also where it stopped half way
	end()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			loci.ImportReport
			DryRun bool `json:"dry_run,omitempty"`
		}{report, c.DryRun})
	}
	if c.DryRun {
		a.printf("%s could be imported (%s)\n", memories(report.Created), report.Format)
		return nil
	}
	a.printf("%s imported, %s there already (%s)\n", memories(report.Created), number(report.Existing, "was", "were"), report.Format)
	if report.Conflicts > 0 {
		a.note("%d were left out, because something else is under their key or id here:", report.Conflicts)
		for _, line := range report.Skipped {
			a.note("  %s", line)
		}
	}
	return nil
}

// importTarget is the memory to import into; for a dry run, one that is forgotten.
func (a *app) importTarget(c *importCmd) (*loci.Memory, error) {
	if !c.DryRun {
		return a.memory(c.place, "", loci.ScopeWrite)
	}
	cfg, err := a.configure()
	if err != nil {
		return nil, err
	}
	cfg.Store, cfg.Embedding.Spec = "memory:", "none"
	return a.memory(c.place, "", loci.ScopeWrite)
}
