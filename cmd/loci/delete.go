package main

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

type deleteCmd struct {
	ID             []idArg `arg:"" help:"The ids of the memories."`
	IdempotencyKey string  `placeholder:"KEY" help:"Makes the command repeatable; for a single id."`
	place
}

// Help is shown below the usage.
func (*deleteCmd) Help() string {
	return `Text, vectors and earlier states go from the store; the audit log keeps that there was a memory, not what it said.
With a session go its messages, with a file its versions, with a thread its checkpoints.

    loci delete note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run erases memories one by one; a missing one does not stop the others.
func (c *deleteCmd) Run(a *app) error {
	ids := make([]loci.ID, len(c.ID))
	for i, arg := range c.ID {
		id, err := arg.id()
		if err != nil {
			return err
		}
		ids[i] = id
	}
	if c.IdempotencyKey != "" && len(ids) > 1 {
		return loci.Errorf(loci.Invalid, "--idempotency-key is for one id: delete the others with keys of their own")
	}
	m, err := a.memory(c.place, c.IdempotencyKey, loci.ScopeDelete)
	if err != nil {
		return err
	}
	deleted := []string{}
	var failed error
	for i, id := range ids {
		if err := view.Delete(a.ctx, m, id); err != nil {
			if loci.AsError(err).Code != loci.NotFound {
				failed = err
				break
			}
			if failed == nil {
				failed = err
			} else {
				a.note("loci: %v", err)
			}
			continue
		}
		deleted = append(deleted, string(c.ID[i]))
	}
	if a.json {
		if err := a.printJSON(map[string]any{"deleted": deleted}); err != nil {
			return err
		}
		return failed
	}
	for _, id := range deleted {
		a.printf("%s\n", id)
	}
	return failed
}
