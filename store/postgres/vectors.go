package postgres

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// PutVectors implements [loci.VectorStore].
func (s *Store) PutVectors(ctx context.Context, name loci.Tenant, vectors []loci.RecordVectors) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	n, err := batch.NeedsOfVectors(vectors)
	if err != nil || len(vectors) == 0 {
		return err
	}
	return translate("put vectors", s.write(ctx, g, &job{Needs: n, Decide: func(x *tx) error {
		x.PutVectors(vectors)
		return nil
	}}))
}

// Unembedded implements [loci.VectorStore].
func (s *Store) Unembedded(
	ctx context.Context, t loci.Tenant, space loci.Space, after loci.ID, limit int,
) (out []loci.Record, err error) {
	if limit < 1 {
		return nil, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	if after.IsZero() {
		if lacking, err := s.lacksVectors(ctx, t, space); err != nil || !lacking {
			return nil, err
		}
	}
	err = s.read(ctx, t, "list records without vectors", func(r *reading) error {
		var err error
		out, err = r.page(
			stmt{sql: selectUnembedded, args: []any{r.t.key, after, space.Model, space.Dims, limit}},
			true,
		)
		return err
	})
	return out, err
}

// lacksVectors reports whether any record has none in a space, by the kept counts: upkeep asks after each write, and
// would look at every record. Where they are not known, it may.
func (s *Store) lacksVectors(ctx context.Context, t loci.Tenant, space loci.Space) (lacking bool, err error) {
	err = s.read(ctx, t, "count records without vectors", func(r *reading) error {
		var n loci.Counts
		known, err := r.keptCount(&loci.Filter{Within: []loci.Namespace{{}}, Space: space}, &n)
		lacking = !known || n.Unembedded > 0
		return err
	})
	return lacking, err
}

const (
	selectUnembedded = "SELECT " + recordColumns + ` FROM loci.record r
		WHERE r.tenant = $1 AND r.id > $2 AND r.live AND r.passage_count > 0 AND NOT EXISTS
		(SELECT 1 FROM loci.vector v WHERE v.tenant = $1 AND v.record = r.id AND v.space =
		(SELECT n FROM loci.space WHERE tenant = $1 AND model = $3 AND dims = $4)) ORDER BY r.id LIMIT $5`
	countSpaces = `SELECT p.model, p.dims, count(*) FROM loci.vector v JOIN loci.space p ON p.tenant = $1 AND p.n = v.space
		WHERE v.tenant = $1 GROUP BY p.n, p.model, p.dims`
	countLacking = `SELECT count(*) FROM loci.record r WHERE r.tenant = $1 AND r.live AND r.passage_count > 0
		AND NOT EXISTS (SELECT 1 FROM loci.vector v WHERE v.tenant = $1 AND v.record = r.id AND v.space = $2)`
	dropSomeVectors = `WITH gone AS (DELETE FROM loci.vector WHERE tenant = $1 AND space = $2 AND record IN
		(SELECT record FROM loci.vector WHERE tenant = $1 AND space = $2 LIMIT $3) RETURNING record)
		SELECT g.record, r.namespace, r.kind, r.live AND r.passage_count > 0 FROM gone g LEFT JOIN loci.record r ON r.tenant = $1 AND r.id = g.record`
	noteDropped = "UPDATE loci.space SET dropped = $3 WHERE tenant = $1 AND n = $2"
)

// Spaces implements [loci.VectorStore].
func (s *Store) Spaces(ctx context.Context, t loci.Tenant) (spaces map[loci.Space]int64, err error) {
	err = s.read(ctx, t, "list spaces", func(r *reading) error {
		spaces = map[loci.Space]int64{}
		if done, err := r.keptSpaces(spaces); done || err != nil {
			return err
		}
		return r.last(stmt{sql: countSpaces, args: []any{r.t.key}, row: func(row row) error {
			spaces[loci.Space{Model: row.string(0), Dims: int(row.int(1))}] = row.int(2)
			return nil
		}})
	})
	return spaces, err
}

// ActiveSpace implements [loci.VectorStore].
func (s *Store) ActiveSpace(ctx context.Context, t loci.Tenant) (space loci.Space, err error) {
	err = s.read(ctx, t, "read the active space", func(r *reading) error {
		spaces, read := listSpaces(r.t)
		err := r.last(read)
		space = spaces[r.state.Active]
		return err
	})
	return space, err
}

// listSpaces fills a map when its statement is run.
func listSpaces(t *tenant) (map[int64]loci.Space, stmt) {
	spaces := map[int64]loci.Space{}
	return spaces, stmt{sql: selectSpaces, args: []any{t.key}, row: func(row row) error {
		spaces[row.int(0)] = loci.Space{Model: row.string(1), Dims: int(row.int(2))}
		return nil
	}}
}

// SwitchSpace implements [loci.VectorStore].
func (s *Store) SwitchSpace(ctx context.Context, name loci.Tenant, from, to loci.Space, lacking int64) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	if err := to.Validate(); err != nil {
		return err
	}
	j := &job{Needs: batch.Needs{Spaces: true}, Decide: func(x *tx) error {
		if active := x.Active(); active != from {
			return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, from)
		}
		var n int64
		count := stmt{sql: countLacking, args: []any{x.t.key, x.Spaces[to]}, row: func(r row) error {
			n = r.int(0)
			return nil
		}}
		if err := x.now(count); err != nil {
			return err
		}
		if n > lacking {
			return loci.Errorf(loci.Conflict, "%d memories have no vectors in %s", n, to)
		}
		x.State.Active = x.Number(to)
		return nil
	}}
	return translate("switch space", s.write(ctx, g, j))
}

// now writes what is pending and runs a statement that must see it.
func (x *tx) now(s stmt) error {
	x.Flush()
	written := x.written
	x.written = nil
	err := x.c.run(x.ctx, append(written, s)...)
	if err != nil {
		x.broken = err
	}
	return err
}

// DropVectors implements [loci.VectorStore].
func (s *Store) DropVectors(ctx context.Context, name loci.Tenant, space loci.Space, limit int) (int, error) {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return 0, err
	}
	defer s.lobby.Leave(g)
	if limit < 1 {
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	var dropped int64
	err = s.write(ctx, g, dropJob(space, limit, &dropped))
	return int(dropped), translate("drop vectors", err)
}

// dropJob removes vectors of a space, and says how many.
func dropJob(space loci.Space, limit int, dropped *int64) *job {
	return &job{Needs: batch.Needs{Spaces: true}, Decide: func(x *tx) error {
		*dropped = 0
		n, ok := x.Spaces[space]
		if !ok {
			return nil
		}
		if n == x.State.Active {
			return loci.Errorf(loci.Conflict, "%s is the active space", space)
		}
		gone := batch.Tallies{}
		drop := stmt{sql: dropSomeVectors, args: []any{x.t.key, n, limit}, row: func(r row) error {
			*dropped++
			if r.null(1) { // of a record that is gone
				return nil
			}
			of := batch.Amounts{Records: -1}
			if r.bool(3) {
				of.Searched = -1
			}
			gone.Add(batch.TallyKey{Namespace: r.int(1), Kind: loci.Kind(r.string(2)), Space: n}, of)
			x.Unvectored(r.id(0), n)
			return nil
		}}
		if err := x.now(drop); err != nil || *dropped == 0 {
			return err
		}
		x.Tally(gone)
		// The records stay as they are: no index of another space need look at them.
		x.written = append(x.written, stmt{sql: noteDropped, args: []any{x.t.key, n, x.State.Seq}})
		return nil
	}}
}

// EraseTenant implements [loci.Store]. Its row stays, without a name: what other servers
// remember of it goes by that.
func (s *Store) EraseTenant(ctx context.Context, name loci.Tenant) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	there := false
	if err := s.read(ctx, name, "erase tenant", func(r *reading) error {
		err := r.last()
		there = r.state.There
		return err
	}); err != nil || !there {
		return err
	}
	j := &job{Decide: func(x *tx) error {
		x.Flush()
		for _, table := range tenantTables {
			x.written = append(
				x.written,
				stmt{sql: "DELETE FROM loci." + table + " WHERE tenant = $1", args: []any{x.t.key}},
			)
		}
		x.Forget()
		return nil
	}, Time: eraseTime}
	defer s.shelf.Tidy(name) // copies of what was kept of its index
	return translate("erase tenant", s.write(ctx, g, j))
}

// tenantTables hold what belongs to a tenant, except its own row.
var tenantTables = []string{"vector", "revision", "record", "link", "event", "reply", "change", "namespace", "space", "image", "piece", "tally", "event_span"}
