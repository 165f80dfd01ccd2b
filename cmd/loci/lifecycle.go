package main

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

// one is what the verbs for one memory have in common.
type one struct {
	ID             idArg  `arg:"" help:"The id of the memory."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the command safe to repeat: the same key does it only once."`
	place
}

// do runs a verb and shows the memory that is there then.
func (c *one) do(
	a *app, scope loci.Scope, verb func(context.Context, *loci.Memory, loci.ID) (view.Entry, error),
) error {
	m, id, err := c.ID.in(a, c.place, c.IdempotencyKey, scope)
	if err != nil {
		return err
	}
	e, err := verb(a.ctx, m, id)
	if err != nil {
		return err
	}
	shown := entryJSON(&e)
	if a.json {
		return a.printJSON(shown)
	}
	a.printf("%s\n", shown.ID)
	return nil
}

type confirmCmd struct{ one }

// Help is shown below the usage.
func (*confirmCmd) Help() string {
	return `Starts the clock of its confidence again: a memory that fades or has expired is live again.

    loci confirm note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run confirms a memory.
func (c *confirmCmd) Run(a *app) error { return c.do(a, loci.ScopeWrite, view.Confirm) }

type forgetCmd struct{ one }

// Help is shown below the usage.
func (*forgetCmd) Help() string {
	return `Search, recall and context no longer find the memory. You can still read it by its id. "loci restore" brings it back, "loci delete"
erases it.

    loci forget note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run forgets a memory.
func (c *forgetCmd) Run(a *app) error { return c.do(a, loci.ScopeDelete, view.Forget) }

type restoreCmd struct {
	one
	Version int64 `placeholder:"N" help:"Bring back what a fact or a note said in this version; loci history lists them."`
}

// Help is shown below the usage.
func (*restoreCmd) Help() string {
	return `Prints the id of the memory that holds now. A superseded fact comes back as a new fact, which supersedes the one that had
replaced it.

    loci restore note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77
    loci restore note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --version 1`
}

// Run restores a memory.
func (c *restoreCmd) Run(a *app) error {
	return c.do(a, loci.ScopeWrite, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
		return view.Restore(ctx, m, id, c.Version)
	})
}

type supersedeCmd struct {
	one
	Content  []string `arg:"" help:"What holds now; - reads it from standard input."`
	Tag      []string `sep:"none" short:"t" placeholder:"TAG" help:"A tag of the new one; may be repeated."`
	Metadata []string `sep:"none" short:"m" placeholder:"NAME=VALUE" help:"A detail of the new one; may be repeated."`
}

// Help is shown below the usage.
func (*supersedeCmd) Help() string {
	return `Prints the id of the new memory, which takes over the key of the old one. The old one stays as history. To correct what was never
true, use "loci update".

    loci supersede note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 "Prefers aisle seats."`
}

// Run supersedes a memory.
func (c *supersedeCmd) Run(a *app) error {
	fact, err := a.factFrom(c.Content, c.Tag, c.Metadata)
	if err != nil {
		return err
	}
	return c.do(a, loci.ScopeWrite, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
		return view.Supersede(ctx, m, id, fact)
	})
}

type helpfulCmd struct{ one }

// Help is shown below the usage.
func (*helpfulCmd) Help() string {
	return `A rule that keeps helping rises from candidate to established to proven.

    loci helpful 01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run counts a success.
func (c *helpfulCmd) Run(a *app) error { return c.do(a, loci.ScopeWrite, view.Helpful) }

type harmfulCmd struct {
	one
	Reason string `placeholder:"TEXT" help:"What went wrong, in one sentence."`
}

// Help is shown below the usage.
func (*harmfulCmd) Help() string {
	return `One harm weighs as much as four successes. A rule that keeps doing harm becomes a warning not to follow it.

    loci harmful 01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --reason "It asked twice."`
}

// Run counts a harm.
func (c *harmfulCmd) Run(a *app) error {
	return c.do(a, loci.ScopeWrite, func(ctx context.Context, m *loci.Memory, id loci.ID) (view.Entry, error) {
		return view.Harmful(ctx, m, id, c.Reason)
	})
}

type reviewCmd struct {
	Limit int `short:"n" default:"50" placeholder:"N" help:"The most to show, 1 to 1000. Default: 50."`
	width
	following
	place
}

// Help is shown below the usage.
func (*reviewCmd) Help() string {
	return `Lists facts and rules that fade, rules that did harm, and episodes that wait for consolidation. In a pipe each memory is a line:
id, time, reason and content, with tabs between them.

    loci review`
}

// Run lists what somebody should look at.
func (c *reviewCmd) Run(a *app) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --cursor", c.Limit)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	due, next, err := view.Review(a.ctx, m, loci.Page{Limit: c.Limit, Cursor: c.Cursor})
	if err != nil {
		return err
	}
	type dueJSON struct {
		memoryJSON
		Reason string `json:"reason"`
	}
	out := []dueJSON{}
	t := table{wide: c.Wide, head: []string{"ID", "AGE", "WHY", "CONTENT"}}
	for i := range due {
		shown := entryJSON(&due[i].Entry)
		out = append(out, dueJSON{shown, due[i].Reason})
		t.add(a.shortID(shown.ID, c.Wide), a.when(shown.CreatedAt), due[i].Reason, shown.said())
	}
	if a.json {
		return a.printJSON(struct {
			Memories   []dueJSON `json:"memories"`
			NextCursor string    `json:"next_cursor,omitempty"`
		}{out, next})
	}
	if len(out) == 0 {
		a.note("nothing to look at")
	}
	t.print(a)
	a.more(next)
	return nil
}
