package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/upkeep"
)

// everyone stands for all tenants, where the names of those that there are may be read.
var everyone = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

// The statements that are about all tenants.
const (
	listTenants = "SELECT name, 0::bigint FROM loci.tenant WHERE name > $1 ORDER BY name LIMIT $2"

	// listDue goes by the moment first: who has waited longest is seen to first.
	listDue = `SELECT name, due_at FROM loci.tenant WHERE (due_at, name) > ($1, $2) AND due_at <= $3 AND name IS NOT NULL
		ORDER BY due_at, name LIMIT $4`
)

// Tenants implements [loci.Store].
func (s *Store) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] {
	return s.upkeep.Tenants(ctx)
}

// Due implements [loci.Store].
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[loci.Tenant, error] {
	return s.shelf.Due(ctx, s.upkeep.Due(ctx, now))
}

// upkeepTable is what the database says about tenants and leases.
type upkeepTable struct{ *Store }

// ListTenants implements [upkeep.Table].
func (s upkeepTable) ListTenants(
	ctx context.Context, after upkeep.Place, until *int64, limit int,
) (found []upkeep.Place, err error) {
	query := stmt{sql: listTenants, args: []any{after.Name, limit}}
	if until != nil {
		query = stmt{sql: listDue, args: []any{after.At, after.Name, *until, limit}}
	}
	query.row = func(r row) error {
		found = append(found, upkeep.Place{Name: r.string(0), At: r.int(1)})
		return nil
	}
	err = s.maintain(ctx, func(c *conn) error {
		found = nil
		return c.run(ctx, readOnly, behindWall(everyone), query, commit)
	})
	return found, translate("list tenants", err)
}

// maintain runs what is about no tenant in particular, again if it has to.
func (s *Store) maintain(ctx context.Context, do func(*conn) error) error {
	g, err := s.lobby.EnterAlone(ctx)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return s.again(ctx, func() error {
		c, err := s.connect(ctx, nil)
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

	// databaseTime is the clock of leases, in milliseconds: servers do not agree on theirs. It is
	// that of the transaction's beginning, which is less than the time; tables that are distributed
	// are not changed by what is another value each time it is asked.
	databaseTime = "(extract(epoch FROM now()) * 1000)::bigint"

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

// Lease implements [upkeep.Table].
func (s upkeepTable) Lease(ctx context.Context, name loci.Tenant, until int64) (seq int64, err error) {
	key := batch.KeyOf(name)
	err = s.maintain(ctx, func(c *conn) error {
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
	return seq, translate("take a tenant for upkeep", err)
}

// Renew implements [upkeep.Table].
func (s upkeepTable) Renew(ctx context.Context, name loci.Tenant) error {
	return s.maintain(ctx, func(c *conn) error {
		keep := stmt{sql: renewLease, args: []any{system, batch.KeyOf(name), s.owner, leaseTime.Milliseconds()}}
		return c.run(ctx, readWrite, behindWall(system), keep, commit)
	})
}

// Release implements [upkeep.Table].
func (s upkeepTable) Release(ctx context.Context, name loci.Tenant, seq int64, done bool) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	key := batch.KeyOf(name)
	return translate("note that upkeep is done", s.maintain(ctx, func(c *conn) error {
		var stmts []stmt
		if done {
			note := stmt{sql: noteDone, args: []any{key, seq}}
			stmts = []stmt{readWrite, behindWall(key), timeouts(writeTime), note, commit}
		}
		return c.run(ctx, append(stmts,
			readWrite, behindWall(system), stmt{sql: endLease, args: []any{system, key, s.owner}}, commit)...)
	}))
}
