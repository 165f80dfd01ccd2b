package langchaingo

import (
	"context"
	"log/slog"

	"github.com/loci-memory/loci"
)

// An Outcome says how a call of the memory went.
type Outcome struct {
	Op      string // "load", "append" or "retrieve"
	Session string // empty: the call is about none
	Stored  bool   // an append stored its messages; false for all that only reads
	Err     error  // a *loci.Error; nil: it went well
}

// Options say how much is loaded, and what becomes of errors. The zero value works.
type Options struct {
	// Last is how many of the newest messages are loaded, up to 1000. Results of tools
	// whose calls are older are left out with them. 0: all messages.
	Last int

	// Strict returns errors of loading and appending to the caller. Without it they are
	// logged, and the query goes on: with no history, or with nothing stored.
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
