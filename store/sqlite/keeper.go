package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
)

// What is written is searched sooner or later, and the first search of a large shard would read all of it. So
// its index is kept behind what writes, though nobody searches (docs/adr/0185).
//
// A pass looks for shards of which much came since their index was kept, and loads each in the parts of a
// search's load. The next search maps what lies in the folder then. Of a shard that the index of the process has, that
// index gets what the pass has made: what came since it was loaded lay on the heap.
// A pass leaves the file to a search that loads something, and goes on later. What it has kept by then is named as
// a search's load names it, so the next one goes on from there, also in another process.

// A keeper keeps the indexes of a file, one pass for all that was written.
type keeper struct {
	mu      sync.Mutex
	records int         // to be searched that came since the last look
	bytes   int         // of their texts
	timer   *time.Timer // starts a pass
	latest  time.Time   // when it starts though more is written
	pause   time.Duration
	running bool
	again   bool
	all     bool // the next pass keeps all that the index of the process has, too
	stopped bool
	err     error         // of the last pass
	done    chan struct{} // closed when no pass is under way

	left    atomic.Bool // the pass under way is to leave the file to others
	looked  int64       // up to which state of the file all is kept; the pass's own
	planned int64       // the highest number of a shard when it planned
	turns   chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc

	part func(index.Key) // unless nil: called before each part, by tests
}

const (
	// keepPause is how long nothing is written before a pass. An import over HTTP comes in parts.
	keepPause = time.Second

	// maxKeepPauses is for how many pauses writes that follow one another put the pass off.
	maxKeepPauses = 30

	// keptBytes of texts, or of an index on the heap, are kept, however few records they are: some large notes have
	// as many words as thousands of small ones.
	keptBytes = 1 << 20

	// heapBytes of texts are kept without a pause where the index of the process takes them in.
	heapBytes = 8 << 20

	// bookBytes of the heap become a segment, however few records they are.
	bookBytes = 64 << 20
)

func (k *keeper) init(s *Store) {
	k.turns, k.pause = s.keepers, cmp.Or(s.opts.keepPause, keepPause)
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.done = make(chan struct{})
	close(k.done)
}

// errLeft says that a pass has left a file to a search, or to another process that keeps its index.
var errLeft = errors.New("the index is loaded by others")

// keepBehind counts what a change brought, and asks for a pass where that is much.
func (f *file) keepBehind(c *loci.Change) {
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range c.Put {
		if r := &c.Put[i].Record; r.Live && len(r.Passages) > 0 {
			k.records, k.bytes = k.records+1, k.bytes+len(r.Text)
		}
	}
	if k.timer != nil || k.records >= f.shelf.from || k.bytes >= keptBytes {
		f.keepLater()
	}
	// What the index of the process takes in lies on the heap until a pass has kept it.
	if much := k.records >= f.shelf.book || k.bytes >= heapBytes; much && k.timer != nil && f.search.handover.wants() {
		k.timer.Reset(0)
	}
}

// keepLater puts off the pass that is to come, or has one come. The caller holds the lock.
func (f *file) keepLater() {
	k, now := &f.keeper, time.Now()
	switch {
	case k.stopped:
	case k.timer == nil:
		k.latest = now.Add(maxKeepPauses * k.pause)
		k.timer = time.AfterFunc(k.pause, func() { f.startKeeper(false) })
	case now.Add(k.pause).Before(k.latest):
		k.timer.Reset(k.pause)
	}
}

// startKeeper asks for a pass now. all: also of what the index of the process has, which only the next process needs.
func (f *file) startKeeper(all bool) {
	k := &f.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = k.all || all
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	k.records, k.bytes = 0, 0
	if k.again = k.running; k.running || k.stopped {
		return
	}
	k.running, k.done = true, make(chan struct{})
	go f.runKeeper()
}

func (f *file) runKeeper() {
	k := &f.keeper
	cores.GiveWay()
	for {
		k.mu.Lock()
		all := k.all
		k.all = false
		k.mu.Unlock()
		err := f.keepNow(all)
		k.mu.Lock()
		if k.again && err == nil && !k.stopped {
			k.again = false
			k.mu.Unlock()
			continue
		}
		if k.err = err; errors.Is(err, errLeft) || k.again && !k.stopped {
			f.keepLater()
		} else if err != nil && k.ctx.Err() == nil {
			f.logError("keep the index", err)
		}
		k.running, k.again = false, false
		close(k.done)
		k.mu.Unlock()
		return
	}
}

// stop ends the pass under way at its next part; the next process goes on.
func (k *keeper) stop() {
	k.mu.Lock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
	done := k.done
	k.mu.Unlock()
	k.cancel()
	<-done
}

// leave has the pass under way, if there is one, leave the file.
func (k *keeper) leave() { k.left.Store(true) }

// KeepIndex keeps the search index of what a tenant has, as far as it is large and not kept yet: what an earlier
// process has written, too. It returns when that is done, or left to somebody who searches.
func (s *Store) KeepIndex(ctx context.Context, t loci.Tenant) error {
	if exists, err := s.exists(t); err != nil || !exists {
		return err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	f.startKeeper(true)
	k := &f.keeper
	k.mu.Lock()
	done := k.done
	k.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return loci.AsError(ctx.Err())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if errors.Is(k.err, errLeft) {
		return nil
	}
	return f.translate("keep the index", k.err)
}

// keepNow is a pass.
func (f *file) keepNow(all bool) error {
	k := &f.keeper
	select {
	case k.turns <- struct{}{}:
		defer func() { <-k.turns }()
	case <-k.ctx.Done():
		return k.ctx.Err()
	}
	k.left.Store(false)
	f.search.budget.apart.Store(k)
	defer f.search.budget.apart.Store(nil)
	seq, err := f.changed(k.ctx)
	if err != nil || seq == k.looked {
		return err
	}
	if err := f.replan(k.ctx, &k.planned); err != nil {
		return err
	}
	due, space, err := f.behind(k.ctx)
	if err != nil {
		return err
	}
	heavy := f.search.heavy((f.shelf.book + 1) / 2)
	for key, s := range heavy {
		if !slices.ContainsFunc(due, func(d behindShard) bool { return d.key == key }) { // others keep it
			due = append(due, s)
		}
	}
	if len(due) > 0 {
		if !f.shelf.hold() {
			if err := f.shelf.whyNot(); !errors.Is(err, errHeld) {
				return nil // a search says so, and doctor
			}
			return errLeft
		}
		defer f.shelf.drop()
	}
	passed := 0
	for _, s := range due {
		if _, is := heavy[s.key]; !all && !is && f.search.has(s.key) {
			passed++
			continue
		}
		if err := f.keepShard(k.ctx, s, space); err != nil {
			return err
		}
	}
	if passed == 0 {
		k.looked = seq
	}
	return nil
}

// has reports whether the index has a shard.
func (x *searchIndex) has(key index.Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.index != nil && x.index.HasShard(key)
}

// heavy are the shards of which the index has so many records on the heap, or as much as takes a lot of memory.
func (x *searchIndex) heavy(records int) map[index.Key]behindShard {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := map[index.Key]behindShard{}
	for key := range x.used {
		if x.index == nil || !x.index.HasShard(key) {
			continue
		}
		if x.index.Loose(key) >= records || x.index.LooseBytes(key) >= bookBytes/2 {
			one := x.loadOf(key)
			out[key] = behindShard{shard: one.shard(), key: key, group: one.group}
		}
	}
	return out
}

// A behindShard is one of which much is not in the index that is kept.
type behindShard struct {
	shard
	key      index.Key
	group    *group // of a shard above
	searched int64  // records, by the kept counts
}

// behind lists the shards of which much is not kept, or much that is gone, and the space of their vectors.
func (f *file) behind(ctx context.Context) (due []behindShard, space loci.Space, err error) {
	if space, err = f.activeSpace(ctx); err != nil {
		return nil, space, err
	}
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, space, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	now, err := f.state(ctx, tx, space)
	if err != nil {
		return nil, space, err
	}
	var large []behindShard
	const counted = `SELECT t.namespace, t.kind, s.key, sum(t.searched) FROM tally t JOIN namespace s ON s.n = t.namespace
		WHERE t.live GROUP BY t.namespace, t.kind HAVING sum(t.searched) >= ? OR sum(t.searched) > 0 AND sum(t.bytes) >= ?`
	err = eachRow(ctx, tx, counted, []any{f.shelf.from, keptBytes}, func(rows *sql.Rows) error {
		var s behindShard
		var name []byte
		err := rows.Scan(&s.namespace, &s.kind, &name, &s.searched)
		s.key = index.Key{Namespace: string(name), Kind: s.kind}
		large = append(large, s)
		return err
	})
	if err != nil {
		return nil, space, err
	}
	_, groups, err := f.readPlan(ctx, tx)
	if err != nil {
		return nil, space, err
	}
	for _, g := range groups {
		large = append(large, behindShard{shard: g.shard, key: g.Key, group: g})
	}
	for _, s := range large {
		m, _, err := manifestOf(ctx, tx, s.shard)
		if err != nil {
			return nil, space, err
		}
		late := !m.follows(space, &now) || m.Upto > 0 || m.wastes(f.shelf.book)
		if s.group != nil {
			late, s.searched = late || !slices.Equal(m.Apart, s.group.Apart), int64(m.Held)
		}
		if !late && m.Last > 0 {
			if late, err = f.grown(ctx, tx, &s, m.Last); err != nil {
				return nil, space, err
			}
		}
		if late {
			due = append(due, s)
		}
	}
	return due, space, nil
}

// grown reports whether so much of a shard came since its index was kept that to keep it again costs less than to
// read that at each start. That is more where there is more already: small segments are merged with what came.
func (f *file) grown(ctx context.Context, tx *sql.Tx, s *behindShard, last int64) (bool, error) {
	much := min(int64(f.shelf.book/4), s.searched/8)
	much = max(much, int64(f.shelf.from+1)/2)
	var records, bytes int64
	in, args := s.within("r.namespace")
	came := "SELECT count(*), coalesce(sum(l), 0) FROM (SELECT octet_length(r.text) AS l FROM record r WHERE " +
		in + " AND r.kind = ? AND " + searchable + " AND r.n > ? LIMIT +?)"
	err := tx.QueryRowContext(ctx, came, append(args, string(s.kind), last, much)...).Scan(&records, &bytes)
	return records >= much || bytes >= keptBytes, err
}

// keepShard loads a shard for the folder alone.
func (f *file) keepShard(ctx context.Context, s behindShard, space loci.Space) error {
	x := &f.search
	one := &load{key: s.key, namespace: s.namespace, group: s.group, apart: true}
	one.index = one.empty(space)
	defer func() { one.release(x) }()
	for !one.whole {
		if f.keeper.left.Load() {
			return errLeft
		}
		var room bool
		fault, err := files.Faultless(func() (err error) {
			room, err = f.keepPart(ctx, one)
			return err
		})
		if fault != nil {
			f.faulted(fault)
			return fault
		}
		if err != nil || !room {
			return err
		}
	}
	f.endShelving(ctx, &one.shelving)
	return f.mapping(func() error { return f.renew(ctx, one) })
}

// renew has the index of the process take over a shard, in the place of what it has of that. A shard that it does not
// have it needs for no search, and where others wrote much, a search brings it to the file first.
func (f *file) renew(ctx context.Context, one *load) (err error) {
	x := &f.search
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.leaveWhole()
	has := func() bool {
		return x.index != nil && x.index.HasShard(one.key) && x.index.Space() == one.index.Space()
	}
	if !has() {
		return nil
	}
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	var changed int
	err = tx.QueryRowContext(ctx, changedSince, x.seq, maxFollowed+1).Scan(&changed)
	if err != nil || changed > maxFollowed {
		return err
	}
	if err := f.advance(ctx, tx, x.index.Space()); err != nil || !has() {
		return err
	}
	now, err := f.state(ctx, tx, x.index.Space())
	if err != nil || one.seq < max(now.floor, now.dropped) { // what was erased meanwhile is forgotten
		return err
	}
	if err := f.followOne(ctx, tx, one, since(one.seq)); err != nil {
		return err
	}
	x.index.Adopt(one.index)
	x.account()
	return nil
}

// keepPart reads the next part of a shard and keeps it. room is false where memory is short, or the disk.
func (f *file) keepPart(ctx context.Context, one *load) (room bool, err error) {
	defer f.search.loading.Crew.Turn()()
	if f.keeper.part != nil {
		f.keeper.part(one.key)
	}
	if err := f.readApart(ctx, one); err != nil {
		return false, err
	}
	if f.shelve(one); !one.whole {
		f.keepBegun(ctx, one)
	}
	size := one.index.Bytes()
	if one.index.Loose(one.key) >= f.shelf.book || !f.search.budget.spare(&f.search, size-one.size) {
		return false, nil
	}
	one.size = size
	return true, nil
}

func (f *file) readApart(ctx context.Context, one *load) (err error) {
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	now, err := f.state(ctx, tx, one.index.Space())
	if err != nil {
		return err
	}
	return f.readPart(ctx, tx, one, &now)
}
