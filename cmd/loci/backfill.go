package main

import "github.com/loci-memory/loci"

type backfillCmd struct{}

// Help is shown below the usage.
func (*backfillCmd) Help() string {
	return `Memories have no vectors after the embedder was changed or did not answer. Stopped half way, it goes on where it was
when run again.

    loci backfill`
}

// Run embeds what has no vectors, in the whole tenant.
func (c *backfillCmd) Run(a *app) error {
	if err := a.open(loci.ScopeWrite); err != nil {
		return err
	}
	if a.embedder == nil {
		return &loci.Error{Code: loci.Unsupported, Msg: "no embedder is configured, so there are no vectors to make",
			Recovery: "Set embedder, for example with --embedder lexical."}
	}
	show, end := a.progress("embedding")
	done, err := a.engine.Backfill(a.ctx, a.principal.Tenant(), func(done int) { show(int64(done)) })
	end()
	if err != nil {
		if done > 0 {
			a.note("%d memories got their vectors before it stopped", done)
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]int{"embedded": done})
	}
	a.printf("%d memories embedded\n", done)
	return nil
}
