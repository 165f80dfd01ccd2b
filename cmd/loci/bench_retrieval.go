package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
	"github.com/loci-memory/loci/embedding"
)

type retrievalCmd struct {
	Data       []string `required:"" type:"existingdir" placeholder:"DIR" help:"A directory with turns.jsonl and questions.jsonl. Several are measured one by one and together."`
	Compare    []string `placeholder:"NAME" help:"The embedders to compare, in place of --embedder; the first one is what the others are compared with."`
	Context    []string `default:"none" placeholder:"FORM" values:"none,speaker,speaker+date" help:"What is stored before the text of a turn: none, speaker or speaker+date; of several each is measured. Default: none."`
	Captions   bool     `help:"Store the captions of shared pictures, too."`
	Baseline   bool     `help:"Measure SQLite FTS5 (porter, stop words left out), too."`
	Typing     bool     `help:"Measure every question with a typing error, too: always the same one."`
	ByTools    bool     `help:"Save every turn with the tool memory_save and search with memory_search, as an agent does."`
	Neighbours *float64 `placeholder:"SHARE" help:"In place of retrieval.neighbour_share: the share of the score of the turn before that a turn gets, 0 to 1; 0 for none."`
	Dir        string   `type:"existingdir" help:"Where the files are made, and removed. Default: a temporary directory."`
}

// Help is shown below the usage.
func (*retrievalCmd) Help() string {
	return `Each conversation becomes the memory of a user, each turn one memory; then every question is searched for by keyword, by
vector and by both. It shows the share of the evidence that is found, with confidence intervals, and what a search costs.
Memories go to a file of their own, or with --store memory: nowhere; the configured store is not touched. docs/retrieval.md
describes the data.

    loci bench retrieval --data DIR --baseline
    loci bench retrieval --data DIR --by-tools
    loci bench retrieval --data DIR --neighbours 0
    loci bench retrieval --data DIR --compare lexical,none --context none,speaker --json`
}

// Run measures and prints tables.
func (c *retrievalCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	opts := bench.RetrievalOptions{
		Dirs: c.Data, Contexts: c.Context, Captions: c.Captions,
		Baseline: c.Baseline, Tools: c.ByTools, Typing: c.Typing,
		Dir:    c.Dir,
		Engine: cfg.Engine(a.logger()), Progress: func(what string) { a.note("%s", what) },
	}
	if n := c.Neighbours; n != nil {
		if !(*n >= 0 && *n <= 1) {
			return loci.Errorf(loci.Invalid, "neighbour share is %v; it must be 0 to 1", *n)
		}
		opts.Engine.Search.NeighbourShare = cmp.Or(*n, loci.None)
	}
	if opts.InMemory, err = inMemory(a.flags); err != nil {
		return err
	}
	names := c.Compare
	switch {
	case len(names) == 0:
		names = []string{cfg.Embedding.Spec}
	case a.flags.Embedder != nil:
		return &loci.Error{Code: loci.Invalid, Msg: "--embedder and --compare both choose the embedder",
			Recovery: "Name every embedder in --compare."}
	}
	for _, name := range names {
		choice := cfg.Embedding
		choice.Spec = name
		e, err := embedding.Open(choice)
		if err != nil {
			return err
		}
		opts.Systems = append(opts.Systems, bench.System{Name: name, Embedder: e})
	}
	report, err := bench.Retrieval(a.ctx, opts)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	return report.Print(a.out)
}

// inMemory reads --store. The conversations of strangers must not go into the configured
// store of memories: only the flag counts, and it names no file.
func inMemory(f *flags) (bool, error) {
	switch {
	case f.Store == nil || strings.TrimSuffix(*f.Store, ":") == "sqlite":
		return false, nil
	case *f.Store == "memory:":
		return true, nil
	}
	return false, &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("--store is %s; here it is sqlite: for a file that is removed again, or memory:", shownURL(*f.Store)),
		Recovery: "Choose the place of the file with --dir."}
}
