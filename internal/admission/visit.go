package admission

import (
	"context"
	"sync/atomic"
	"time"
)

// A Visit is a request on its way through a server: its context carries it, so that what
// the request calls can let others go first while it waits.
type Visit struct {
	Ending <-chan struct{} // closed when the server is to end; nil: never

	pass atomic.Pointer[Pass] // nil until it has a slot
}

type visitKey struct{}

// With returns a context that carries a visit.
func With(ctx context.Context, v *Visit) context.Context {
	return context.WithValue(ctx, visitKey{}, v)
}

// visitOf is the visit that a context carries; it is empty where there is none.
func visitOf(ctx context.Context) *Visit {
	if v, ok := ctx.Value(visitKey{}).(*Visit); ok {
		return v
	}
	return &Visit{}
}

// Let says that the visit has its slot.
func (v *Visit) Let(p *Pass) { v.pass.Store(p) }

// Aside gives the slot of the request that ctx is of to others while it waits for what
// needs no processor of ours: see [Pass.Aside]. Where the request has no slot, neither
// this nor what it returns does anything.
func Aside(ctx context.Context) (back func(context.Context) error) {
	return visitOf(ctx).pass.Load().Aside()
}

// Sending gives the slot of the request that ctx is of to others while its answer waits for whoever
// reads it: see [Pass.Sending].
func Sending(ctx context.Context) (back func(context.Context) error) {
	return visitOf(ctx).pass.Load().Sending()
}

// prompt is how long a request keeps its slot while another does something for it: about
// as long as a good disk takes for a commit.
const prompt = 5 * time.Millisecond

// Outcome waits for the outcome of a write that others do for the request that ctx is of,
// and gives the slot of the request to others while a slow disk is all that it waits for.
// It has its slot again at once: others may hold theirs until the write is told.
// When ctx ends, cancel says whether the write could be taken back; if not, its outcome is
// awaited.
func Outcome(ctx context.Context, done <-chan error, cancel func() bool) error {
	if pass := visitOf(ctx).pass.Load(); pass != nil {
		soon := time.NewTimer(prompt)
		defer soon.Stop()
		select {
		case err := <-done:
			return err
		case <-soon.C:
		case <-ctx.Done():
		}
		defer pass.lend()()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if cancel() {
			return ctx.Err()
		}
		return <-done
	}
}

// Stream says that the request that ctx is of does nothing but listen from now on: it
// gives its slot back for good. The context that it returns ends with ctx, and when the
// server is to end.
func Stream(ctx context.Context) (context.Context, context.CancelFunc) {
	v := visitOf(ctx)
	v.pass.Load().Leave()
	ctx, cancel := context.WithCancel(ctx)
	if v.Ending == nil {
		return ctx, cancel
	}
	go func() {
		select {
		case <-v.Ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
