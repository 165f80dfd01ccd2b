package postgres

import (
	"context"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
)

// everyone stands for all tenants, where the names of those that there are may be read.
var everyone = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

// tenantPage is how many names one look at the tenants brings.
const tenantPage = 1000

// The statements that are about all tenants.
const (
	listTenants = "SELECT name, 0::bigint FROM loci.tenant WHERE name > $1 ORDER BY name LIMIT $2"

	// listDue goes by the moment first: who has waited longest is seen to first.
	listDue = `SELECT name, due_at FROM loci.tenant WHERE (due_at, name) > ($1, $2) AND due_at <= $3 AND name IS NOT NULL
		ORDER BY due_at, name LIMIT $4`
)

// A dueTenant is one with something to do at a moment.
type dueTenant struct {
	name string
	at   int64
}

// Tenants implements [loci.Store].
func (s *Store) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] {
	return s.each(ctx, func(after dueTenant) stmt {
		return stmt{sql: listTenants, args: []any{after.name, tenantPage}}
	})
}

// Due implements [loci.Store]. The first time it leaves out nobody: what there is to do
// depends on settings that may be new, too. Then it goes by an index on when something is
// due, which all servers share. Whoever another server is seeing to is left out.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		list, until := s.Tenants(ctx), int64(math.MaxInt64)
		if s.swept.Load() {
			until = now.UnixMilli()
			list = s.each(ctx, func(after dueTenant) stmt {
				return stmt{sql: listDue, args: []any{after.at, after.name, until, tenantPage}}
			})
		}
		for t, err := range list {
			if err != nil {
				yield(t, err)
				return
			}
			if !s.seeTo(ctx, t, until, yield) {
				return
			}
		}
		s.swept.Store(true)
	}
}

// each yields the tenants that a query lists, page by page.
func (s *Store) each(ctx context.Context, query func(after dueTenant) stmt) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		for after := (dueTenant{at: math.MinInt64}); ; {
			found, err := s.someTenants(ctx, query(after))
			if err != nil {
				yield(loci.Tenant{}, err)
				return
			}
			for _, one := range found {
				t, err := loci.NewTenant(one.name)
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

// someTenants runs a query about all tenants.
func (s *Store) someTenants(ctx context.Context, query stmt) (found []dueTenant, err error) {
	query.row = func(r row) error {
		found = append(found, dueTenant{r.string(0), r.int(1)})
		return nil
	}
	err = s.upkeep(ctx, func(c *conn) error {
		found = nil
		return c.run(ctx, readOnly, behindWall(everyone), query, commit)
	})
	return found, translate("list tenants", err)
}

// upkeep runs what is about no tenant in particular, again if it has to.
func (s *Store) upkeep(ctx context.Context, do func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return loci.AsError(err)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed()
	}
	s.calls++
	s.mu.Unlock()
	defer s.leave(&tenant{})
	return s.again(ctx, func() error {
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		defer c.release()
		return do(c)
	})
}

// leaseTime is how long a tenant is left to a server that has gone.
var leaseTime = time.Minute

const (
	insertLease = "INSERT INTO loci.lease (tenant, about, owner, until) VALUES ($1, $2, $3, 0) ON CONFLICT (tenant, about) DO NOTHING"

	// databaseTime is the clock of leases, in milliseconds: servers do not agree on theirs.
	databaseTime = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

	takeLease = "UPDATE loci.lease SET owner = $3, until = " + databaseTime + ` + $4 WHERE tenant = $1 AND about =
		(SELECT about FROM loci.lease WHERE tenant = $1 AND about = $2 AND (owner = $3 OR until <= ` + databaseTime + ") FOR UPDATE SKIP LOCKED)"
	renewLease = "UPDATE loci.lease SET until = " + databaseTime + " + $4 WHERE tenant = $1 AND about = $2 AND owner = $3"
	endLease   = "DELETE FROM loci.lease WHERE tenant = $1 AND about = $2 AND owner = $3"

	selectDue = "SELECT seq FROM loci.tenant WHERE tenant = $1 AND name IS NOT NULL AND (due_at <= $2 OR $2 = 9223372036854775807)"

	// noteDone says when a tenant has something to do again, unless it was written to.
	noteDone = `UPDATE loci.tenant SET due_at = (SELECT min(at) FROM
		(SELECT min(expires_at) AS at FROM loci.record WHERE tenant = $1 AND expires_at IS NOT NULL
		UNION ALL SELECT min(due_at) FROM loci.record WHERE tenant = $1 AND due_at IS NOT NULL) l)
		WHERE tenant = $1 AND seq = $2 AND name IS NOT NULL`
)

// seeTo yields a tenant under a lease, if it has something to do by then and nobody else
// sees to it; more: the loop goes on.
func (s *Store) seeTo(
	ctx context.Context, name loci.Tenant, until int64, yield func(loci.Tenant, error) bool,
) (more bool) {
	seq, err := s.lease(ctx, name, until)
	if err != nil {
		return yield(name, translate("take a tenant for upkeep", err))
	}
	if seq < 0 {
		return true
	}
	stop := s.renew(ctx, name)
	more = yield(name, nil)
	stop()
	// A loop that was left, or failed, has not done everything.
	if err := s.release(ctx, name, seq, more); err != nil && more {
		return yield(name, translate("note that upkeep is done", err))
	}
	return more
}

// lease takes a tenant, and returns its change counter; -1: there is nothing to do.
func (s *Store) lease(ctx context.Context, name loci.Tenant, until int64) (seq int64, err error) {
	key := keyOf(name)
	err = s.upkeep(ctx, func(c *conn) error {
		seq = -1
		taken := false
		err := c.run(ctx,
			readWrite, behindWall(system),
			stmt{sql: insertLease, args: []any{system, key, s.owner}},
			stmt{
				sql: takeLease, args: []any{system, key, s.owner, leaseTime.Milliseconds()},
				done: func(n int64) { taken = n > 0 },
			},
			commit,
			readOnly, behindWall(key),
			stmt{sql: selectDue, args: []any{key, until}, row: func(r row) error {
				seq = r.int(0)
				return nil
			}},
			commit,
		)
		if err != nil || !taken {
			seq = -1
			return err
		}
		if seq < 0 {
			end := stmt{sql: endLease, args: []any{system, key, s.owner}}
			return c.run(ctx, readWrite, behindWall(system), end, commit)
		}
		return nil
	})
	return seq, err
}

// renew keeps a lease until it is stopped. One that cannot be kept is lost: then another
// server may do the same upkeep, which does no harm.
func (s *Store) renew(ctx context.Context, name loci.Tenant) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	key := keyOf(name)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for patience.Sleep(ctx, leaseTime/3) == nil {
			_ = s.upkeep(ctx, func(c *conn) error { // or it is lost, and the next try comes soon
				keep := stmt{sql: renewLease, args: []any{system, key, s.owner, leaseTime.Milliseconds()}}
				return c.run(ctx, readWrite, behindWall(system), keep, commit)
			})
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// release gives a lease back and, if all was done, notes when there is something to do again.
func (s *Store) release(ctx context.Context, name loci.Tenant, seq int64, done bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	key := keyOf(name)
	return s.upkeep(ctx, func(c *conn) error {
		var stmts []stmt
		if done {
			note := stmt{sql: noteDone, args: []any{key, seq}}
			stmts = []stmt{readWrite, behindWall(key), timeouts(writeTime), note, commit}
		}
		return c.run(ctx, append(stmts,
			readWrite, behindWall(system), stmt{sql: endLease, args: []any{system, key, s.owner}}, commit)...)
	})
}
