package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// space returns the number of a vector space, giving it one at first sight.
func (t *tx) space(s loci.Space) (number int64, err error) {
	if number, ok := t.spaces[s]; ok {
		return number, nil
	}
	err = t.row("SELECT n FROM space WHERE model = ? AND dims = ?", []any{s.Model, s.Dims}, &number)
	if errors.Is(err, sql.ErrNoRows) {
		err = t.row("INSERT INTO space (model, dims) VALUES (?, ?) RETURNING n", []any{s.Model, s.Dims}, &number)
	}
	if err == nil {
		t.spaces[s] = number
	}
	return number, err
}

const (
	vectorColumns = 3
	insertVector  = "INSERT INTO vector (record, space, data) VALUES (?, ?, ?) ON CONFLICT (record, space) DO UPDATE SET data = excluded.data"
)

// countedVectors are of new records, which have none.
var countedVectors = insertOf{head: "INSERT OR FAIL INTO vector (record, space, data) VALUES ", row: "(?, ?, ?)", tail: countedHere}

// putVectors stores vectors of a record; the first of all choose the active space.
func (t *tx) putVectors(n int64, v *loci.Vectors) (space int64, data []byte, err error) {
	if space, err = t.space(v.Space); err != nil {
		return 0, nil, err
	}
	for _, row := range v.Rows {
		data = append(data, vector.Quantize(row)...)
	}
	if t.counted != nil {
		t.counted.blobs = append(t.counted.blobs, n, space, data)
	} else {
		err = t.exec(insertVector, n, space, data)
	}
	if err != nil || t.active != 0 {
		return space, data, err
	}
	return space, data, t.setActive(space)
}

func (t *tx) setActive(space int64) error {
	t.active = space
	return t.exec("UPDATE meta SET value = ? WHERE key = 'active_space'", space)
}

// activeSpace returns the active space as this transaction sees it.
func (t *tx) activeSpace() (s loci.Space, err error) {
	if t.active == 0 {
		return s, nil
	}
	for known, number := range t.spaces { // few
		if number == t.active {
			return known, nil
		}
	}
	if err = t.row("SELECT model, dims FROM space WHERE n = ?", []any{t.active}, &s.Model, &s.Dims); err == nil {
		t.spaces[s] = t.active
	}
	return s, err
}

// checkActive refuses a change whose vectors were made for another active space.
func (t *tx) checkActive(c *loci.Change) error {
	if c.Active == nil {
		return nil
	}
	active, err := t.activeSpace()
	if err != nil {
		return err
	}
	if !c.FitsSpace(active) {
		return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, *c.Active)
	}
	return nil
}

// PutVectors implements [loci.VectorStore].
func (s *Store) PutVectors(ctx context.Context, t loci.Tenant, vectors []loci.RecordVectors) error {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	for i := range vectors {
		if err := vectors[i].Vectors.Validate(); err != nil {
			return err
		}
	}
	return f.translate("put vectors", f.write(ctx, func(tx *tx) error {
		for i := range vectors {
			v := &vectors[i]
			seq, err := tx.nextSeq()
			if err != nil {
				return err
			}
			var n int64
			err = tx.row("UPDATE record SET seq = ? WHERE id = ? AND version = ? AND passage_count = ? RETURNING n",
				[]any{seq, v.ID[:], v.Version, len(v.Vectors.Rows)}, &n)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			if _, _, err := tx.putVectors(n, &v.Vectors); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Unembedded implements [loci.VectorStore].
func (s *Store) Unembedded(
	ctx context.Context, t loci.Tenant, space loci.Space, after loci.ID, limit int,
) (out []loci.Record, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	if limit < 1 {
		return nil, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	if after.IsZero() {
		if lacking, err := f.lacksVectors(ctx, space); err != nil || !lacking {
			return nil, f.translate("count records without vectors", err)
		}
	}
	query := "SELECT " + recordColumns + ` FROM record r JOIN namespace s ON s.n = r.namespace
		WHERE r.id > ? AND r.live AND r.passage_count > 0 AND NOT EXISTS
		(SELECT 1 FROM vector v JOIN space p ON p.n = v.space WHERE v.record = r.n AND p.model = ? AND p.dims = ?) ORDER BY r.id LIMIT +?`
	scan := newRecordScan()
	err = f.readRows(ctx, query, []any{after[:], space.Model, space.Dims, limit}, func(rows *sql.Rows) (bool, error) {
		r, err := scan.record(rows)
		out = append(out, r)
		return true, err
	})
	return out, f.translate("list records without vectors", err)
}

// lacksVectors reports whether any record has none in a space, by the kept counts: upkeep
// asks after each start, and to look at each record takes seconds where there are a million.
func (f *file) lacksVectors(ctx context.Context, space loci.Space) (bool, error) {
	query, args := keptCount(&loci.Filter{Within: []loci.Namespace{{}}, Space: space})
	var lacking int64
	err := f.readRows(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var n loci.Counts
		err := rows.Scan(&n.Records, &n.Live, &n.Passages, &n.Bytes, &n.Unembedded)
		lacking += n.Unembedded
		return true, err
	})
	return lacking != 0, err
}

// countedSpaces is the query for the records that have vectors, by space: from the kept
// counts, and one by one of those that are no longer live.
const countedSpaces = `SELECT p.model, p.dims, sum(u.records) FROM (
	SELECT space, embedded AS records FROM tally_vector
	UNION ALL SELECT v.space, 1 FROM (SELECT DISTINCT namespace, kind FROM tally WHERE NOT live) t
		CROSS JOIN record r INDEXED BY record_list ON r.namespace = t.namespace AND r.kind = t.kind AND r.live = 0
		CROSS JOIN vector v ON v.record = r.n
	) u JOIN space p ON p.n = u.space GROUP BY p.n HAVING sum(u.records) > 0`

// Spaces implements [loci.VectorStore].
func (s *Store) Spaces(ctx context.Context, t loci.Tenant) (map[loci.Space]int64, error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	spaces := map[loci.Space]int64{}
	err = f.readRows(ctx, countedSpaces, nil, func(rows *sql.Rows) (bool, error) {
		var space loci.Space
		var n int64
		err := rows.Scan(&space.Model, &space.Dims, &n)
		spaces[space] = n
		return true, err
	})
	return spaces, f.translate("list spaces", err)
}

// ActiveSpace implements [loci.VectorStore].
func (s *Store) ActiveSpace(ctx context.Context, t loci.Tenant) (space loci.Space, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return space, err
	}
	defer s.release(f)
	space, err = f.activeSpace(ctx)
	return space, f.translate("read the active space", err)
}

// An activeIn is the active space of a file in one of its states.
type activeIn struct {
	state rowcache.State
	space loci.Space
}

// activeSpace is read where the file is not as it was when it was read last: each search asks for it.
func (f *file) activeSpace(ctx context.Context) (space loci.Space, err error) {
	now, known := f.rows.Look()
	if last := f.active.Load(); known && last != nil && last.state == now {
		return last.space, nil
	}
	err = f.readRow(ctx, selectActive, nil, &space.Model, &space.Dims)
	if errors.Is(err, sql.ErrNoRows) {
		space, err = loci.Space{}, nil
	}
	if then, still := f.rows.Look(); err == nil && known && still && then == now {
		f.active.Store(&activeIn{now, space})
	}
	return space, err
}

// committedIn notes what the writer knows of the state that its commit has left the file in, so that nobody reads it.
func (t *tx) committedIn(now rowcache.State) {
	if t.seq != 0 {
		t.f.last.Store(&changedAt{now, t.seq})
	}
	for space, number := range t.spaces {
		if number == t.active {
			t.f.active.Store(&activeIn{now, space})
		}
	}
}

const selectActive = "SELECT p.model, p.dims FROM meta m JOIN space p ON p.n = m.value WHERE m.key = 'active_space'"

// activeSpace takes the row of selectActive; the zero space if there is none.
func activeSpace(row *sql.Row) (space loci.Space, err error) {
	if err = row.Scan(&space.Model, &space.Dims); errors.Is(err, sql.ErrNoRows) {
		return loci.Space{}, nil
	}
	return space, err
}

// SwitchSpace implements [loci.VectorStore].
func (s *Store) SwitchSpace(ctx context.Context, t loci.Tenant, from, to loci.Space, lacking int64) error {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	if err := to.Validate(); err != nil {
		return err
	}
	return f.translate("switch space", f.write(ctx, func(tx *tx) error {
		active, err := tx.activeSpace()
		if err != nil {
			return err
		}
		if active != from {
			return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, from)
		}
		number, err := tx.space(to)
		if err != nil {
			return err
		}
		var n int64
		if err := tx.row(`SELECT count(*) FROM record r WHERE r.live AND r.passage_count > 0
			AND NOT EXISTS (SELECT 1 FROM vector v WHERE v.record = r.n AND v.space = ?)`, []any{number}, &n); err != nil {
			return err
		}
		if n > lacking {
			return loci.Errorf(loci.Conflict, "%d memories have no vectors in %s", n, to)
		}
		return tx.setActive(number)
	}))
}

// DropVectors implements [loci.VectorStore].
func (s *Store) DropVectors(ctx context.Context, t loci.Tenant, space loci.Space, limit int) (int, error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return 0, err
	}
	defer s.release(f)
	if limit < 1 {
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	var dropped int64
	err = f.erase(ctx, func(tx *tx) error {
		var number int64
		err := tx.row("SELECT n FROM space WHERE model = ? AND dims = ?", []any{space.Model, space.Dims}, &number)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if number == tx.active {
			return loci.Errorf(loci.Conflict, "%s is the active space", space)
		}
		dropped, err = tx.execCount("DELETE FROM vector WHERE rowid IN (SELECT rowid FROM vector WHERE space = ? LIMIT +?)", number, limit)
		if err != nil || dropped == 0 {
			return err
		}
		// The records stay as they are: no index of another space need look at them.
		seq, err := tx.nextSeq()
		if err != nil {
			return err
		}
		return tx.exec("UPDATE space SET dropped = ? WHERE n = ?", seq, number)
	})
	return int(dropped), f.translate("drop vectors", err)
}
