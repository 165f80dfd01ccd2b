package postgres

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// maxFindings bounds what Check reports of one kind.
const maxFindings = 20

// checks are sentences about what should not be, each a query about the tenant $1.
var checks = []string{
	`SELECT convert_to('there are records and no audit event', 'UTF8') FROM loci.tenant t WHERE t.tenant = $1 AND t.events = 0
		AND (SELECT count(*) FROM (SELECT 1 FROM loci.record WHERE tenant = $1 ORDER BY id LIMIT 1) r) > 0`,
	`SELECT convert_to('event ' || e.seq || ' is newer than the last event', 'UTF8') FROM loci.event e
		WHERE e.tenant = $1 AND e.seq > (SELECT events FROM loci.tenant WHERE tenant = $1) LIMIT 20`,
	`SELECT convert_to('a change is newer than the change counter', 'UTF8') FROM loci.change c
		WHERE c.tenant = $1 AND c.seq > (SELECT seq FROM loci.tenant WHERE tenant = $1) LIMIT 20`,
	`SELECT convert_to('record ' || encode(r.id, 'hex') || ' is in no namespace', 'UTF8') FROM loci.record r
		WHERE r.tenant = $1 AND NOT EXISTS (SELECT 1 FROM loci.namespace s WHERE s.tenant = $1 AND s.n = r.namespace AND s.key_head IS NOT NULL) LIMIT 20`,
	`SELECT convert_to('event ' || e.seq || ' is in no namespace', 'UTF8') FROM loci.event e
		WHERE e.tenant = $1 AND NOT EXISTS (SELECT 1 FROM loci.namespace s WHERE s.tenant = $1 AND s.n = e.namespace) LIMIT 20`,
	`SELECT convert_to('there are vectors of a record that is gone: ' || encode(v.record, 'hex'), 'UTF8') FROM loci.vector v
		WHERE v.tenant = $1 AND NOT EXISTS (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.id = v.record) LIMIT 20`,
	`SELECT convert_to('there are revisions of a record that is gone: ' || encode(v.record, 'hex'), 'UTF8') FROM loci.revision v
		WHERE v.tenant = $1 AND NOT EXISTS (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.id = v.record) LIMIT 20`,
	`SELECT convert_to('a link has an end that is gone', 'UTF8') FROM loci.link l WHERE l.tenant = $1 AND
		(NOT EXISTS (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.id = l.from_id)
		OR NOT EXISTS (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.id = l.to_id)) LIMIT 20`,
	`SELECT convert_to('vectors of record ' || encode(r.id, 'hex') || ' have the wrong size', 'UTF8') FROM loci.vector v
		JOIN loci.record r ON r.tenant = $1 AND r.id = v.record JOIN loci.space p ON p.tenant = $1 AND p.n = v.space
		WHERE v.tenant = $1 AND octet_length(v.data) <> r.passage_count * (p.dims + 4) LIMIT 20`,
	`SELECT convert_to('the active space is unknown', 'UTF8') FROM loci.tenant t WHERE t.tenant = $1 AND t.active <> 0
		AND NOT EXISTS (SELECT 1 FROM loci.space p WHERE p.tenant = $1 AND p.n = t.active) LIMIT 20`,
}

// Check implements [loci.Store]: what only we know about the rows. Whether the database's
// files are sound is for pg_amcheck.
func (s *Store) Check(ctx context.Context, t loci.Tenant) (findings []string, err error) {
	var kept form.Kept
	err = s.read(ctx, t, "check", func(r *reading) error {
		findings, kept = nil, form.Kept{}
		held := &loci.Holding{}
		stmts := []stmt{r.t.selectHolding(&held)}
		for _, query := range checks {
			stmts = append(stmts, stmt{sql: query, once: true, args: []any{r.t.key}, row: func(row row) error {
				findings = append(findings, row.string(0))
				return nil
			}})
		}
		if err := r.query(stmts...); err != nil || !r.state.There {
			return err
		}
		kept.Held, kept.Really = r.state.Held(r.state.Seq), *held
		if kept.Wrong, kept.Uncounted, err = r.checkTally(); err != nil {
			return err
		}
		if kept.Misplaced, err = r.checkSpans(); err != nil {
			return err
		}
		all := loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}
		return r.records(recordColumns, &all, nil, loci.NewestFirst, maxInt, maxInt, func(record *loci.Record) bool {
			findings = append(findings, form.Faults(record)...)
			return len(findings) < maxFindings
		})
	})
	if err != nil {
		return findings, err
	}
	faults, err := kept.Mend(ctx, t, mender{s})
	return append(findings, faults...), err
}

// mender makes again what is kept beside the records of a tenant ([form.Mender]).
type mender struct{ *Store }

// do writes to a tenant under its lock, for as long as that takes.
func (s mender) do(ctx context.Context, name loci.Tenant, op string, decide func(*tx) error) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return translate(op, s.write(ctx, g, &job{Decide: decide, Time: eraseTime}))
}

// Recount counts all that a tenant has, and keeps that.
func (s mender) Recount(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "count", (*tx).countAgain)
}

// Redescribe makes again what is kept of the blocks of a tenant's events.
func (s mender) Redescribe(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "describe events", (*tx).describeAgain)
}

// Remeasure keeps what the tenant really holds.
func (s mender) Remeasure(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "measure", func(x *tx) error { return x.now(x.t.selectHolding(&x.Used)) })
}

const maxInt = 1<<31 - 1

// Remains says how many rows that were erased or replaced PostgreSQL still has in its files,
// in a sentence; "" for none that it knows of.
func (s *Store) Remains(ctx context.Context) (found string, err error) {
	err = s.again(ctx, func() error {
		c, err := s.connect(ctx, nil)
		if err != nil {
			return err
		}
		defer c.release()
		var dead int64
		if err := c.run(ctx, stmt{sql: countDead, row: func(r row) error {
			dead = r.int(0)
			return nil
		}}); err != nil || dead == 0 {
			return err
		}
		found = fmt.Sprintf(
			"about %d rows that were erased or replaced are still in the files of the database: VACUUM frees their room for others, "+
				"and only then are they written over; the log, copies and backups keep them longer",
			dead,
		)
		return nil
	})
	return found, translate("look for what is left of erased rows", err)
}

const countDead = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_all_tables WHERE schemaname = 'loci'"
