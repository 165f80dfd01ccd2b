package form

import (
	"context"

	"github.com/loci-memory/loci"
)

// Kept is what a check found of what a tenant's store keeps beside the records and could make again.
type Kept struct {
	Wrong     int  // counts that differ from the records
	Uncounted bool // nothing is known of them: nothing differs, and they are counted
	Misplaced int  // places of events in their blocks that differ from the events

	Held   *loci.Holding // what is kept as what the tenant holds; nil: nothing is
	Really loci.Holding  // what it holds
}

// A Mender makes again what is kept of a tenant.
type Mender interface {
	Recount(context.Context, loci.Tenant) error
	Redescribe(context.Context, loci.Tenant) error
	Remeasure(context.Context, loci.Tenant) error
}

// Mend says what is wrong and has it made again.
func (k *Kept) Mend(ctx context.Context, t loci.Tenant, again Mender) (faults []string, err error) {
	if k.Wrong > 0 {
		faults = append(faults, TallyFault(k.Wrong))
	}
	if k.Misplaced > 0 {
		faults = append(faults, SpanFault(int64(k.Misplaced)))
		err = again.Redescribe(ctx, t)
	}
	if err == nil && (k.Wrong > 0 || k.Uncounted) {
		err = again.Recount(ctx, t)
	}
	if err == nil && k.Held != nil && *k.Held != k.Really {
		faults = append(faults, HoldingFault(*k.Held, k.Really))
		err = again.Remeasure(ctx, t)
	}
	return faults, err
}
