package observe

import (
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/trail"
)

// A Watch tells metrics and traces of what is done. Either may be nil. It is safe for
// concurrent use.
type Watch struct {
	Metrics *Metrics
	Traces  *Traces
}

// Watched returns a context in which w hears of every step; see package trail.
func (w *Watch) Watched(ctx context.Context) context.Context { return trail.Watched(ctx, w) }

// Request hears that a request comes. It returns the context in which it is answered, and
// what is to hear that it has ended.
func (w *Watch) Request(ctx context.Context, h http.Header) (of context.Context, ended func(Request)) {
	ctx, span := w.Traces.request(w.Watched(ctx), h)
	return ctx, func(r Request) { endRequest(span, &r) }
}

// Begin implements [trail.Watcher].
func (w *Watch) Begin(ctx context.Context, s trail.Step) (of context.Context, ended func(trail.End)) {
	begun := time.Now()
	of, span := w.Traces.step(ctx, s)
	return of, func(e trail.End) {
		if w.Metrics != nil {
			w.Metrics.step(s, e, time.Since(begun))
		}
		endStep(span, s, e)
	}
}
