package trail

import "context"

// A Kind is a kind of work that a request consists of.
type Kind string

// The kinds.
const (
	Tool     Kind = "tool"     // a call of one
	Store    Kind = "store"    // a call of one
	Load     Kind = "load"     // waiting until the index of what is searched is in memory
	Embed    Kind = "embed"    // a call of an embedder
	Complete Kind = "complete" // a call of a language model
)

// A Step is a part of the work for a request. Name is one of those that the program has, such
// as that of a tool; no caller chooses it.
type Step struct {
	Kind Kind
	Name string
}

// An End is what became of a step.
type End struct {
	Code string // of the error; "": it succeeded

	// Prompt and Answer are tokens of a language model.
	Prompt, Answer int64
}

// Failed is the code of steps whose errors have none.
const Failed = "failed"

// EndOf is the end of a step whose errors have no codes.
func EndOf(err error) End {
	if err != nil {
		return End{Code: Failed}
	}
	return End{}
}

// A Watcher hears of steps. It must not wait for anything.
type Watcher interface {
	// Begin hears that a step begins, and returns the context of what is done for it. ended
	// is called once.
	Begin(ctx context.Context, s Step) (of context.Context, ended func(End))
}

type watcherKey struct{}

// Watched returns a context whose steps a watcher hears of.
func Watched(ctx context.Context, w Watcher) context.Context {
	return context.WithValue(ctx, watcherKey{}, w)
}

// Begin says that a step begins. ended is to be called when it has ended.
func Begin(ctx context.Context, s Step) (of context.Context, ended func(End)) {
	if w, ok := ctx.Value(watcherKey{}).(Watcher); ok {
		return w.Begin(ctx, s)
	}
	return ctx, unwatched
}

func unwatched(End) {}

// A Caller is the trace that a caller says a call belongs to, as it wrote it: see the
// recommendation Trace Context of the W3C.
type Caller struct{ Parent, State string }

type callerKey struct{}

// Of returns a context of a call that belongs to a caller's trace.
func Of(ctx context.Context, c Caller) context.Context { return context.WithValue(ctx, callerKey{}, c) }

// CallerOf returns the trace that a call belongs to; empty where nobody said so.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller) // none is the empty one
	return c
}
