package genkit

import (
	"context"
	"log/slog"

	"github.com/loci-memory/loci"
)

// A Handle finds the memory of whoever a request is for. Retrievers and stores are made
// once and serve many users: the context, such as core.FromContext, is where the program
// says who asks. Use [Of] where there is one user.
type Handle func(ctx context.Context) (*loci.Memory, error)

// Of is the handle that is always the same memory.
func Of(memory *loci.Memory) Handle {
	return func(context.Context) (*loci.Memory, error) { return memory, nil }
}

// memory calls the handle.
func (h Handle) memory(ctx context.Context) (*loci.Memory, error) {
	if h == nil {
		return nil, loci.Errorf(loci.Invalid, "handle must not be nil: use Of, or a function that returns the caller's memory")
	}
	m, err := h(ctx)
	if err == nil && m == nil {
		return nil, loci.Errorf(loci.Invalid, "the handle returned no memory")
	}
	return m, err
}

// An Outcome says how a call of the memory went.
type Outcome struct {
	Op      string // "load", "append" or "retrieve"
	Session string // empty: the call is about none
	Stored  bool   // an append stored its messages; false for all that only reads
	Err     error  // a *loci.Error; nil: it went well
}

// Options say how much is loaded, and what becomes of errors. The zero value works.
type Options struct {
	// Last is how many of the newest messages a [History] loads, up to 1000. Results of
	// tools whose calls are older are left out with them. 0: all messages.
	Last int

	// Strict returns errors of reading and appending to the caller. Without it they are
	// logged, and the query goes on: with nothing read, or with nothing stored.
	Strict bool

	// Report, when not nil, is told the outcome of each append, and of each read that
	// failed. It must be safe for concurrent use.
	Report func(context.Context, Outcome)

	// Logger gets a warning for each error that is not returned. Default: slog.Default().
	Logger *slog.Logger
}

// settle reports an outcome and returns the error that the caller is to see.
func (o *Options) settle(ctx context.Context, out Outcome) error {
	if out.Err != nil {
		out.Err = loci.AsError(out.Err)
	}
	if o.Report != nil && (out.Op == opAppend || out.Err != nil) {
		o.Report(ctx, out)
	}
	if out.Err == nil || o.Strict {
		return out.Err
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.WarnContext(ctx, "memory failed; the query goes on without it", "op", out.Op, "session", out.Session, "stored", out.Stored, "error", out.Err)
	return nil
}

const (
	opLoad     = "load"
	opAppend   = "append"
	opRetrieve = "retrieve"
)
