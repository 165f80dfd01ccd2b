// Package upkeep shares the upkeep of tenants among the servers of one database: who is due,
// under leases, so that two servers do not do the same work.
package upkeep

import (
	"context"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
)

// tenantPage is how many names one look at the tenants brings.
const tenantPage = 1000

// A Place is a tenant in a list: by name, or by the moment at which something is due.
type Place struct {
	Name string
	At   int64
}

// A Table is what the database says about tenants and leases.
type Table interface {
	// ListTenants returns up to limit tenants behind a place, in order of name; with until,
	// those that have something to do by then, in order of the moment first.
	ListTenants(ctx context.Context, after Place, until *int64, limit int) ([]Place, error)

	// Lease takes a tenant that has something to do by a moment, which may be the largest
	// number, and returns its change counter; -1: there is nothing to do, or somebody else
	// sees to it.
	Lease(ctx context.Context, t loci.Tenant, until int64) (seq int64, err error)

	// Renew keeps a lease.
	Renew(ctx context.Context, t loci.Tenant) error

	// Release gives a lease back and, if all was done, notes when there is something to do
	// again, unless the change counter is another one.
	Release(ctx context.Context, t loci.Tenant, seq int64, done bool) error
}

// An Upkeep is that of a store.
type Upkeep struct {
	Table     Table
	LeaseTime func() time.Duration // how long a tenant is left to a server that has gone

	swept atomic.Bool // every tenant was seen to since the store was opened
}

// Tenants yields every tenant.
func (u *Upkeep) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] { return u.each(ctx, nil) }

// Due yields tenants, each under a lease. The first time it leaves out nobody: what there is
// to do depends on settings that may be new, too. Then it goes by an index on when something
// is due, which all servers share. Whoever another server is seeing to is left out.
func (u *Upkeep) Due(ctx context.Context, now time.Time) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		list, until := u.each(ctx, nil), int64(math.MaxInt64)
		if u.swept.Load() {
			until = now.UnixMilli()
			list = u.each(ctx, &until)
		}
		for t, err := range list {
			if err != nil {
				yield(t, err)
				return
			}
			if !u.seeTo(ctx, t, until, yield) {
				return
			}
		}
		u.swept.Store(true)
	}
}

// each yields the tenants of a list, page by page.
func (u *Upkeep) each(ctx context.Context, until *int64) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		for after := (Place{At: math.MinInt64}); ; {
			found, err := u.Table.ListTenants(ctx, after, until, tenantPage)
			if err != nil {
				yield(loci.Tenant{}, err)
				return
			}
			for _, one := range found {
				t, err := loci.NewTenant(one.Name)
				if err != nil {
					continue // no name of ours, or what the program keeps for itself
				}
				if !yield(t, nil) {
					return
				}
			}
			if len(found) < tenantPage {
				return
			}
			after = found[len(found)-1]
		}
	}
}

// seeTo yields a tenant under a lease, if it has something to do by then and nobody else
// sees to it; more: the loop goes on.
func (u *Upkeep) seeTo(
	ctx context.Context, name loci.Tenant, until int64, yield func(loci.Tenant, error) bool,
) (more bool) {
	seq, err := u.Table.Lease(ctx, name, until)
	if err != nil {
		return yield(name, err)
	}
	if seq < 0 {
		return true
	}
	stop := u.renew(ctx, name)
	more = yield(name, nil)
	stop()
	// A loop that was left, or failed, has not done everything.
	if err := u.Table.Release(context.WithoutCancel(ctx), name, seq, more); err != nil && more {
		return yield(name, err)
	}
	return more
}

// renew keeps a lease until it is stopped. One that cannot be kept is lost: then another
// server may do the same upkeep, which does no harm.
func (u *Upkeep) renew(ctx context.Context, name loci.Tenant) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for patience.Sleep(ctx, u.LeaseTime()/3) == nil {
			_ = u.Table.Renew(ctx, name) // or it is lost, and the next try comes soon
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}
