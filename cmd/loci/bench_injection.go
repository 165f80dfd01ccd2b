package main

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
	"github.com/loci-memory/loci/embedding"
)

type injectionCmd struct {
	Data    []string `required:"" type:"existingdir" placeholder:"DIR" help:"A directory with turns.jsonl and questions.jsonl; several are measured together."`
	Prompts string   `required:"" type:"existingdir" placeholder:"DIR" help:"A directory with prompts.jsonl, which nothing in the data answers."`
	Context string   `default:"none" placeholder:"FORM" values:"none,speaker,speaker+date" help:"What is stored before the text of a turn: none, speaker or speaker+date. Default: none."`
	Limit   int      `short:"n" default:"10" placeholder:"N" help:"Results of each search, 1 to 1000. Default: 10."`
	Dir     string   `type:"existingdir" help:"Where the files are made, and removed. Default: a temporary directory."`
}

// Help is shown below the usage.
func (*injectionCmd) Help() string {
	return `Puts the questions of the data to the memories that answer them, and prompts that nothing answers to the same memories. For each
least score it shows the share of questions that get evidence, and of prompts that get anything; then how often results of
a score are evidence. docs/scoring.md says what to make of it.

    loci bench injection --data bench/testdata/diary --prompts bench/testdata/unrelated`
}

// Run measures and prints tables.
func (c *injectionCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > loci.MaxSearchLimit {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to %d", c.Limit, loci.MaxSearchLimit)
	}
	opts := bench.RetrievalOptions{
		Dirs: c.Data, Contexts: []string{c.Context}, Dir: c.Dir,
		Engine: cfg.Engine(a.logger()), Progress: func(what string) { a.note("%s", what) },
	}
	if opts.InMemory, err = inMemory(a.flags); err != nil {
		return err
	}
	e, err := embedding.Open(cfg.Embedding)
	if err != nil {
		return err
	}
	opts.Systems = []bench.System{{Name: cfg.Embedding.Spec, Embedder: e}}
	prompts, err := bench.ReadPrompts(c.Prompts)
	if err != nil {
		return err
	}
	report, err := bench.Injection(a.ctx, opts, prompts, c.Limit)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	return report.Print(a.out)
}
