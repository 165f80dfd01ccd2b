package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// searchIndex is the index in the process that follows the file: what another
// process wrote is taken in before the next search, by the change counter.
type searchIndex struct {
	mu     sync.RWMutex
	index  *index.Index
	seq    int64                // the state of the file the index shows
	known  index.Keys           // every shard of the file
	names  map[int64]string     // namespace number → key
	number map[string]int64     // key → namespace number
	last   int64                // the highest shard number known
	named  int64                // the count of names as of which that holds
	large  map[index.Key]bool   // too large for a quick search to load
	used   map[index.Key]uint64 // when a loaded shard was searched last
	tick   uint64
	budget int // passages held before shards are dropped

	handover handover
	grown    int // records handed since there was a look at the budget
}

// Match implements [loci.RecordLister].
func (s *Store) Match(
	ctx context.Context, t loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) ([]loci.Hit, error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	if limit < 1 {
		return nil, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	filter.NotLive = false
	hits, err := f.match(ctx, p, filter, limit)
	return hits, f.translate("search", err)
}

func (f *file) match(ctx context.Context, p loci.Probe, filter loci.Filter, limit int) ([]loci.Hit, error) {
	load := func(ids []loci.ID) (records []loci.Record, err error) {
		all := loci.Filter{Within: []loci.Namespace{{}}, IDs: ids}
		err = f.records(ctx, &all, nil, loci.NewestFirst, func(r *loci.Record) bool {
			records = append(records, *r)
			return true
		})
		return records, err
	}
	x := &f.search
	var seq int64
	if err := f.readRow(ctx, "SELECT value FROM meta WHERE key = 'seq'", nil, &seq); err != nil {
		return nil, err
	}
	x.mu.RLock()
	// The index may already be ahead of what this call read; never behind.
	if x.index != nil && x.seq >= seq && x.serves(&p, &filter) {
		defer x.mu.RUnlock()
		return x.index.Match(p, filter, limit, load)
	}
	x.mu.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index != nil {
		x.takeHanded()
	}
	if x.index != nil && x.seq >= seq && x.grown < maxGrown && x.serves(&p, &filter) {
		return x.index.Match(p, filter, limit, load)
	}
	x.handover.want() // before the state of the file is read, so that nothing is between
	if err := f.refresh(ctx, &p, &filter); err != nil {
		x.index = nil // half-loaded: the next search starts again
		return nil, err
	}
	return x.index.Match(p, filter, limit, load)
}

// serves reports whether the index holds all that a search needs.
func (x *searchIndex) serves(p *loci.Probe, filter *loci.Filter) bool {
	if p.Vector != nil && p.Space != x.index.Space() {
		return false
	}
	for _, key := range x.known.Covered(filter) {
		if !x.index.HasShard(key) && (!p.Quick || !x.large[key]) {
			return false
		}
	}
	return true
}

// refresh brings the index to the file's present state and loads the shards a
// search needs, all in one reading transaction.
func (f *file) refresh(ctx context.Context, p *loci.Probe, filter *loci.Filter) (err error) {
	x := &f.search
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() {
		if end := tx.Rollback(); end != nil && !errors.Is(end, sql.ErrTxDone) {
			err = errors.Join(err, end)
		}
	}()
	space := p.Space
	if p.Vector == nil && x.index != nil {
		space = x.index.Space() // a search by words alone does not care
	}
	if x.index == nil || x.index.Space() != space {
		x.reset(space)
	}
	var seq, floor, named, dropped int64
	const state = `SELECT (SELECT value FROM meta WHERE key = 'seq'), (SELECT value FROM meta WHERE key = 'erased_floor'),
		(SELECT value FROM meta WHERE key = 'names'), coalesce((SELECT dropped FROM space WHERE model = ? AND dims = ?), 0)`
	if err := tx.QueryRowContext(ctx, state, space.Model, space.Dims).Scan(&seq, &floor, &named, &dropped); err != nil {
		return err
	}
	if x.seq < dropped { // the space's vectors were removed, though their records stay
		x.reset(space)
	}
	if x.seq < floor { // too far behind to follow: what was erased meanwhile is forgotten
		for _, key := range x.known {
			x.index.DropShard(key)
		}
		x.known, x.names, x.number, x.last = nil, map[int64]string{}, map[string]int64{}, 0
	}
	if x.named != named { // a name came back, of a shard that is known without one
		x.known, x.last, x.named = nil, 0, named
	}
	if err := x.learnShards(ctx, tx); err != nil {
		return err
	}
	if x.seq < seq {
		if err := x.follow(ctx, tx); err != nil {
			return err
		}
		x.seq = seq
	}
	keys := x.known.Covered(filter)
	if p.Quick {
		if keys, err = x.quick(ctx, tx, keys); err != nil {
			return err
		}
	}
	return x.loadShards(ctx, tx, keys)
}

// quick leaves out the shards that would take long to load.
func (x *searchIndex) quick(ctx context.Context, tx *sql.Tx, keys []index.Key) (out []index.Key, err error) {
	for _, key := range keys {
		if !x.index.HasShard(key) && !x.large[key] {
			var records int // the index of the table answers that alone
			if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT 1 FROM record WHERE namespace = ? AND kind = ? AND live AND passage_count > 0 LIMIT ?)",
				x.number[key.Namespace], string(key.Kind), loci.QuickRecords+1).Scan(&records); err != nil {
				return nil, err
			}
			x.large[key] = records > loci.QuickRecords
		}
		if x.index.HasShard(key) || !x.large[key] {
			out = append(out, key)
		}
	}
	return out, nil
}

// reset starts with an empty index of a space.
func (x *searchIndex) reset(space loci.Space) {
	x.index, x.seq = index.New(space), 0
	x.known, x.names, x.number, x.last, x.used = nil, map[int64]string{}, map[string]int64{}, 0, map[index.Key]uint64{}
	x.large = map[index.Key]bool{}
}

func (x *searchIndex) learnShards(ctx context.Context, tx *sql.Tx) error {
	const query = "SELECT h.n, h.kind, s.n, s.key FROM shard h JOIN namespace s ON s.n = h.namespace WHERE h.n > ? ORDER BY h.n"
	var learnt index.Keys
	err := eachRow(ctx, tx, query, []any{x.last}, func(rows *sql.Rows) error {
		var namespace int64
		var key []byte
		var kind string
		if err := rows.Scan(&x.last, &kind, &namespace, &key); err != nil {
			return err
		}
		if bytes.HasPrefix(key, []byte(unnamed)) { // nothing is there; what goes on to be known helps to remove it
			return nil
		}
		x.names[namespace] = string(key)
		x.number[string(key)] = namespace
		learnt = append(learnt, index.Key{Namespace: string(key), Kind: loci.Kind(kind)})
		return nil
	})
	x.known.AddAll(learnt)
	return err
}

// follow takes in what changed of the shards that are loaded since the index's state.
func (x *searchIndex) follow(ctx context.Context, tx *sql.Tx) error {
	if len(x.used) == 0 {
		return nil // no shard is loaded
	}
	err := eachRow(ctx, tx, "SELECT id, namespace FROM erased WHERE seq > ?", []any{x.seq}, func(rows *sql.Rows) error {
		var raw sql.RawBytes
		var namespace int64
		if err := rows.Scan(&raw, &namespace); err != nil {
			return err
		}
		var id loci.ID
		copy(id[:], raw)
		x.index.Remove(x.names[namespace], id)
		return nil
	})
	if err != nil {
		return err
	}
	var kinds []any
	for key := range x.used {
		if kind := any(string(key.Kind)); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	changed := followed(len(kinds))
	args := append([]any{x.seq}, kinds...)
	// What cannot be found any more leaves, without a look at what may be a large text.
	err = eachRow(ctx, tx, "SELECT r.id, r.namespace, r.kind FROM record r WHERE "+changed+" AND NOT "+searchable, args, func(rows *sql.Rows) error {
		var raw sql.RawBytes
		var namespace int64
		var kind string
		if err := rows.Scan(&raw, &namespace, &kind); err != nil {
			return err
		}
		gone := loci.Record{Namespace: loci.NamespaceFromKey(x.names[namespace]), Kind: loci.Kind(kind)}
		copy(gone.ID[:], raw)
		x.index.Upsert(&gone, nil)
		return nil
	})
	if err != nil {
		return err
	}
	return x.take(ctx, tx, changed+" AND "+searchable, args...)
}

// searchable is what a record must be to be in the index; the index record_shard
// holds those alone.
const searchable = "(r.live AND r.passage_count > 0)"

// followed is the condition of a record that changed after a seq and is of one of n
// kinds. The plus keeps SQLite from looking at all of a kind instead.
func followed(n int) string { return "r.seq > ? AND " + inList("+r.kind", n) }

// inShard is the condition of a record in a namespace and of a kind.
const inShard = "r.namespace = ? AND r.kind = ?"

// take reads records with their vectors into the index. Reading and indexing cost
// about the same, so each has a goroutine.
func (x *searchIndex) take(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	space := x.index.Space()
	type loaded struct {
		record loci.Record
		codes  [][]byte
	}
	read := make(chan []loaded, 4)
	var indexing sync.WaitGroup
	indexing.Go(func() {
		for batch := range read {
			for i := range batch {
				x.index.Upsert(&batch[i].record, batch[i].codes)
			}
		}
	})
	batch := make([]loaded, 0, 256)
	err := eachRow(ctx, tx, taken(condition), append([]any{space.Model, space.Dims}, args...),
		func(rows *sql.Rows) error {
			var data sql.RawBytes
			r, err := scanRecord(rows, &data)
			if err != nil {
				return err
			}
			batch = append(batch, loaded{r, splitVectors(bytes.Clone(data), space.Dims)})
			if len(batch) == cap(batch) {
				read <- batch
				batch = make([]loaded, 0, 256)
			}
			return nil
		})
	read <- batch
	close(read)
	indexing.Wait()
	return err
}

// taken is the query for records with their vectors in a space.
func taken(condition string) string {
	return "SELECT " + recordColumns + `, v.data FROM record r JOIN namespace s ON s.n = r.namespace
		LEFT JOIN vector v ON v.record = r.n AND v.space = (SELECT n FROM space WHERE model = ? AND dims = ?) WHERE ` + condition
}

// loadShards makes sure that the shards of keys are there, and drops those that
// were not searched for longest while there is too much.
func (x *searchIndex) loadShards(ctx context.Context, tx *sql.Tx, keys index.Keys) error {
	x.tick++
	x.grown = 0
	var lacking index.Keys
	for _, key := range keys {
		x.used[key] = x.tick
		if !x.index.HasShard(key) {
			lacking = append(lacking, key)
		}
	}
	x.index.AddShards(lacking)
	for _, key := range lacking {
		if err := x.take(ctx, tx, inShard+" AND "+searchable, x.number[key.Namespace], string(key.Kind)); err != nil {
			return err
		}
	}
	for x.index.Passages() > x.budget {
		oldest, found := index.Key{}, false
		for key, at := range x.used {
			if at < x.tick && (!found || at < x.used[oldest]) {
				oldest, found = key, true
			}
		}
		if !found {
			return nil // all of it is needed at once
		}
		x.index.DropShard(oldest)
		delete(x.used, oldest)
	}
	return nil
}

// eachRow runs a query inside a transaction.
func eachRow(ctx context.Context, tx *sql.Tx, query string, args []any, row func(*sql.Rows) error) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
