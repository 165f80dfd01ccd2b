package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/bench"
	"github.com/loci-memory/loci/embedding"
)

type retrievalCmd struct {
	Data       []string `type:"existingdir" placeholder:"DIR" help:"A directory with turns.jsonl and questions.jsonl. Several are measured one by one and together."`
	Official   []string `sep:"none" placeholder:"NAME=PATH" help:"A published dataset as it is: locomo=FILE, longmemeval=FILE or beam=DIR. Loci is asked through its tools, as with --by-tools."`
	Units      string   `default:"turns" placeholder:"UNIT" help:"What is one memory: turns or sessions. Default: turns."`
	Questions  int      `placeholder:"N" help:"Ask only N questions of each dataset, evenly spread. Default: all."`
	Beside     []string `sep:"none" placeholder:"NAME=PROGRAM" help:"A program that keeps the same memories and is asked the same; docs/retrieval.md says how it is spoken to."`
	Each       string   `type:"path" placeholder:"FILE" help:"Write what was found for each question to this file, a line of JSON each. It must not exist."`
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
	return `Stores each conversation as one user's memory, with one memory for each turn, then searches for every question by keyword, by
vector and by both. It shows how much of the evidence is found, with confidence intervals, and what a search costs. The memories
are in a file of their own, or with --store memory: in no file; your configured store is not touched. docs/retrieval.md describes
the data.

    loci bench retrieval --data DIR --baseline
    loci bench retrieval --data DIR --by-tools
    loci bench retrieval --official locomo=locomo10.json --baseline --each questions.jsonl
    loci bench retrieval --data DIR --neighbours 0
    loci bench retrieval --data DIR --compare lexical,none --context none,speaker --json`
}

// Run measures and prints tables.
func (c *retrievalCmd) Run(a *app) (err error) {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	opts := bench.RetrievalOptions{
		Dirs: c.Data, Contexts: c.Context, Captions: c.Captions,
		Baseline: c.Baseline, Tools: c.ByTools, Typing: c.Typing,
		Dir: c.Dir, Units: c.Units, Questions: c.Questions,
		Engine: cfg.Engine(a.logger()), Progress: func(what string) { a.note("%s", what) },
	}
	if opts.Engine.Rerank.Reranker, err = embedding.OpenReranker(cfg.RerankModel); err != nil {
		return err
	}
	if err = c.official(&opts); err != nil {
		return err
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
	if c.Each != "" {
		f, err := os.OpenFile(c.Each, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return &loci.Error{Code: loci.Invalid, Msg: "--each: " + err.Error(), Recovery: "Name a file that is not there."}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		opts.Each = f
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

// official reads the names of published datasets, and of what is asked beside Loci.
func (c *retrievalCmd) official(opts *bench.RetrievalOptions) error {
	for _, named := range c.Official {
		name, path, ok := strings.Cut(named, "=")
		if !ok || path == "" {
			return loci.Errorf(loci.Invalid, "--official is %q; write it as NAME=PATH, with a name of %s", named, strings.Join(bench.Officials(), ", "))
		}
		opts.Official = append(opts.Official, bench.Official{Name: name, Path: path})
	}
	for _, text := range c.Beside {
		n, err := bench.ParseNeighbour(text)
		if err != nil {
			return err
		}
		opts.Beside = append(opts.Beside, n)
	}
	return nil
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

type injectionCmd struct {
	Data    []string `required:"" type:"existingdir" placeholder:"DIR" help:"A directory with turns.jsonl and questions.jsonl; several are measured together."`
	Prompts string   `required:"" type:"existingdir" placeholder:"DIR" help:"A directory with prompts.jsonl, which nothing in the data answers."`
	Context string   `default:"none" placeholder:"FORM" values:"none,speaker,speaker+date" help:"What is stored before the text of a turn: none, speaker or speaker+date. Default: none."`
	Limit   int      `short:"n" default:"10" placeholder:"N" help:"Results of each search, 1 to 1000. Default: 10."`
	Half    string   `placeholder:"NAME" help:"Ask only the questions, and put only the prompts, whose half has this name. Default: all."`
	Apart   bool     `help:"Show what each memory shows, too."`
	Mode    string   `default:"hybrid" values:"hybrid,keyword,semantic" placeholder:"MODE" help:"How to search: hybrid, keyword or semantic. Default: hybrid."`
	Dir     string   `type:"existingdir" help:"Where the files are made, and removed. Default: a temporary directory."`
}

// Help is shown below the usage.
func (*injectionCmd) Help() string {
	return `Asks the same memories two kinds of questions: those that the memories answer, and prompts that no memory answers. For each
minimum score it shows how many questions get evidence and how many prompts get anything, then how often results of a score
are evidence. docs/scoring.md explains how to use the figures.

    loci bench injection --data bench/testdata/diary --prompts bench/testdata/unrelated
    loci bench injection --data bench/testdata/languages --prompts bench/testdata/languages --apart`
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
	opts := bench.InjectionOptions{Half: c.Half, Apart: c.Apart, Mode: loci.Mode(c.Mode)}
	opts.RetrievalOptions = bench.RetrievalOptions{
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
