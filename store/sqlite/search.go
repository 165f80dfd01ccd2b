package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// searchIndex is the index in the process that follows the file: what another
// process wrote is taken in before the next search, by the change counter.
type searchIndex struct {
	mu     sync.RWMutex
	index  *index.Index
	seq    int64                       // the state of the file the index shows
	known  index.Keys                  // every shard of the file, except those that are in a group
	names  map[int64]string            // namespace number → key
	number map[string]int64            // key → namespace number
	named  int64                       // the count of names as of which that holds
	large  map[index.Key]int64         // too large for a quick search, at a state of the file
	used   map[index.Key]*atomic.Int64 // the shards that are loaded, with when they were searched last
	scopes index.Scopes                // of which all are loaded
	placed places
	planning

	budget    *budget
	meter     *meter.Meter
	accounted int64        // what the budget counts of the index
	searched  atomic.Int64 // when it was searched last, in nanoseconds since 1970

	loading  loading
	handover handover
	grown    int // records handed since the file was read
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
	var hits []loci.Hit
	err = f.mapping(func() (err error) {
		hits, err = f.match(ctx, p, filter, limit)
		return err
	})
	return hits, f.translate("search", err)
}

// seenState is where the state of the file lies that the first question of a call has seen, see [loci.Probe].Shared.
type seenState struct{}

func (f *file) match(ctx context.Context, p loci.Probe, filter loci.Filter, limit int) ([]loci.Hit, error) {
	load := func(ids []loci.ID) (records []loci.Record, err error) {
		all := loci.Filter{Within: []loci.Namespace{{}}, IDs: ids}
		err = f.records(ctx, &all, nil, unordered, func(r *loci.Record) bool {
			records = append(records, *r)
			return true
		})
		return records, err
	}
	x := &f.search
	var seq int64
	known := false
	if p.Shared != nil {
		seq, known = p.Shared[seenState{}].(int64)
	}
	if !known {
		var err error
		if seq, err = f.changed(ctx); err != nil {
			return nil, err
		}
		if p.Shared != nil {
			p.Shared[seenState{}] = seq
		}
	}
	var need ticket
	defer func() { x.loading.Leave(need) }()
	for {
		x.mu.RLock()
		// The index may already be ahead of what this call read; never behind.
		if x.index != nil && x.seq >= seq && x.serves(&p, &filter) {
			defer x.mu.RUnlock()
			return x.index.MatchNumbered(p, filter, limit, load, f.numbers.note)
		}
		x.mu.RUnlock()
		caughtUp := x.catchUp(seq, &p, &filter)
		x.budget.makeRoom(0) // for what it has grown by
		if caughtUp {
			continue
		}
		before := need
		var busy <-chan struct{}
		var err error
		need, busy, err = f.bring(ctx, seq, &p, &filter, before.Pins())
		x.loading.Leave(before)
		if errors.Is(err, errPlan) {
			f.makePlan(ctx)
			continue
		}
		if err == nil && (busy != nil || need.Waits()) {
			err = need.WaitAside(ctx, busy)
		}
		if p.Quick && errors.Is(err, loci.ErrTooLarge) {
			return nil, nil
		}
		if err != nil && !errors.Is(err, errAgain) {
			return nil, err
		}
	}
}

// catchUp takes in what this process committed, and reports whether that was all that a
// search lacked.
func (x *searchIndex) catchUp(seq int64, p *loci.Probe, filter *loci.Filter) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.leaveWhole()
	if x.index == nil {
		return false
	}
	x.takeHanded()
	return x.seq >= seq && x.serves(p, filter)
}

// leaveWhole is deferred by whoever changes the index. It lets go of one that a fault has left half changed before
// another search gets the lock: see [file.mapping].
func (x *searchIndex) leaveWhole() {
	if fault := recover(); fault != nil {
		x.index = nil
		x.loading.Forget()
		x.account()
		panic(fault)
	}
}

// serves reports whether the index holds all that a search needs, and notes when it did.
func (x *searchIndex) serves(p *loci.Probe, filter *loci.Filter) bool {
	if p.Vector != nil && p.Space != x.index.Space() {
		return false
	}
	now := x.budget.clock.Add(1)
	x.searched.Store(time.Now().UnixNano())
	plain := len(x.groups) == 0 || !p.Quick
	if plain && x.scopes.Served(filter, &x.known, x.index, now) {
		x.searchedAbove(filter, now)
		return true
	}
	covered, lacks := x.covered(filter, p.Quick)
	if len(lacks) > 0 {
		return false
	}
	passed := 0
	for _, key := range covered {
		at := x.used[key]
		if at == nil {
			if large, known := x.large[key]; p.Quick && known && large == x.seq {
				passed++
				continue
			}
			return false
		}
		at.Store(now)
	}
	if passed == 0 && plain {
		x.scopes.Serve(filter, &x.known, x.index, len(covered), now, x.searchedAt)
	}
	return true
}

// searchedAt notes when a shard was searched, if it is in the index.
func (x *searchIndex) searchedAt(key index.Key, at int64) {
	if used := x.used[key]; used != nil && used.Load() < at {
		used.Store(at)
	}
}

// touch notes that a shard is in the index and was searched now.
func (x *searchIndex) touch(key index.Key) {
	if x.used[key] == nil {
		x.used[key] = new(atomic.Int64)
	}
	x.used[key].Store(x.budget.clock.Load())
}

// bring brings the index to the file's present state and asks for the shards that a search
// lacks. busy is not nil where the index must change its space and others still need it as
// it is: it is closed when they do not. pinned: the caller itself is one of them.
func (f *file) bring(
	ctx context.Context, seq int64, p *loci.Probe, filter *loci.Filter, pinned bool,
) (need ticket, busy <-chan struct{}, err error) {
	x := &f.search
	far, much, from, err := f.farBehind(ctx, seq)
	if err != nil {
		return need, nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.leaveWhole()
	space := p.Space
	if p.Vector == nil && x.index != nil {
		space = x.index.Space() // a search by words alone does not care
	}
	if x.index != nil && x.index.Space() != space && !pinned {
		if busy := x.loading.Busy(); busy != nil {
			return need, busy, nil
		}
	}
	if x.index != nil && x.index.Space() == space {
		x.takeHanded()
		if x.seq == from {
			for _, s := range far {
				x.detach(index.Key{Namespace: x.names[s.namespace], Kind: s.kind})
			}
			for _, g := range x.groups {
				if much {
					x.detach(g.Key)
				}
			}
		}
	}
	x.handover.want() // before the state of the file is read, so that nothing is between
	// What is begun is done: whoever gives up takes nothing from those who come next.
	ctx = context.WithoutCancel(ctx)
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return need, nil, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	if p.Vector == nil && x.index == nil { // what is kept, and what the next search wants
		if space, err = activeSpace(tx.QueryRowContext(ctx, selectActive)); err != nil {
			return need, nil, err
		}
	}
	if err := f.advance(ctx, tx, space); err != nil {
		return need, nil, err
	}
	keys, err := f.shardsOf(ctx, tx, filter, p.Quick)
	if err != nil {
		return need, nil, err
	}
	if p.Quick {
		if keys, err = x.quick(ctx, tx, keys); err != nil {
			return need, nil, err
		}
	}
	return f.join(keys), nil, nil
}

// maxFollowed is how many changed records of a shard are taken in while others wait.
const maxFollowed = 1000

// changedSince counts the records that changed since a state, up to so many.
const changedSince = "SELECT count(*) FROM (SELECT 1 FROM record WHERE seq > ? LIMIT +?)"

// farBehind lists the shards of which more changed than that since the state of the index.
// much: of all together.
func (f *file) farBehind(ctx context.Context, seq int64) (far []shard, much bool, from int64, err error) {
	x := &f.search
	x.mu.RLock()
	from = x.seq
	x.mu.RUnlock()
	if from == 0 || from >= seq {
		return nil, false, from, nil
	}
	var changed int
	err = f.readRow(ctx, changedSince, []any{from, maxFollowed + 1}, &changed)
	if err != nil || changed <= maxFollowed {
		return nil, false, from, err
	}
	const many = "SELECT namespace, kind FROM record WHERE seq > ? GROUP BY 1, 2 HAVING count(*) > ?"
	err = f.readRows(ctx, many, []any{from, maxFollowed}, func(rows *sql.Rows) (bool, error) {
		var s shard
		err := rows.Scan(&s.namespace, &s.kind)
		far = append(far, s)
		return true, err
	})
	return far, true, from, err
}

// fileState is what a reading transaction shows.
type fileState struct {
	seq     int64
	floor   int64 // what was erased up to here is forgotten
	named   int64 // see [searchIndex.named]
	dropped int64 // when vectors of the space were removed, though their records stay
	last    int64 // the highest number of a record
	planned int64 // see [groupPlan]
}

func (f *file) state(ctx context.Context, tx *sql.Tx, space loci.Space) (now fileState, err error) {
	const query = `SELECT (SELECT value FROM meta WHERE key = 'seq'), (SELECT value FROM meta WHERE key = 'erased_floor'),
		(SELECT value FROM meta WHERE key = 'names'), coalesce((SELECT dropped FROM space WHERE model = ? AND dims = ?), 0),
		coalesce((SELECT max(n) FROM record), 0), coalesce((SELECT value FROM meta WHERE key = 'above.id'), 0)`
	err = tx.QueryRowContext(ctx, query, space.Model, space.Dims).
		Scan(&now.seq, &now.floor, &now.named, &now.dropped, &now.last, &now.planned)
	return now, err
}

// advance brings the index to the state that a reading transaction shows. The caller holds
// the lock.
func (f *file) advance(ctx context.Context, tx *sql.Tx, space loci.Space) (err error) {
	x := &f.search
	defer func() {
		if err != nil { // half-loaded: the next search starts again
			x.index = nil
			x.loading.Forget()
		}
		x.account()
	}()
	if x.index == nil || x.index.Space() != space {
		x.reset(space)
	}
	now, err := f.state(ctx, tx, space)
	if err != nil {
		return err
	}
	if x.seq < now.dropped {
		x.reset(space)
	}
	if x.seq < now.floor { // too far behind to follow: what was erased meanwhile is forgotten
		x.reset(space)
	}
	if x.last > 0 && x.planned != now.planned {
		x.reset(space)
	}
	if x.named != now.named { // a name came back, of a shard that is known without one
		x.known, x.planning, x.named = index.Keys{}, planning{tried: x.tried}, now.named
	}
	if err := f.learnShards(ctx, tx, &now); err != nil {
		return err
	}
	if x.seq < now.seq {
		if len(x.used) > 0 {
			if err := f.follow(ctx, tx, x.index, since(x.seq), x.names, x.kinds(), nil); err != nil {
				return err
			}
		}
		x.seq = now.seq
	}
	x.grown = 0
	return nil
}

// quick leaves out the shards that are too large for a quick search, by the kept counts.
// Whether one is does not depend on what this process has searched.
func (x *searchIndex) quick(ctx context.Context, tx *sql.Tx, keys []index.Key) (out []index.Key, err error) {
	for _, key := range keys {
		if !x.index.HasShard(key) {
			const searched = "SELECT coalesce(sum(searched), 0) FROM tally WHERE namespace = ? AND kind = ?"
			var records int64
			at := []any{x.number[key.Namespace], string(key.Kind)}
			if err := tx.QueryRowContext(ctx, searched, at...).Scan(&records); err != nil {
				return nil, err
			}
			if delete(x.large, key); records > loci.QuickRecords {
				x.large[key] = x.seq
				continue
			}
		}
		out = append(out, key)
	}
	return out, nil
}

// reset starts with an empty index of a space.
func (x *searchIndex) reset(space loci.Space) {
	x.index, x.seq = index.New(space), 0
	x.index.Places = x.placed.tell
	x.known, x.names, x.number = index.Keys{}, map[int64]string{}, map[string]int64{}
	x.planning = planning{tried: x.tried}
	x.large, x.used = map[index.Key]int64{}, map[index.Key]*atomic.Int64{}
	x.loading.Forget()
}

// kinds are those of the shards that are loaded.
func (x *searchIndex) kinds() (kinds []any) {
	for key := range x.used {
		if kind := any(string(key.Kind)); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// changes are those of some records, from one state of the file to another.
type changes struct {
	from, upto int64 // the states
	last       int64 // the highest number of a record
}

// since is what changed since a state.
func since(from int64) changes { return changes{from, math.MaxInt64, everyNumber} }

// follow takes in changes of the shards of an index, given the names of their namespaces and
// their kinds. of: those of a group alone.
func (f *file) follow(
	ctx context.Context, tx *sql.Tx, x *index.Index, what changes, names map[int64]string, kinds []any, of *group,
) error {
	const erased = "SELECT id, namespace FROM erased WHERE seq > ? AND seq <= ?"
	err := eachRow(ctx, tx, erased, []any{what.from, what.upto}, func(rows *sql.Rows) error {
		var raw sql.RawBytes
		var namespace int64
		if err := rows.Scan(&raw, &namespace); err != nil {
			return err
		}
		if name, known := names[namespace]; known || x.HasAbove() {
			var id loci.ID
			copy(id[:], raw)
			x.Remove(name, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	changed, args := followed(len(kinds)), append([]any{what.from, what.upto, what.last}, kinds...)
	if len(names) == 1 && !x.HasAbove() {
		changed += " AND +r.namespace = ?"
		for n := range names {
			args = append(args, n)
		}
	}
	// What cannot be found any more leaves, without a look at what may be a large text.
	gone := "SELECT r.id, r.namespace, r.kind FROM record r WHERE " + changed + " AND NOT " + searchable
	err = eachRow(ctx, tx, gone, args, func(rows *sql.Rows) error {
		var raw sql.RawBytes
		var namespace int64
		var kind string
		if err := rows.Scan(&raw, &namespace, &kind); err != nil {
			return err
		}
		name, known := names[namespace]
		gone := loci.Record{Namespace: loci.NamespaceFromKey(name), Kind: loci.Kind(kind)}
		copy(gone.ID[:], raw)
		if x.Upsert(&gone, nil); !known {
			x.Remove("", gone.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if of != nil {
		in, more := of.marked("+s.mark")
		changed, args = changed+" AND "+in, append(args, more...)
	}
	_, _, _, err = f.take(ctx, tx, x, changed+" AND "+searchable, math.MaxInt64, args...)
	return err
}

// searchable is what a record must be to be in the index; the index record_shard
// holds those alone.
const searchable = "(r.live AND r.passage_count > 0)"

// followed is the condition of a record that [changes] are of and that is of one of n
// kinds. The plus keeps SQLite from looking at all of a kind instead.
func followed(n int) string {
	return "r.seq > ? AND r.seq <= ? AND +r.n <= ? AND " + inList("+r.kind", n)
}

// inShard is the condition of a record in a namespace and of a kind.
const inShard = "r.namespace = ? AND r.kind = ?"

// eachRow runs a query inside a transaction.
func eachRow(ctx context.Context, tx *sql.Tx, query string, args []any, row func(*sql.Rows) error) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); errors.Is(err, errEnough) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return rows.Err()
}
