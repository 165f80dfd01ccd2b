// Package trail is what becomes known of a request while it runs. Surfaces write down what
// they do for it and what they refuse; the server in front reads that when it has ended. The
// context of the request carries it, so that no surface knows a server.
package trail

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A Trail is of one request. It is safe for concurrent use.
type Trail struct {
	mu        sync.Mutex
	operation string
	refused   string
	lacking   []string
	mayAsk    func(scope string) bool // nil: for none
	calls     []Call
}

// A Call is one of a tool.
type Call struct {
	Tool string
	Code string // of the error; "": it succeeded
	Took time.Duration
}

// mostCalls is how many calls of one request are kept: a request has one, or a batch of them.
const mostCalls = 100

type key struct{}

// With returns a context that carries a trail.
func With(ctx context.Context, t *Trail) context.Context { return context.WithValue(ctx, key{}, t) }

// of is the trail of a context; an empty one where there is none.
func of(ctx context.Context) *Trail {
	if t, ok := ctx.Value(key{}).(*Trail); ok {
		return t
	}
	return &Trail{}
}

// Does says what the request of a context is about, as the surface calls that.
func Does(ctx context.Context, operation string) {
	t := of(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.operation = operation
}

// Refuses says that the caller may not do an operation; "": what the request is about. The
// first refusal of a request is kept.
func Refuses(ctx context.Context, operation string) {
	t := of(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if operation == "" {
		operation = t.operation
	}
	if t.refused == "" {
		t.refused = operation
	}
}

// Lacks says which scopes the caller lacks, of which one would do. Those of the first refusal
// of a request are kept.
func Lacks(ctx context.Context, scopes ...string) {
	t := of(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lacking) == 0 {
		t.lacking = slices.Clone(scopes)
	}
}

// Stopped returns the scopes that the caller lacks and can ask somebody for: it has to hear of
// them from the transport, and not only in a reply.
func Stopped(ctx context.Context) []string {
	t := of(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mayAsk == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(t.lacking), func(scope string) bool { return !t.mayAsk(scope) })
}

// Called adds the call of a tool.
func Called(ctx context.Context, c Call) {
	t := of(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.calls) < mostCalls {
		t.calls = append(t.calls, c)
	}
}

// Operation is what the request was about; "": no surface said so.
func (t *Trail) Operation() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.operation
}

// Refused is what the caller was refused; "": nothing.
func (t *Trail) Refused() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refused
}

// Lacking are the scopes that the caller lacks.
func (t *Trail) Lacking() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lacking)
}

// MayAsk says that the caller can get a credential with more scopes, and whether one of them
// is among those.
func (t *Trail) MayAsk(gives func(scope string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mayAsk = gives
}

// Calls are those of tools.
func (t *Trail) Calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}
