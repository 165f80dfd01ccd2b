package main

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
)

type listCmd struct {
	Tag     []string `sep:"none" short:"t" placeholder:"TAG" help:"Only memories with this tag; may be repeated."`
	Filter  string   `placeholder:"JSON" help:"Only memories whose metadata match."`
	Limit   int      `short:"n" default:"50" placeholder:"N" help:"At most so many, 1 to 1000. Default: 50."`
	Cursor  string   `placeholder:"CURSOR" help:"Go on where the list before ended."`
	All     bool     `help:"List all of them, however many."`
	History bool     `help:"Also those that newer facts have superseded."`
	place
}

// Help is shown below the usage.
func (*listCmd) Help() string {
	return `In a pipe each memory is a line: id, time, tags and content, with tabs between them.

    loci list --tag travel
    loci list --all --json`
}

// Run lists facts and notes.
func (c *listCmd) Run(a *app) error {
	where, err := parseFilter(c.Filter)
	if err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --all or --cursor", c.Limit)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	q := loci.FactQuery{Tags: c.Tag, Where: where, History: c.History}
	page := loci.Page{Limit: c.Limit, Cursor: c.Cursor}
	if c.All {
		page.Limit = 500
	}
	out := listing{Memories: []memoryJSON{}}
	for {
		facts, next, err := m.Facts(a.ctx, q, page)
		if err != nil {
			return err
		}
		for i := range facts {
			out.Memories = append(out.Memories, factJSON(&facts[i]))
		}
		page.Cursor, out.NextCursor = next, next
		if next == "" || !c.All {
			break
		}
		if !a.json && !isTerminal(a.rawOut) { // lines can go out as they come
			a.printListing(out)
			out.Memories = nil
		}
	}
	if a.json {
		return a.printJSON(out)
	}
	a.printListing(out)
	if out.NextCursor != "" {
		a.note("there are more: --cursor %s", out.NextCursor)
	}
	return nil
}

func (a *app) printListing(out listing) {
	t := table{head: []string{"ID", "AGE", "TAGS", "CONTENT"}}
	for _, f := range out.Memories {
		t.add(f.ID, a.when(f.CreatedAt), tagList(f.Tags), fence.Key(f.Subject, f.Predicate)+f.Content)
	}
	t.print(a)
}
