package main

import (
	"os"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
	"github.com/loci-memory/loci/internal/cores"
)

type benchCmd struct {
	Speed     speedCmd     `cmd:"" default:"withargs" help:"Measure speed against raw SQLite. What \"loci bench\" alone does."`
	Growth    growthCmd    `cmd:"" help:"Measure what each kind of call costs as the store grows."`
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
	return `Measures saves, searches and the start of the server beside raw SQLite on this machine, in one run. Compare the ratios, not
the times.

    loci bench --sizes 1000,10000`
}

// Run measures and prints a table.
func (c *speedCmd) Run(a *app) error {
	if err := checkSizes(c.Sizes); err != nil {
		return err
	}
	if c.Time <= 0 {
		return loci.Errorf(loci.Invalid, "--time is %s; it must be more than 0s", c.Time)
	}
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

// checkSizes refuses stores without notes, in which there is nothing to search for.
func checkSizes(sizes []int) error {
	for _, size := range sizes {
		if size < 1 {
			return loci.Errorf(loci.Invalid, "--sizes is %d; it must be at least 1", size)
		}
	}
	return nil
}

type growthCmd struct {
	Sizes []int    `placeholder:"N" help:"Notes in the store. Default: 1000,10000,100000; for 1000000 take an hour and 4 GB of disk."`
	Only  []string `placeholder:"NAME" help:"Only the calls whose names contain this, such as stats. Can be repeated."`
	Dir   string   `type:"existingdir" help:"Where the files are made. Default: a temporary directory."`
}

// Help is shown below the usage.
func (*growthCmd) Help() string {
	return `Measures one call of each kind in stores of growing size, in processor time and allocations. On Linux with hardware counters it
also counts the processor instructions of the call. The cost of a call should follow the size of its answer, not of the store.

    loci bench growth --sizes 1000,10000 --only list --only stats`
}

// Run measures and prints a table.
func (c *growthCmd) Run(a *app) error {
	binary, err := os.Executable()
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Msg: "this program cannot find its own file", Err: err}
	}
	if err := checkSizes(c.Sizes); err != nil {
		return err
	}
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	defer cores.RoomyHeap(cores.ClientHeap)() // as in loci mcp
	opts := bench.GrowthOptions{Sizes: c.Sizes, Only: c.Only, Dir: c.Dir, Binary: binary,
		Tokenizer: cfg.Engine(a.logger()).Tokenizer}
	if !a.json {
		return bench.PrintGrowth(a.ctx, opts, a.rawOut)
	}
	rows := []bench.Growth{}
	if err := bench.RunGrowth(a.ctx, opts, func(g bench.Growth) { rows = append(rows, g) }); err != nil {
		return err
	}
	return a.printJSON(rows)
}
