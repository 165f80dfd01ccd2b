package postgres

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
)

// searchIndex is the index of a tenant in the process: what another server wrote is taken in
// before the next search, by the tenant's change counter.
type searchIndex struct {
	mu      sync.RWMutex
	index   *index.Index
	nameKey loci.NameKey         // of the tenant whose state it shows; another one after an erase
	seq     int64                // the state it shows
	known   index.Keys           // the shards there are, as far as learned
	learned map[string]bool      // keys of namespaces below which every shard is known
	names   map[int64]string     // namespace number → key
	numbers map[string]int64     // key → namespace number
	large   map[index.Key]bool   // too large for a quick search to load
	used    map[index.Key]uint64 // when a loaded shard was searched last
	tick    uint64
	held    atomic.Int64 // passages
}

// Match implements [loci.RecordLister].
func (s *Store) Match(
	ctx context.Context, name loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) (hits []loci.Hit, err error) {
	filter.NotLive = false
	load := func(ids []loci.ID) ([]loci.Record, error) { return s.recordsOf(ctx, name, ids) }
	served := false
	err = s.read(ctx, name, "search", func(r *reading) error {
		if limit < 1 {
			return loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
		}
		if err := r.last(); err != nil {
			return err
		}
		x := &r.t.search
		x.mu.RLock()
		defer x.mu.RUnlock()
		// The index may already be ahead of what this call read; never behind.
		if served = x.shows(&r.state) && x.serves(&p, &filter); served {
			hits, err = x.index.Match(p, filter, limit, load)
			return err
		}
		return nil
	})
	if err != nil || served {
		return hits, err
	}
	err = s.read(ctx, name, "search", func(r *reading) error {
		x := &r.t.search
		x.mu.Lock()
		defer x.mu.Unlock()
		err := r.query() // under the lock, so that it is no older than what the index shows
		if err == nil {
			err = x.refresh(r, &p, &filter, s.opts.IndexPassages)
		}
		if err != nil {
			x.index = nil // half-loaded: the next search starts again
			x.held.Store(0)
			return err
		}
		x.held.Store(int64(x.index.Passages()))
		s.trim(r.t)
		hits, err = x.index.Match(p, filter, limit, load)
		return err
	})
	return hits, err
}

// shows reports whether the index is no older than a state.
func (x *searchIndex) shows(st *state) bool {
	return x.index != nil && x.seq >= st.seq && bytes.Equal(x.nameKey, st.nameKey)
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

// trim drops the indexes of tenants that were not asked for longest while the process holds
// too much. The tenant at hand keeps its own.
func (s *Store) trim(at *tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for _, t := range s.tenants {
		sum += t.search.held.Load()
	}
	for sum > int64(s.opts.IndexPassages) {
		var oldest *tenant
		for _, t := range s.tenants {
			if t != at && t.search.held.Load() > 0 && (oldest == nil || t.used < oldest.used) {
				oldest = t
			}
		}
		if oldest == nil {
			return
		}
		sum -= oldest.search.held.Swap(0)
		if oldest.search.mu.TryLock() { // else it is searched right now, and will be counted again
			oldest.search.index = nil
			oldest.search.mu.Unlock()
		}
	}
}

// serves reports whether the index holds all that a search needs.
func (x *searchIndex) serves(p *loci.Probe, filter *loci.Filter) bool {
	if p.Vector != nil && p.Space != x.index.Space() {
		return false
	}
	for _, place := range filter.Within {
		if !x.hasLearned(place.Key()) {
			return false
		}
	}
	for _, key := range x.known.Covered(filter) {
		if !x.index.HasShard(key) && (!p.Quick || !x.large[key]) {
			return false
		}
	}
	return true
}

// hasLearned reports whether all shards at and below a namespace are known.
func (x *searchIndex) hasLearned(key string) bool {
	for end := len(key); ; end = strings.LastIndexByte(key[:end-1], 0) + 1 {
		if x.learned[key[:end]] {
			return true
		}
		if end == 0 {
			return false
		}
	}
}

// refresh brings the index to the tenant's present state and loads the shards a search
// needs, all in the one transaction.
func (x *searchIndex) refresh(r *reading, p *loci.Probe, filter *loci.Filter, budget int) error {
	space := p.Space
	if p.Vector == nil && x.index != nil {
		space = x.index.Space() // a search by words alone does not care
	}
	if x.index == nil || x.index.Space() != space || !bytes.Equal(x.nameKey, r.state.nameKey) || x.seq > r.state.seq {
		x.reset(space, r.state.nameKey)
	}
	var number, dropped int64
	if err := r.query(stmt{sql: selectSpace, args: []any{r.t.key, space.Model, space.Dims}, row: func(row row) error {
		number, dropped = row.int(0), row.int(1)
		return nil
	}}); err != nil {
		return err
	}
	if x.seq < dropped { // the space's vectors were removed, though their records stay
		x.reset(space, r.state.nameKey)
	}
	if x.seq < r.state.floor { // too far behind to follow: what was erased meanwhile is forgotten
		x.reset(space, r.state.nameKey)
	}
	if err := x.learn(r, filter); err != nil {
		return err
	}
	if x.seq < r.state.seq {
		if err := x.follow(r, number); err != nil {
			return err
		}
		x.seq = r.state.seq
	}
	keys := x.known.Covered(filter)
	if p.Quick {
		var err error
		if keys, err = x.quick(r, keys); err != nil {
			return err
		}
	}
	return x.loadShards(r, keys, number, budget)
}

const selectSpace = "SELECT n, dropped FROM loci.space WHERE tenant = $1 AND model = $2 AND dims = $3"

// reset starts with an empty index of a space.
func (x *searchIndex) reset(space loci.Space, nameKey loci.NameKey) {
	x.index, x.seq, x.nameKey = index.New(space), 0, nameKey
	x.known, x.learned, x.names, x.numbers = index.Keys{}, map[string]bool{}, map[int64]string{}, map[string]int64{}
	x.used, x.large = map[index.Key]uint64{}, map[index.Key]bool{}
}

// learn makes sure that the shards a search reaches are known, those that came since too.
func (x *searchIndex) learn(r *reading, filter *loci.Filter) error {
	take := func(row row) error {
		number, key := row.int(0), row.string(1)+row.string(2)
		x.names[number], x.numbers[key] = key, number
		for _, kind := range decodeKinds(row[3]) {
			x.known.Add(index.Key{Namespace: key, Kind: kind})
		}
		return nil
	}
	var stmts []stmt
	if len(x.learned) > 0 && x.seq < r.state.seq {
		stmts = append(stmts, stmt{sql: selectChangedNames, args: []any{r.t.key, x.seq}, row: take})
	}
	for _, place := range filter.Within {
		key := place.Key()
		if x.hasLearned(key) {
			continue
		}
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
				row:  take,
			},
		)
	}
	if err := r.query(stmts...); err != nil {
		return err
	}
	for _, place := range filter.Within {
		x.learned[place.Key()] = true
	}
	return nil
}

const selectChangedNames = "SELECT n, key_head, key_tail, kinds FROM loci.namespace WHERE tenant = $1 AND changed > $2 AND key_head IS NOT NULL"

// quick leaves out the shards that would take long to load.
func (x *searchIndex) quick(r *reading, keys []index.Key) (out []index.Key, err error) {
	for _, key := range keys {
		if !x.index.HasShard(key) && !x.large[key] {
			var records int64
			if err := r.query(stmt{
				sql:  countShard,
				args: []any{r.t.key, x.numbers[key.Namespace], string(key.Kind), loci.QuickRecords + 1},
				row:  func(row row) error { records = row.int(0); return nil },
			}); err != nil {
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

const (
	// searchable is what a record must be to be in the index; record_shard holds those alone.
	searchable = "r.live AND r.passage_count > 0"

	countShard = `SELECT count(*) FROM (SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.namespace = $2 AND r.kind = $3
		AND ` + searchable + " LIMIT $4) l"
	selectChanges = "SELECT id, namespace, gone, kind FROM loci.change WHERE tenant = $1 AND seq > $2 ORDER BY seq, gone DESC"
	taken         = "SELECT " + recordColumns + `, v.data FROM loci.record r
		LEFT JOIN loci.vector v ON v.tenant = $1 AND v.record = r.id AND v.space = $2 WHERE r.tenant = $1 AND ` + searchable
	takenByID    = taken + " AND r.id = ANY($3)"
	takenByShard = taken + " AND r.namespace = $3 AND r.kind = $4"
)

// followed is how many changed records one query brings.
const followed = 1000

// follow takes in what changed of the shards that are loaded since the index's state.
func (x *searchIndex) follow(r *reading, space int64) error {
	if len(x.used) == 0 {
		return nil // no shard is loaded
	}
	changed := map[loci.ID]index.Key{}
	if err := r.query(stmt{sql: selectChanges, args: []any{r.t.key, x.seq}, row: func(row row) error {
		id, key := row.id(0), index.Key{Namespace: x.names[row.int(1)], Kind: loci.Kind(row.string(3))}
		if row.bool(2) {
			delete(changed, id)
			x.index.Remove(key.Namespace, id)
		} else if x.index.HasShard(key) {
			changed[id] = key
		}
		return nil
	}}); err != nil {
		return err
	}
	ids := make([][]byte, 0, min(len(changed), followed))
	for id := range changed {
		if ids = append(ids, bytes.Clone(id[:])); len(ids) == followed {
			if err := x.take(r, changed, takenByID, r.t.key, space, ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	if len(ids) > 0 {
		if err := x.take(r, changed, takenByID, r.t.key, space, ids); err != nil {
			return err
		}
	}
	for id, key := range changed { // what cannot be found any more leaves
		gone := loci.Record{ID: id, Namespace: loci.NamespaceFromKey(key.Namespace), Kind: key.Kind}
		x.index.Upsert(&gone, nil)
	}
	return nil
}

// take reads records with their vectors into the index and strikes them off a list. Reading
// and indexing cost about the same, so each has a goroutine.
func (x *searchIndex) take(r *reading, off map[loci.ID]index.Key, query string, args ...any) error {
	dims := x.index.Space().Dims
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
	err := r.query(stmt{sql: query, args: args, row: func(row row) error {
		record, namespace, err := row.record()
		if err != nil {
			return err
		}
		delete(off, record.ID)
		record.Namespace = loci.NamespaceFromKey(x.names[namespace])
		batch = append(batch, loaded{record, form.SplitVectors(row.bytes(columnsOfRecord), dims)})
		if len(batch) == cap(batch) {
			read <- batch
			batch = make([]loaded, 0, 256)
		}
		return nil
	}})
	read <- batch
	close(read)
	indexing.Wait()
	return err
}

// loadShards makes sure that the shards of keys are there, and drops those that were not
// searched for longest while there is too much.
func (x *searchIndex) loadShards(r *reading, keys []index.Key, space int64, budget int) error {
	x.tick++
	for _, key := range keys {
		x.used[key] = x.tick
		if x.index.HasShard(key) {
			continue
		}
		x.index.AddShard(key)
		if err := x.take(r, nil, takenByShard, r.t.key, space, x.numbers[key.Namespace], string(key.Kind)); err != nil {
			return err
		}
	}
	for x.index.Passages() > budget {
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
