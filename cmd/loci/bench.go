package main

import (
	"os"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
)

type benchCmd struct {
	Speed     speedCmd     `cmd:"" default:"withargs" help:"Measure speed against raw SQLite. What \"loci bench\" alone does."`
	Retrieval retrievalCmd `cmd:"" help:"Measure what searches find, on questions whose evidence is known."`
	Injection injectionCmd `cmd:"" help:"Measure what a memory shows to prompts that nothing in it answers, and how far scores are chances."`
}

type speedCmd struct {
	Sizes    []int         `placeholder:"N" help:"Notes in the store when searching. Default: 1000,10000,100000."`
	Time     time.Duration `default:"2s" help:"How long each figure is measured."`
	Markdown bool          `help:"Write a Markdown table with the commit and the machine, to paste into docs/benchmarks.md."`
	Dir      string        `type:"existingdir" help:"Where the files are made. Default: a temporary directory."`
}

// Help is shown below the usage.
func (*speedCmd) Help() string {
	return `Measures saves, searches and the start of the server against raw SQLite on this machine, all in one run: read the ratios,
not the times.

    loci bench --sizes 1000,10000`
}

// Run measures and prints a table.
func (c *speedCmd) Run(a *app) error {
	binary, err := os.Executable()
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Msg: "this program cannot find its own file", Err: err}
	}
	opts := bench.Options{Sizes: c.Sizes, Time: c.Time, Dir: c.Dir, Binary: binary}
	switch {
	case c.Markdown && a.json:
		return loci.Errorf(loci.Invalid, "--markdown and --json exclude each other: give one")
	case c.Markdown:
		return bench.PrintMarkdown(a.ctx, opts, buildVersion().Version, a.rawOut)
	case !a.json:
		return bench.Print(a.ctx, opts, a.rawOut)
	}
	var rows []bench.Row
	if err := bench.Run(a.ctx, opts, func(r bench.Row) { rows = append(rows, r) }); err != nil {
		return err
	}
	return a.printJSON(rows)
}
