package main

import (
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

type deleteCmd struct {
	ID             []idArg `arg:"" help:"The ids of the memories."`
	IdempotencyKey string  `placeholder:"KEY" help:"Makes the command safe to repeat; goes with a single id."`
	place
}

// Help is shown below the usage.
func (*deleteCmd) Help() string {
	return `Erases the text, the vectors and the earlier states. The audit log keeps that there was a memory, not what it said. Erasing a
session erases its messages, a file its versions, and a thread its checkpoints.

    loci delete note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run erases memories one by one; a missing one does not stop the others.
func (c *deleteCmd) Run(a *app) error {
	for _, arg := range c.ID {
		if err := arg.check(); err != nil {
			return err
		}
	}
	if c.IdempotencyKey != "" && len(c.ID) > 1 {
		return loci.Errorf(loci.Invalid, "--idempotency-key is for one id: delete the others with keys of their own")
	}
	m, err := a.memory(c.place, c.IdempotencyKey, loci.ScopeDelete)
	if err != nil {
		return err
	}
	ids, shown, errs := make([]loci.ID, len(c.ID)), make([]string, len(c.ID)), make([]error, len(c.ID))
	for i, arg := range c.ID { // before the first is erased
		ids[i], shown[i], errs[i] = arg.whole(a, m)
		if err := errs[i]; err != nil && loci.AsError(err).Code != loci.NotFound {
			return err
		}
	}
	deleted := []string{}
	var failed error
	for i := range c.ID {
		err := errs[i]
		if err == nil {
			var more interface{ Unfinished() bool }
			for err = view.Delete(a.ctx, m, ids[i]); errors.As(err, &more); { // a large thread goes in parts
				err = view.Delete(a.ctx, m, ids[i])
			}
		}
		switch {
		case err == nil:
			deleted = append(deleted, shown[i])
			continue
		case failed == nil:
			failed = err
		default:
			a.note("loci: %v", err)
		}
		if loci.AsError(err).Code != loci.NotFound {
			failed = err
			break
		}
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
