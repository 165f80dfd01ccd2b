package aside

import (
	"context"
	"errors"

	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/trail"
	"github.com/loci-memory/loci/store/internal/index"
)

// A Ticket is what a search needs.
type Ticket[T any] struct {
	pinned []index.Key
	loads  []*Load[T]
}

// Pins reports whether the ticket pins shards.
func (t *Ticket[T]) Pins() bool { return len(t.pinned) > 0 }

// Waits reports whether the ticket has something to wait for.
func (t *Ticket[T]) Waits() bool { return len(t.loads) > 0 }

// wait waits until all of a ticket is in the index.
func (t *Ticket[T]) wait(ctx context.Context) error {
	for _, one := range t.loads {
		select {
		case <-one.done:
			if one.err != nil {
				return one.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// WaitAside waits for what a ticket needs, and before that for busy unless it is nil. It
// gives the slot of the request to others meanwhile: a load takes seconds, of which a
// search that has its index needs none.
func (t *Ticket[T]) WaitAside(ctx context.Context, busy <-chan struct{}) (err error) {
	ctx, ended := trail.Begin(ctx, trail.Step{Kind: trail.Load, Name: "index"})
	defer func() { ended(loaded(err)) }()
	back := admission.Aside(ctx)
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		err = t.wait(ctx)
	}
	if again := back(ctx); err == nil {
		err = again
	}
	return err
}

// loaded is what became of waiting for an index: to look again is no failure.
func loaded(err error) trail.End {
	if errors.Is(err, ErrAgain) {
		err = nil
	}
	return trail.EndOf(err)
}
