package postgres

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/meter"
)

// Match implements [loci.RecordLister].
func (s *Store) Match(
	ctx context.Context, name loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) (hits []loci.Hit, err error) {
	q := s.searchFor(ctx, name, p, filter, limit)
	hits, err = follow.Find(ctx, &s.lobby, searchOf, q, func(t *tenant, meanwhile func()) (batch.State, error) {
		return s.look(ctx, t, meanwhile)
	})
	return hits, translate("search", err)
}

// searchFor is what a search asks of the index of its tenant.
func (s *Store) searchFor(
	ctx context.Context, name loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) *follow.Search {
	filter.NotLive = false
	load := func(ids []loci.ID) ([]loci.Record, error) { return s.recordsOf(ctx, name, ids) }
	q := &follow.Search{
		Probe: p, Filter: filter, Limit: limit, Load: load, Meter: &s.meter, Tenant: name, Shelf: s.shelf,
	}
	q.Crew, q.Budget = s.crew, s.opts.IndexMemory
	q.Read = func(ctx context.Context, do func(follow.Source) error) error {
		return s.read(ctx, name, "search", func(r *reading) error { return do(source{r}) })
	}
	q.Trim, q.Stale, q.Clock = s.trim, s.opts.MaxStaleness, s.opts.clock
	return q
}

// look is a [follow.Look] at the row of a tenant, in one round trip.
func (s *Store) look(ctx context.Context, t *tenant, meanwhile func()) (st batch.State, err error) {
	err = s.again(ctx, func() error {
		return s.readOnce(ctx, t, func(r *reading) error {
			if meanwhile != nil && r.c.node.keeps() {
				defer r.c.node.kept.Add(-1)
				r.c.meanwhile = meanwhile
			}
			err := r.last()
			st = r.state
			return err
		})
	})
	return st, err
}

func searchOf(t *tenant) *follow.Index { return &t.search }

// takeMuch takes in what this process has committed, beside the calls that follow.
func (s *Store) takeMuch(t *tenant) {
	t.search.TakeMuch(s.readerOf(t.name))
}

// readerOf is how to read a tenant for its index, though nobody searches.
func (s *Store) readerOf(t loci.Tenant) *follow.Search {
	return s.searchFor(context.Background(), t, loci.Probe{}, loci.Filter{}, 1)
}

// KeepIndex keeps the search index of what this process has written of a tenant, as far as it is large, and returns
// when that is done, or left to a search.
func (s *Store) KeepIndex(ctx context.Context, t loci.Tenant) error {
	g, err := s.lobby.Enter(ctx, t)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return g.Of.search.KeepNow(ctx, func() *follow.Search { return s.readerOf(t) })
}

// recordsOf reads records in full, for filters on what the index does not hold.
func (s *Store) recordsOf(ctx context.Context, t loci.Tenant, ids []loci.ID) (records []loci.Record, err error) {
	all := loci.Filter{Within: []loci.Namespace{{}}, IDs: ids}
	err = s.read(ctx, t, "search", func(r *reading) error {
		records = nil
		return r.each(&all, func(record *loci.Record) { records = append(records, *record) })
	})
	return records, err
}

// trim makes room while the process holds too much ([aside.Claims]). The tenant at hand keeps
// what its searches need. It returns how many bytes are held then.
func (s *Store) trim(at *follow.Index) int64 {
	return follow.Trim(at, s.opts.IndexMemory, &s.meter, func(do func(*follow.Index, time.Time)) {
		s.lobby.Each(func(t *tenant, used time.Time) { do(&t.search, used) })
	})
}

// Work says what the store has done by itself, and what its index takes.
func (s *Store) Work() meter.Work {
	w := s.meter.Work()
	s.lobby.Each(func(t *tenant, _ time.Time) { w.IndexBytes += t.search.Bytes() })
	w.IndexLimit = s.opts.IndexMemory
	return w
}

// source is what the index of a tenant follows.
type source struct{ *reading }

// State implements [follow.Source].
func (r source) State() (*batch.State, error) { return &r.state, r.query() }

// Space implements [follow.Source].
func (r source) Space(space loci.Space) (number, dropped int64, err error) {
	err = r.query(stmt{sql: selectSpace, args: []any{r.t.key, space.Model, space.Dims}, row: func(row row) error {
		number, dropped = row.int(0), row.int(1)
		return nil
	}})
	return number, dropped, err
}

const selectSpace = "SELECT n, dropped FROM loci.space WHERE tenant = $1 AND model = $2 AND dims = $3"

// Spaces implements [follow.Source].
func (r source) Spaces() (map[int64]loci.Space, error) {
	spaces, read := listSpaces(r.t)
	return spaces, r.query(read)
}

// Places implements [follow.Source].
func (r source) Places(since int64, below []string, take func(batch.Place)) error {
	found := func(row row) error {
		take(batch.Place{N: row.int(0), Key: row.string(1) + row.string(2), Kinds: batch.DecodeKinds(row[3])})
		return nil
	}
	var stmts []stmt
	if since >= 0 {
		stmts = append(stmts, stmt{sql: selectChangedNames, args: []any{r.t.key, since}, row: found})
	}
	for _, key := range below {
		c := about(r.t)
		c.add("tenant = $1 AND key_head IS NOT NULL")
		if key != "" {
			c.add(c.below(key))
		}
		stmts = append(
			stmts,
			stmt{
				sql:  "SELECT n, key_head, key_tail, kinds FROM loci.namespace WHERE " + c.String(),
				args: c.args,
				row:  found,
			},
		)
	}
	return r.query(stmts...)
}

const selectChangedNames = "SELECT n, key_head, key_tail, kinds FROM loci.namespace WHERE tenant = $1 AND changed > $2 AND key_head IS NOT NULL"

// CountShard implements [follow.Source].
func (r source) CountShard(namespace int64, kind loci.Kind, limit int) (records int64, err error) {
	err = r.query(stmt{
		sql:  countShard,
		args: []any{r.t.key, namespace, string(kind), limit},
		row:  func(row row) error { records = row.int(0); return nil },
	})
	return records, err
}

const (
	// searchable is what a record must be to be in the index; record_order holds those alone, a shard's
	// in the order of their ids.
	searchable = "r.live AND r.passage_count > 0"

	countShard = `SELECT count(*) FROM (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.namespace = $2 AND r.kind = $3
		AND ` + searchable + " LIMIT $4) l"
	selectChanges = "SELECT id, namespace, gone, kind FROM loci.change WHERE tenant = $1 AND seq > $2 ORDER BY seq, gone DESC"

	taken = "SELECT " + recordColumns + `, v.data FROM loci.record r
		LEFT JOIN loci.vector v ON v.tenant = $1 AND v.record = r.id AND v.space = $2 WHERE r.tenant = $1 AND ` + searchable
	takenByShard = taken + " AND r.namespace = $3 AND r.kind = $4"
	takenBehind  = takenByShard + " AND r.id > $6 ORDER BY r.id LIMIT $5"

	// takenByID is how searches take in what was written, often a few records at a time. It looks for each one and
	// its vectors as a [look] does: a plan for all arguments walked all vectors of the tenant for each record.
	takenByID = "SELECT " + recordColumns + `, v.data FROM unnest((SELECT $3::bytea[])) k (v)
		CROSS JOIN LATERAL (SELECT * FROM loci.record WHERE tenant = $1 AND id >= k.v ORDER BY id LIMIT 1) r
		` + besideVectors + " WHERE r.id = k.v AND " + searchable

	// takenByShards is takenByID for all that is in some shards of a kind.
	takenByShards = "SELECT " + recordColumns + `, v.data FROM unnest((SELECT $3::bigint[])) k (n)
		CROSS JOIN LATERAL (SELECT * FROM loci.record r WHERE r.tenant = $1 AND r.namespace = k.n AND r.kind = $4
			AND ` + searchable + " ORDER BY r.id) r " + besideVectors

	besideVectors = `LEFT JOIN LATERAL (SELECT record, space, data FROM loci.vector WHERE tenant = $1 AND (record, space) >= (r.id, $2)
		ORDER BY record, space LIMIT 1) v ON v.record = r.id AND v.space = $2`
)

// Changes implements [follow.Source].
func (r source) Changes(since int64, take func(loci.ID, int64, loci.Kind, bool)) error {
	return r.query(stmt{sql: selectChanges, args: []any{r.t.key, since}, row: func(row row) error {
		take(row.id(0), row.int(1), loci.Kind(row.string(3)), row.bool(2))
		return nil
	}})
}

// ByID implements [follow.Source].
func (r source) ByID(space int64, ids []loci.ID, take follow.Take) error {
	return r.take(take, takenByID, r.t.key, space, idList(ids))
}

// ByShard implements [follow.Source].
func (r source) ByShard(
	space, namespace int64, kind loci.Kind, after loci.ID, limit int, take follow.Take,
) error {
	return r.take(take, takenBehind, r.t.key, space, namespace, string(kind), limit, after)
}

func (r source) take(take follow.Take, query string, args ...any) error {
	return r.query(stmt{sql: query, args: args, row: func(row row) error {
		record, namespace, err := row.record()
		if err == nil {
			take(&record, namespace, row.bytes(columnsOfRecord))
		}
		return err
	}})
}
