package batch

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
)

// A Recount has the counts of a tenant counted again that servers of another version write to. The zero value is
// ready.
type Recount struct{ last atomic.Int64 }

// recountEvery is how often that is.
const recountEvery = time.Minute

// A Crew does something beside whoever asks for it, and no longer than the store is open.
type Crew interface {
	Beside(func(context.Context)) bool
	Context() context.Context
}

// Later has a crew count a tenant again, in no more than a time, unless that was done a moment ago.
func (r *Recount) Later(
	crew Crew, log *slog.Logger, t loci.Tenant, most time.Duration, count func(context.Context, loci.Tenant) error,
) {
	now := time.Now().UnixNano()
	last := r.last.Load()
	if last != 0 && now-last < int64(recountEvery) || !r.last.CompareAndSwap(last, now) {
		return
	}
	crew.Beside(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		if err := count(ctx, t); err != nil && crew.Context().Err() == nil {
			log.Warn("the counts of a tenant are not kept yet: statistics count its records one by one", "error", err)
		}
	})
}
