package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
)

// imageTable is where the database keeps images of the search index. It takes no turn in the
// tenant's writes: the counter stays as it is, and the tenant's row is locked last, or for short.
type imageTable struct{ *Store }

const (
	selectImages     = "SELECT namespace, kind, mark, value FROM loci.image WHERE tenant = $1"
	selectSomeImages = selectImages + " AND namespace = ANY($2)"
	selectPieces     = "SELECT segment, data FROM loci.piece WHERE tenant = $1 AND segment = ANY($2) ORDER BY segment, n"
	selectErased     = "SELECT seq, id, namespace, kind FROM loci.change WHERE tenant = $1 AND seq > $2 AND gone"
	takenByRange     = takenByShard + " AND r.id >= $5 AND r.id <= $6"
	takenInRange     = taken + " AND r.kind = $3 AND r.id >= $4 AND r.id <= $5"

	countShards     = "SELECT namespace, kind, searched, bytes FROM loci.tally WHERE tenant = $1 AND live"
	countSomeShards = countShards + " AND namespace = ANY($2)"
	selectNamed     = "SELECT n, mark, key_head, key_tail, kinds FROM loci.namespace WHERE tenant = $1 AND n = ANY($2)"
	selectWithin    = `SELECT key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND mark >= $2 AND mark < $3 AND key_head IS NOT NULL
		ORDER BY mark LIMIT 1`

	insertPiece = `INSERT INTO loci.piece (tenant, segment, n, made_at, data) VALUES ($1, $2, $3, ` + databaseTime + `, $4)
		ON CONFLICT (tenant, segment, n) DO NOTHING`
	insertImage = `INSERT INTO loci.image (tenant, namespace, kind, mark, value) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (tenant, namespace, kind) DO NOTHING`
	updateImage = "UPDATE loci.image SET mark = $5, value = $6 WHERE tenant = $1 AND namespace = $2 AND kind = $3 AND mark = $4"
	deleteImage = "DELETE FROM loci.image WHERE tenant = $1 AND namespace = $2 AND kind = $3 AND mark = $4"

	// lockKeyed locks the tenant's row as long as the tenant is the one that it was.
	lockKeyed = "UPDATE loci.tenant SET seq = seq WHERE tenant = $1 AND name_key = $2"
	// lockBehind is lockKeyed if the database has not gone back behind a change counter.
	lockBehind = lockKeyed + " AND seq >= $3"

	lockRow = "UPDATE loci.tenant SET seq = seq WHERE tenant = $1"

	countPieces = "SELECT count(*) FROM loci.piece WHERE tenant = $1 AND segment = ANY($2) AND n = 0"

	// removePieces leaves the segments alone that an image names, whoever says that none does.
	removePieces = `DELETE FROM loci.piece WHERE tenant = $1 AND segment = $2 AND NOT EXISTS
		(SELECT 1 FROM loci.image i WHERE i.tenant = $1 AND position($2 IN i.value) > 0)`
	selectStrays = "SELECT segment, max(made_at) < " + databaseTime + ` - $3 FROM loci.piece WHERE tenant = $1
		AND segment <> ALL($2) GROUP BY segment`
)

// strayAge is how long nobody writes an image.
var strayAge = 10 * time.Minute

// Images implements [follow.ImageSource].
func (r source) Images(of []follow.Shard, take func(*follow.Image)) error {
	q := stmt{sql: selectImages, args: []any{r.t.key}}
	if of != nil {
		var numbers []int64
		for _, s := range of {
			numbers = append(numbers, s.Namespace)
		}
		q = stmt{sql: selectSomeImages, args: []any{r.t.key, numbers}}
	}
	q.row = func(row row) error {
		take(follow.ReadImage(follow.Shard{Namespace: row.int(0), Kind: loci.Kind(row.string(1))}, row[2], row[3]))
		return nil
	}
	return r.query(q)
}

// Pieces implements [follow.ImageSource].
func (r source) Pieces(names []string, take func(string, []byte)) error {
	return r.query(stmt{sql: selectPieces, args: []any{r.t.key, list(names)}, row: func(row row) error {
		take(row.string(0), row[1])
		return nil
	}})
}

// Erased implements [follow.ImageSource].
func (r source) Erased(since int64, take func(follow.Gone)) error {
	return r.query(stmt{sql: selectErased, args: []any{r.t.key, since}, row: func(row row) error {
		at := follow.Shard{Namespace: row.int(2), Kind: loci.Kind(row.string(3))}
		take(follow.Gone{Seq: row.int(0), ID: row.id(1), Shard: at})
		return nil
	}})
}

// ByRange implements [follow.ImageSource].
func (r source) ByRange(space, namespace int64, kind loci.Kind, low, high loci.ID, take follow.Take) error {
	if namespace == 0 {
		return r.take(take, takenInRange, r.t.key, space, string(kind), low, high)
	}
	return r.take(take, takenByRange, r.t.key, space, namespace, string(kind), low, high)
}

// ByShards implements [follow.ImageSource].
func (r source) ByShards(space int64, namespaces []int64, kind loci.Kind, take follow.Take) error {
	return r.take(take, takenByShards, r.t.key, space, namespaces, string(kind))
}

// Counts implements [follow.ImageSource].
func (r source) Counts(namespaces []int64, take func(int64, loci.Kind, int64, int64)) (known bool, err error) {
	q := stmt{sql: countShards, args: []any{r.t.key}}
	if namespaces != nil {
		q = stmt{sql: countSomeShards, args: []any{r.t.key, namespaces}}
	}
	q.row = func(row row) error {
		take(row.int(0), loci.Kind(row.string(1)), row.int(2), row.int(3))
		return nil
	}
	if err := r.query(q); err != nil {
		return false, err
	}
	came, known := r.state.Tallied(r.state.Seq)
	came.Shards(take)
	return known, nil
}

// Named implements [follow.ImageSource].
func (r source) Named(numbers []int64, take func(batch.Place)) error {
	q := stmt{sql: selectNamed, args: []any{r.t.key, append([]int64{}, numbers...)}}
	q.row = func(row row) error {
		place := batch.Place{N: row.int(0), Mark: loci.Mark(row.string(1)), Kinds: batch.DecodeKinds(row[4])}
		place.Named, place.Key = !row.null(2), row.string(2)+row.string(3)
		take(place)
		return nil
	}
	return r.query(q)
}

// Within implements [follow.ImageSource].
func (r source) Within(marks []string, take func(mark, key string)) error {
	var stmts []stmt
	for _, mark := range marks {
		if end := batch.After(mark); end != "" {
			q := stmt{sql: selectWithin, args: []any{r.t.key, []byte(mark), []byte(end)}}
			q.row = func(row row) error {
				take(mark, row.string(0)+row.string(1))
				return nil
			}
			stmts = append(stmts, q)
		}
	}
	return r.query(stmts...)
}

// Read implements [follow.Table].
func (s imageTable) Read(ctx context.Context, t loci.Tenant, do func(follow.ImageSource) error) error {
	return s.read(ctx, t, "look at the kept index", func(r *reading) error { return do(source{r}) })
}

// Put implements [follow.Table].
func (s imageTable) Put(
	ctx context.Context, t loci.Tenant, key loci.NameKey, name string, n int, pieces [][]byte,
) error {
	return s.change(ctx, "keep the index", t, func(x *changing) error {
		var stmts []stmt
		for i, piece := range pieces {
			stmts = append(stmts, stmt{sql: insertPiece, args: []any{x.key, name, n + i, piece}})
		}
		return x.one(append(stmts, x.lock(key))...)
	})
}

// Replace implements [follow.Table].
func (s imageTable) Replace(
	ctx context.Context, t loci.Tenant, key loci.NameKey, old, next *follow.Image,
) error {
	return s.change(ctx, "keep the index", t, func(x *changing) error {
		behind := int64(0)
		if next != nil {
			behind = next.Seq
		}
		lock := stmt{sql: lockBehind, args: []any{x.key, []byte(key), behind}}
		if err := x.one(lock); err != nil {
			return err
		}
		var value []byte
		if next != nil {
			var err error
			if value, err = next.Value(); err != nil {
				return err
			}
			names, found := next.Names(), int64(0)
			count := stmt{sql: countPieces, args: []any{x.key, list(names)}, row: func(r row) error {
				found = r.int(0)
				return nil
			}}
			if err := x.c.run(x.ctx, count); err != nil {
				return err
			}
			if found != int64(len(names)) {
				return follow.ErrMoved
			}
		}
		switch {
		case old == nil:
			at := next.Shard
			return x.one(stmt{sql: insertImage, args: []any{x.key, at.Namespace, string(at.Kind), next.Mark, value}})
		case next == nil:
			at := old.Shard
			return x.one(stmt{sql: deleteImage, args: []any{x.key, at.Namespace, string(at.Kind), old.Mark}})
		}
		at := old.Shard
		return x.one(stmt{
			sql: updateImage, args: []any{x.key, at.Namespace, string(at.Kind), old.Mark, next.Mark, value},
		})
	})
}

// Remove implements [follow.Table]: a segment at a time, so that no write waits for long.
func (s imageTable) Remove(ctx context.Context, t loci.Tenant, names []string) error {
	for _, name := range names {
		err := s.change(ctx, "remove what is left of an index", t, func(x *changing) error {
			remove := stmt{sql: removePieces, args: []any{x.key, name}}
			return x.c.run(x.ctx, stmt{sql: lockRow, args: []any{x.key}}, remove)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Strays implements [follow.Table].
func (s imageTable) Strays(
	ctx context.Context, t loci.Tenant, named []string, take func(string, bool),
) error {
	type stray struct {
		name string
		old  bool
	}
	var found []stray
	err := s.read(ctx, t, "look for what is left of an index", func(r *reading) error {
		found = nil
		args := []any{r.t.key, list(named), strayAge.Milliseconds()}
		return r.last(stmt{sql: selectStrays, args: args, row: func(row row) error {
			found = append(found, stray{row.string(0), row.bool(1)})
			return nil
		}})
	})
	for _, f := range found {
		take(f.name, f.old)
	}
	return err
}

// changing is a transaction that changes what is kept of a tenant's index.
type changing struct {
	c   *conn
	ctx context.Context
	key []byte
}

// change runs do in a transaction, again if it has to. What was committed though its answer
// was lost is met again: then somebody was quicker.
func (s imageTable) change(ctx context.Context, op string, t loci.Tenant, do func(*changing) error) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	err := s.again(ctx, func() error {
		x := &changing{ctx: ctx, key: batch.KeyOf(t)}
		c, err := s.connect(ctx, x.key)
		if err != nil {
			return err
		}
		defer c.release()
		x.c = c
		err = c.run(ctx, readWrite, behindWall(x.key), timeouts(writeTime))
		if err == nil {
			err = do(x)
		}
		if err == nil {
			return c.run(ctx, commit)
		}
		if !c.pg.IsClosed() {
			_ = c.run(context.WithoutCancel(ctx), rollback) // or the pool closes it
		}
		return err
	})
	if errors.Is(err, follow.ErrMoved) {
		return follow.ErrMoved
	}
	return translate(op, err)
}

// lock is the statement that locks the tenant's row.
func (x *changing) lock(key loci.NameKey) stmt {
	return stmt{sql: lockKeyed, args: []any{x.key, []byte(key)}}
}

// one runs statements of which the last must change a row.
func (x *changing) one(stmts ...stmt) error {
	var changed int64
	stmts[len(stmts)-1].done = func(n int64) { changed = n }
	if err := x.c.run(x.ctx, stmts...); err != nil {
		return err
	}
	if changed != 1 {
		return follow.ErrMoved
	}
	return nil
}

// Pending says what waits to be taken out of the index that the database keeps, in sentences.
func (s *Store) Pending(ctx context.Context) ([]string, error) {
	return s.shelf.Pending(ctx, s.Tenants(ctx))
}
