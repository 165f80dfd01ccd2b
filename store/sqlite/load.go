package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/loci-memory/loci/store/internal/index"
)

// Shards are loaded beside the searches that do not need them: each is read, in parts,
// into an index of its own, which the index takes over when it is whole. However many
// searches wait for a shard, it is loaded once; when none is waiting it stops, and
// goes on where it was when the next one asks.

// Bounds of loading.
const (
	maxLoaders  = 2       // of one file: other calls read, too
	loadRecords = 2048    // read in one transaction, so that the log can be cut behind it
	loadBytes   = 4 << 20 // of texts in one transaction
	loadShards  = 64      // begun in one transaction
)

// errAgain says that a search is to look again at what it needs.
var errAgain = errors.New("the index began again")

// A load is a shard on its way into the index.
type load struct {
	key       index.Key
	namespace int64

	// Of the worker that has it, or of nobody.
	index *index.Index
	seq   int64 // the state of the file from which on it must follow
	begun bool
	after int64 // the number of the last record read
	whole bool  // all are read
	read  int64 // records
	of    int64 // records in all
	size  int64 // that the budget counts

	shelving shelving

	// Guarded by the loading.
	waiting int  // searches
	queued  bool // it is in the queue, or a worker has it
	gone    bool // it is no more of use
	stale   bool // it may have made segments of what is erased: see shedShelved
	err     error
	done    chan struct{}
}

// loading is what is being loaded of one file.
type loading struct {
	mu      sync.Mutex
	loads   map[index.Key]*load
	queue   []*load
	pins    map[index.Key]int // searches that need a shard now
	free    chan struct{}     // closed when there are no pins; nil: nobody waits for that
	workers int
	running sync.WaitGroup
	closed  bool
	ctx     context.Context
	stop    context.CancelFunc
}

func (l *loading) init() {
	l.loads, l.pins = map[index.Key]*load{}, map[index.Key]int{}
	l.ctx, l.stop = context.WithCancel(context.Background())
}

// join asks for shards: what is not in the index is loaded. The caller holds the index's lock.
func (f *file) join(keys []index.Key) (t ticket) {
	x := &f.search
	l := &x.loading
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range keys {
		l.pins[key]++
		t.pinned = append(t.pinned, key)
		if x.index.HasShard(key) {
			continue
		}
		one := l.loads[key]
		if one == nil {
			one = &load{key: key, namespace: x.number[key.Namespace], done: make(chan struct{})}
			one.index = index.New(x.index.Space())
			one.index.AddShard(key)
			l.loads[key] = one
		}
		one.waiting++
		if !one.queued {
			one.queued = true
			l.queue = append(l.queue, one)
		}
		t.loads = append(t.loads, one)
	}
	for n := 0; n < len(l.queue) && l.workers < maxLoaders && !l.closed; n++ {
		l.workers++
		l.running.Go(f.loader)
	}
	return t
}

// leave gives a ticket back.
func (l *loading) leave(t ticket) {
	if len(t.pinned) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range t.loads {
		one.waiting--
	}
	for _, key := range t.pinned {
		if l.pins[key]--; l.pins[key] == 0 {
			delete(l.pins, key)
		}
	}
	if len(l.pins) == 0 && l.free != nil {
		close(l.free)
		l.free = nil
	}
}

func (l *loading) pinned(key index.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pins[key] > 0
}

// busy returns what is closed when no search waits for shards or holds some; nil: none does.
func (l *loading) busy() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pins) == 0 {
		return nil
	}
	if l.free == nil {
		l.free = make(chan struct{})
	}
	return l.free
}

// forget lets go of all loads: those who wait look again.
func (l *loading) forget(x *searchIndex) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		l.end(x, one, errAgain)
	}
}

// end takes a load out and tells those who wait for it. What it holds goes with it, unless
// a worker has it, who gives it back.
func (l *loading) end(x *searchIndex, one *load, err error) {
	if one.gone {
		return
	}
	one.gone, one.err = true, err
	delete(l.loads, one.key)
	close(one.done)
	if !one.queued {
		one.release(x)
	}
}

func (one *load) release(x *searchIndex) {
	x.budget.add(x, -one.size)
	one.size, one.index = 0, nil
	one.shelving.abandon()
}

// shed lets go of what is half loaded and nobody waits for, and returns its size.
func (l *loading) shed(x *searchIndex) (bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		if one.waiting == 0 && !one.queued {
			bytes += one.size
			l.end(x, one, errAgain)
		}
	}
	return bytes
}

// shedShelved lets go of what is half loaded, has made segments, and nobody waits for: no
// manifest names these yet, so that what is erased would stay in them.
func (l *loading) shedShelved(x *searchIndex) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		if one.queued { // a worker may have it
			one.stale = true
		} else if one.waiting == 0 && len(one.shelving.fresh) > 0 {
			l.end(x, one, errAgain)
		}
	}
}

// close ends the workers.
func (l *loading) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	l.running.Wait()
}

// next takes loads off the queue; none ends the worker.
func (l *loading) next(x *searchIndex) (batch []*load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && len(batch) < loadShards {
		one := l.queue[0]
		l.queue = l.queue[1:]
		if !one.gone && one.waiting > 0 {
			batch = append(batch, one)
			continue
		}
		one.queued = false
		if one.gone {
			one.release(x)
		} else if !one.begun || one.stale {
			l.end(x, one, errAgain)
		} // else what was read stays until the room is needed
	}
	if len(batch) == 0 {
		l.workers--
	}
	return batch
}

// later puts loads back in the queue, those that had their turn behind the others.
func (l *loading) later(first, last []*load) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.Concat(first, l.queue, last)
}

// loader loads shards until there is none to load.
func (f *file) loader() {
	for f.loadTurn() {
	}
}

// loadTurn reads a part of what is in the queue. Turns are few at once in the process, and
// short, so that whoever needs little waits little.
func (f *file) loadTurn() (more bool) {
	l := &f.search.loading
	select {
	case f.loaders <- struct{}{}:
		defer func() { <-f.loaders }()
	case <-l.ctx.Done():
	}
	batch := l.next(&f.search)
	if len(batch) == 0 {
		return false
	}
	first, last, whole, err := f.readParts(l.ctx, batch)
	var shelved []shelving
	if err == nil {
		for _, one := range slices.Concat(last, whole) {
			f.shelve(one)
		}
		last, whole = f.reserve(last), f.reserve(whole)
		shelved, err = f.install(l.ctx, whole)
	}
	for i := range shelved {
		f.endShelving(l.ctx, &shelved[i])
	}
	if err != nil {
		l.finish(&f.search, batch, err)
		return true
	}
	l.later(first, last)
	return true
}

// finish ends loads that a worker has, and tells all who wait for them.
func (l *loading) finish(x *searchIndex, batch []*load, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range batch {
		one.queued = false
		if one.gone {
			one.release(x)
		} else {
			l.end(x, one, err)
		}
	}
}

// readParts reads the next part of each load, in one reading transaction. first are those
// it did not get to, last those of which there is more, whole the others.
func (f *file) readParts(ctx context.Context, batch []*load) (first, last, whole []*load, err error) {
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	now, err := f.state(ctx, tx, batch[0].index.Space())
	if err != nil {
		return nil, nil, nil, err
	}
	var records int64
	for i, one := range batch {
		if records >= loadRecords {
			return batch[i:], last, whole, nil
		}
		if f.reading != nil {
			f.reading(one.key)
		}
		before := one.read
		if err := f.readPart(ctx, tx, one, &now); err != nil {
			return nil, nil, nil, err
		}
		records += one.read - before
		if one.whole {
			whole = append(whole, one)
		} else {
			last = append(last, one)
		}
	}
	return nil, last, whole, nil
}

// readPart reads the next part of a load.
func (f *file) readPart(ctx context.Context, tx *sql.Tx, one *load, now *fileState) error {
	if one.begun && one.seq < max(now.floor, now.dropped) { // too far behind to go on
		one.index.DropShard(one.key)
		one.index.AddShard(one.key)
		one.begun, one.whole, one.after, one.read = false, false, 0, 0
	}
	if !one.begun {
		kept, err := f.takeShelved(ctx, tx, one, now)
		if err != nil {
			return err
		}
		if one.begun, one.whole = true, kept; !kept {
			one.seq = now.seq
		}
	}
	if !one.whole {
		most := int64(min(loadRecords, f.shelf.book))
		args := []any{one.namespace, string(one.key.Kind), one.after, most}
		n, last, full, err := f.take(ctx, tx, one.index, inPart, loadBytes, args...)
		if err != nil {
			return err
		}
		one.read += n
		one.after = last
		one.whole = n < most && !full
		if !one.whole && one.of == 0 {
			const searched = "SELECT coalesce(sum(searched), 0) FROM tally WHERE namespace = ? AND kind = ?"
			if err := tx.QueryRowContext(ctx, searched, one.namespace, string(one.key.Kind)).Scan(&one.of); err != nil {
				return err
			}
		}
	}
	if one.whole && one.seq < now.seq {
		if err := f.followOne(ctx, tx, one); err != nil {
			return err
		}
		one.seq = now.seq
	}
	return nil
}

// inPart is the condition of the next records of a shard.
const inPart = inShard + " AND " + searchable + " AND r.n > ? ORDER BY r.n LIMIT ?"

// followOne takes in what changed of a shard that is read.
func (f *file) followOne(ctx context.Context, tx *sql.Tx, one *load) error {
	names := map[int64]string{one.namespace: one.key.Namespace}
	return f.follow(ctx, tx, one.index, one.seq, names, []any{string(one.key.Kind)})
}

// reserve counts what was read. What does not fit is refused, with the size that it has, or
// will have; it returns the others.
func (f *file) reserve(loads []*load) (fit []*load) {
	x := &f.search
	for _, one := range loads {
		size := one.index.Bytes()
		expected := size
		if !one.whole && one.read > 0 {
			expected = max(size, int64(float64(size)*float64(one.of)/float64(one.read)))
		}
		if expected <= x.budget.limit && x.budget.reserve(x, size-one.size) {
			one.size = size
			fit = append(fit, one)
			continue
		}
		x.loading.finish(x, []*load{one}, x.budget.refuse(expected))
	}
	return fit
}

// install brings loads that are whole to the state of the index, and into it.
func (f *file) install(ctx context.Context, whole []*load) (shelved []shelving, err error) {
	if len(whole) == 0 {
		return nil, nil
	}
	x := &f.search
	x.mu.Lock()
	defer x.mu.Unlock()
	tx, err := f.readDB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, endRead(tx)) }()
	if x.index != nil {
		if err := f.advance(ctx, tx, x.index.Space()); err != nil {
			return nil, err
		}
	}
	for _, one := range whole {
		if x.loading.isGone(one) {
			x.loading.finish(x, []*load{one}, errAgain)
			continue
		}
		if one.seq < x.seq {
			if err := f.followOne(ctx, tx, one); err != nil {
				return shelved, err
			}
		}
		shelved, one.shelving = append(shelved, one.shelving), shelving{}
		x.index.Adopt(one.index)
		x.meter.Loaded(1)
		x.touch(one.key)
		x.account()
		x.loading.finish(x, []*load{one}, nil)
	}
	return shelved, nil
}

func (l *loading) isGone(one *load) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one.gone
}

// detach takes a shard that is far behind the file out of the index, to be brought up to it
// beside the searches of others. The caller holds the index's lock.
func (x *searchIndex) detach(key index.Key) {
	if !x.index.HasShard(key) {
		return
	}
	one := &load{key: key, namespace: x.number[key.Namespace], index: x.index.Detach(key), seq: x.seq,
		begun: true, whole: true, done: make(chan struct{})}
	delete(x.used, key)
	x.account()
	one.size = one.index.Bytes()
	x.budget.add(x, one.size)
	x.loading.mu.Lock()
	defer x.loading.mu.Unlock()
	x.loading.loads[key] = one
}

// endRead ends a reading transaction.
func endRead(tx *sql.Tx) error {
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}
