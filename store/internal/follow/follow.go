// Package follow keeps the index of search of a tenant whose records are in a database that
// other servers write to: what they wrote is taken in before the next search, by the tenant's
// change counter.
package follow

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// A Source is a transaction that reads one tenant, all of it as of one moment.
type Source interface {
	// State returns the tenant's row, read by the transaction.
	State() (*batch.State, error)

	// Space returns the number of a vector space and the change counter at which vectors of
	// it were removed alone; zero for none.
	Space(loci.Space) (number, dropped int64, err error)

	// Spaces returns all vector spaces of the tenant by their numbers.
	Spaces() (map[int64]loci.Space, error)

	// Places calls take for the named namespaces that changed since a counter, unless it is
	// negative, and for all at and below some keys.
	Places(since int64, below []string, take func(batch.Place)) error

	// CountShard counts the searchable records of a kind in a namespace, up to limit.
	CountShard(namespace int64, kind loci.Kind, limit int) (int64, error)

	// Changes calls take for what changed since a counter, in order.
	Changes(since int64, take func(id loci.ID, namespace int64, kind loci.Kind, gone bool)) error

	// ByID calls take for searchable records, with their vectors of a space.
	ByID(space int64, ids []loci.ID, take Take) error

	// ByShard is ByID for up to limit records of a shard: those whose ids come after one, in that
	// order.
	ByShard(space, namespace int64, kind loci.Kind, after loci.ID, limit int, take Take) error
}

// Take takes a record, without the name of its namespace; vectors stays valid.
type Take func(record *loci.Record, namespace int64, vectors []byte)

// An Index is the index of a tenant in the process.
type Index struct {
	mu      sync.RWMutex
	index   *index.Index
	moment                              // that it shows
	known   index.Keys                  // the shards there are, as far as learned
	learned map[string]bool             // keys of namespaces below which every shard is known
	names   map[int64]string            // namespace number → key
	numbers map[string]int64            // key → namespace number
	large   map[index.Key]bool          // too large for a quick search to load
	used    map[index.Key]*atomic.Int64 // the shards that are loaded, with when they were searched last
	scopes  index.Scopes                // of which all are loaded
	tick    atomic.Int64
	fresh   []string // learned in a transaction that has not ended
	dirty   bool     // something was taken in, in a transaction that has not ended
	loads   loads
	shelving
	grouping
	keeping  keeping
	handover handover
	epoch    *byte        // another one each time the index begins again
	written  atomic.Int64 // the change counter of the latest write of this process
	missing  atomic.Int64 // such a counter that the database did not have; see Behind
	shown    atomic.Int64 // seq, to be read without the lock
	pass     atomic.Int32 // looks without an early search; see early
	seen     atomic.Int64 // when it was known that the index shows what the database has; see Clock
	bytes    atomic.Int64

	halfBytes atomic.Int64 // of what is half loaded
}

// A Search is what is looked for.
type Search struct {
	Probe  loci.Probe
	Filter loci.Filter
	Limit  int
	Load   func([]loci.ID) ([]loci.Record, error) // reads records in full, for filters on what no index holds
	Meter  *meter.Meter                           // counts what is loaded and dropped
	Tenant loci.Tenant
	Shelf  *Shelf                       // keeps the index in the database; nil: nothing does
	Crew   *Crew                        // loads what is lacking
	Budget int64                        // bytes that the indexes of all tenants may take
	Trim   func(at *Index) (held int64) // makes room, if the indexes of all tenants take too much; how many bytes they take then

	// Read runs do with a transaction that has begun since, and again if it has to; it returns when
	// the transaction has ended well.
	Read func(ctx context.Context, do func(Source) error) error

	// Stale is for how long after it was known that the index shows what the database has a
	// search may answer without a look at the tenant's counter; 0: it looks each time.
	Stale time.Duration
	Clock func() time.Duration // since some moment; nil: since the process began

	ctx    context.Context // of the call
	apart  bool            // nobody searches: see [keeping]
	only   *index.Key      // unless nil: the one group that is needed
	at     time.Duration   // when it began
	looked time.Duration   // when it began to read the tenant's counter
}

var begun = time.Now()

// now is the moment on the clock.
func (q *Search) now() time.Duration {
	if q.Clock != nil {
		return q.Clock()
	}
	return time.Since(begun)
}

// raise sets a number unless it is higher already.
func raise(n *atomic.Int64, to int64) {
	for old := n.Load(); to > old && !n.CompareAndSwap(old, to); old = n.Load() {
	}
}

// MatchStale searches without a look at the database, if a search may be so stale and the index
// has all that is needed, this process's own writes included.
func (x *Index) MatchStale(q *Search) (hits []loci.Hit, served bool, err error) {
	x.takeOwn(q)
	return x.find(q, 0, func() bool {
		seen := x.seen.Load()
		return x.index != nil && seen > 0 && q.now()-time.Duration(seen) <= q.Stale && x.seq >= x.written.Load()
	})
}

// Match searches if the index shows a state that was read and holds all that is needed. The
// index may already be ahead of what this call read; never behind.
func (x *Index) Match(st *batch.State, q *Search) (hits []loci.Hit, served bool, err error) {
	shows := func() bool { return x.shows(st) }
	at := max(q.at, q.looked)
	if hits, served, err = x.find(q, at, shows); err != nil || served || !x.takeOwn(q) {
		return hits, served, err
	}
	return x.find(q, at, shows)
}

// caughtUp reports whether the index was brought to a state that was read since a search began, by
// another one: where many write and search, one reads for all who wait. The caller holds the lock.
func (x *Index) caughtUp(q *Search) bool {
	return x.index != nil && time.Duration(x.seen.Load()) > q.at
}

// MatchAfter brings the index up to date first, and waits for what it lacks, which is loaded
// beside the searches of others.
func (x *Index) MatchAfter(ctx context.Context, q *Search) (hits []loci.Hit, err error) {
	var need ticket
	q.ctx = ctx
	defer func() {
		x.loads.Leave(need)
		if q.Shelf != nil && q.Shelf.Forget {
			if x.mu.TryLock() {
				x.drop(q.Meter)
				x.mu.Unlock()
			}
		}
	}()
	for faults := 0; faults < 2; { // after a fault once more, from the records
		before, busy := need, (<-chan struct{})(nil)
		need = ticket{}
		var st batch.State
		var ready []*publication
		shows, at := func() bool { return x.shows(&st) }, max(q.at, q.looked)
		err = faultless(func() (err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			defer x.leaveWhole()
			if x.caughtUp(q) && x.serves(q) {
				shows, at = func() bool { return x.caughtUp(q) }, 0 // perhaps before this search looked
				return nil
			}
			need, busy, err = x.bring(ctx, q, before.Pins(), &st)
			ready = x.takeReady()
			return err
		})
		x.loads.Leave(before)
		if errors.Is(err, errPlan) {
			q.Shelf.planNow(ctx, q.Tenant)
			err = aside.ErrAgain
		}
		if err != nil {
			need = ticket{}
		} else {
			q.Shelf.publish(q, ready)
			if busy != nil || need.Waits() {
				err = need.WaitAside(ctx, busy)
			}
			q.Trim(x)
		}
		if err == nil && busy == nil {
			served := false
			if hits, served, err = x.find(q, at, shows); err != nil || served {
				return hits, err
			}
			continue
		}
		if fault := faultOf(err); fault != nil {
			faults++
			x.mu.Lock()
			x.faulted(fault)
			x.mu.Unlock()
			err = fault
		} else if err != nil && !errors.Is(err, aside.ErrAgain) {
			return nil, err
		}
	}
	return nil, err
}

// takeReady takes over the images that are to be written.
func (x *Index) takeReady() (ready []*publication) {
	ready, x.ready = x.ready, nil
	return ready
}

// bring brings the index to the tenant's present state, which st is then, and asks for the shards
// that a search lacks. It reads under the index's lock, so that what it reads is no older than
// what the index shows. busy is not nil where the index must change its space and others still
// need it as it is: it is closed when they do not. pinned: the caller itself is one of them.
func (x *Index) bring(
	ctx context.Context, q *Search, pinned bool, st *batch.State,
) (need ticket, busy <-chan struct{}, err error) {
	at, written := q.now(), x.written.Load()
	x.handover.want() // before the state is read, so that nothing is between
	defer func() {
		if x.index == nil {
			x.handover.stop()
		}
	}()
	x.dirty, x.fresh = false, nil
	var keys []index.Key
	var toPlan bool
	if err := q.Read(ctx, func(r Source) error {
		x.undo() // of a transaction that did not end well
		if busy = x.busyFor(q, pinned); busy != nil {
			return nil
		}
		if keys, err = x.refresh(r, q, st); err == nil {
			toPlan = x.lacksPlan(q, st, keys)
		}
		return err
	}); err != nil {
		x.undo()
		return need, nil, err
	}
	if busy != nil {
		return need, busy, nil
	}
	x.fresh = nil
	if toPlan {
		return need, nil, errPlan
	}
	raise(&x.seen, int64(at))
	if x.seq < written {
		x.missing.Store(written)
	}
	for _, key := range keys {
		if x.index.HasShard(key) {
			x.touch(key)
		}
	}
	if need = x.join(q, keys); need.Waits() {
		x.keeping.leave()
	}
	x.makeRoom(q.Meter, q.Budget)
	x.account()
	return need, nil, nil
}

// busyFor returns what is closed when nobody needs the index as it is, if a search needs it in
// another space.
func (x *Index) busyFor(q *Search, pinned bool) <-chan struct{} {
	if pinned || x.index == nil || q.Probe.Vector == nil || q.Probe.Space == x.index.Space() {
		return nil
	}
	return x.loads.Busy()
}

// undo lets go of the index where something was taken in of a transaction that did not end well:
// the next search starts again.
func (x *Index) undo() {
	for _, key := range x.fresh {
		delete(x.learned, key)
	}
	x.fresh = nil
	if x.dirty {
		x.ready, x.dirty = nil, false
		x.lose()
	}
}

// A faultError is a fault of memory in a goroutine of its own.
type faultError struct{ fault error }

func (e *faultError) Error() string { return e.fault.Error() }

// account notes what the index holds. The caller holds the lock.
func (x *Index) account() {
	size := int64(0)
	if x.index != nil {
		size = x.index.Bytes()
	}
	x.bytes.Store(size)
}

// Bytes is how much memory the index takes, about, with what is half loaded and what waits to be taken in.
func (x *Index) Bytes() int64 { return x.bytes.Load() + x.halfBytes.Load() + x.handover.bytes.Load() }

// drop lets go of the index unless somebody waits for a part of it. The caller holds the lock.
func (x *Index) drop(m *meter.Meter) {
	if !x.loads.Needed() {
		if x.index != nil {
			m.Dropped(len(x.used))
		}
		x.lose()
	}
}

// lose lets go of the index and of what waits for it. The caller holds the lock.
func (x *Index) lose() {
	x.index = nil
	x.handover.stop()
	x.loads.Forget()
	x.account()
}

// shrink makes the index take no more than so many bytes, as far as that goes. The caller holds the
// lock.
func (x *Index) shrink(m *meter.Meter, to int64) {
	if x.index != nil {
		x.makeRoom(m, to)
		x.account()
	}
}

// makeRoom drops what waits to be taken in, what is half loaded and nobody waits for, and then the shards
// that were not searched for longest and are not needed now, while there is more than a limit. The caller
// holds the lock.
func (x *Index) makeRoom(m *meter.Meter, limit int64) {
	tooMuch := func() bool { return x.index.Bytes()+x.halfBytes.Load()+x.handover.bytes.Load() > limit }
	if tooMuch() {
		x.handover.stop()
		x.loads.Shed(func(*part) {})
	}
	if tooMuch() {
		x.index.Ungather()
		x.scopes.Searched(&x.known, x.searchedAt)
	}
	for tooMuch() {
		oldest, found := index.Key{}, false
		for key, at := range x.used {
			if (!found || at.Load() < x.used[oldest].Load()) && !x.loads.Pinned(key) {
				oldest, found = key, true
			}
		}
		if !found {
			return // all of it is needed at once
		}
		x.index.DropShard(oldest)
		m.Dropped(1)
		delete(x.used, oldest)
	}
}

// touch notes that a shard is in the index and was searched now.
func (x *Index) touch(key index.Key) {
	if x.used == nil {
		x.used = map[index.Key]*atomic.Int64{}
	}
	if x.used[key] == nil {
		x.used[key] = new(atomic.Int64)
	}
	x.used[key].Store(x.tick.Add(1))
}

// Trim makes room while all indexes take more than a budget ([aside.Claims]); each lists them.
// What is needed right now stays. It returns how many bytes are held then.
func Trim(at *Index, budget int64, m *meter.Meter, each func(do func(x *Index, used time.Time))) (held int64) {
	now := time.Now()
	holders := []aside.Holder[*Index]{{Of: at, Bytes: at.Bytes(), Searched: now}}
	held = at.Bytes()
	each(func(x *Index, used time.Time) {
		if its := x.Bytes(); x != at && its > 0 {
			holders, held = append(holders, aside.Holder[*Index]{Of: x, Bytes: its, Searched: used}), held+its
		}
	})
	if held <= budget {
		return held
	}
	for _, claim := range aside.Claims(holders, budget, now) {
		if held <= budget {
			break
		}
		x := claim.Of
		before := x.Bytes()
		if x == at {
			x.mu.Lock()
		} else if !x.mu.TryLock() { // it is searched right now
			continue
		}
		if x == at || claim.Bytes < before {
			x.shrink(m, before-min(claim.Bytes, held-budget))
		} else {
			x.drop(m)
		}
		x.mu.Unlock()
		held += x.Bytes() - before
	}
	return held
}

// shows reports whether the index is no older than a state.
func (x *Index) shows(st *batch.State) bool {
	return x.index != nil && x.moment.shows(st)
}

// hasLearned reports whether all shards at and below a namespace are known.
func (x *Index) hasLearned(key string) bool {
	for end := len(key); ; end = strings.LastIndexByte(key[:end-1], 0) + 1 {
		if x.learned[key[:end]] {
			return true
		}
		if end == 0 {
			return false
		}
	}
}
