// Package follow keeps the index of search of a tenant whose records are in a database that
// other servers write to: what they wrote is taken in before the next search, by the tenant's
// change counter.
package follow

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
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

	// Places calls take for the named namespaces that changed since a counter, unless it is
	// negative, and for all at and below some keys.
	Places(since int64, below []string, take func(batch.Place)) error

	// CountShard counts the searchable records of a kind in a namespace, up to limit.
	CountShard(namespace int64, kind loci.Kind, limit int) (int64, error)

	// Changes calls take for what changed since a counter, in order.
	Changes(since int64, take func(id loci.ID, namespace int64, kind loci.Kind, gone bool)) error

	// ByID and ByShard call take for searchable records, with their vectors of a space.
	ByID(space int64, ids []loci.ID, take Take) error
	ByShard(space, namespace int64, kind loci.Kind, take Take) error
}

// Take takes a record, without the name of its namespace; vectors stays valid.
type Take func(record *loci.Record, namespace int64, vectors []byte)

// An Index is the index of a tenant in the process.
type Index struct {
	mu      sync.RWMutex
	index   *index.Index
	nameKey loci.NameKey         // of the tenant whose state it shows; another one after an erase
	seq     int64                // the state it shows
	line    int64                // how often the database went back before
	known   index.Keys           // the shards there are, as far as learned
	learned map[string]bool      // keys of namespaces below which every shard is known
	names   map[int64]string     // namespace number → key
	numbers map[string]int64     // key → namespace number
	large   map[index.Key]bool   // too large for a quick search to load
	used    map[index.Key]uint64 // when a loaded shard was searched last
	tick    uint64
	shelving
	epoch   *byte        // another one each time the index begins again
	written atomic.Int64 // the change counter of the latest write of this process
	seen    atomic.Int64 // when it was known that the index shows what the database has; see Clock
	held    atomic.Int64 // passages
	bytes   atomic.Int64
	shards  atomic.Int64
}

// A Search is what is looked for.
type Search struct {
	Probe  loci.Probe
	Filter loci.Filter
	Limit  int
	Load   func([]loci.ID) ([]loci.Record, error) // reads records in full, for filters on what no index holds
	Meter  *meter.Meter                           // counts what is loaded and dropped
	Tenant loci.Tenant
	Shelf  *Shelf // keeps the index in the database; nil: nothing does

	// Stale is for how long after it was known that the index shows what the database has a
	// search may answer without a look at the tenant's counter; 0: it looks each time.
	Stale time.Duration
	Clock func() time.Duration // since some moment; nil: since the process began

	at time.Duration // when it began
}

var begun = time.Now()

// now is the moment on the clock.
func (q *Search) now() time.Duration {
	if q.Clock != nil {
		return q.Clock()
	}
	return time.Since(begun)
}

// Begin notes that a search begins: what it reads from now on is of no earlier moment.
func (q *Search) Begin() { q.at = q.now() }

// Wrote notes a write of this process, so that the next search of it finds what was written,
// however stale it may be.
func (x *Index) Wrote(seq int64) { raise(&x.written, seq) }

// raise sets a number unless it is higher already.
func raise(n *atomic.Int64, to int64) {
	for old := n.Load(); to > old && !n.CompareAndSwap(old, to); old = n.Load() {
	}
}

// MatchStale searches without a look at the database, if a search may be so stale and the index
// has all that is needed, this process's own writes included.
func (x *Index) MatchStale(q *Search) (hits []loci.Hit, served bool, err error) {
	fault, err := files.Faultless(func() (err error) {
		x.mu.RLock()
		defer x.mu.RUnlock()
		seen := x.seen.Load()
		served = x.index != nil && seen > 0 && q.now()-time.Duration(seen) <= q.Stale &&
			x.seq >= x.written.Load() && x.serves(&q.Probe, &q.Filter)
		if served {
			hits, err = x.index.Match(q.Probe, q.Filter, q.Limit, q.Load)
		}
		return err
	})
	if fault != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.faulted(fault)
		return nil, false, nil
	}
	return hits, served, err
}

// Match searches if the index shows a state that was read and holds all that is needed. The
// index may already be ahead of what this call read; never behind.
func (x *Index) Match(st *batch.State, q *Search) (hits []loci.Hit, served bool, err error) {
	fault, err := files.Faultless(func() (err error) {
		x.mu.RLock()
		defer x.mu.RUnlock()
		if served = x.shows(st) && x.serves(&q.Probe, &q.Filter); served {
			raise(&x.seen, int64(q.at))
			hits, err = x.index.Match(q.Probe, q.Filter, q.Limit, q.Load)
		}
		return err
	})
	if fault != nil { // somebody cut a file that is mapped
		x.mu.Lock()
		defer x.mu.Unlock()
		x.faulted(fault)
		return nil, false, nil
	}
	return hits, served, err
}

// MatchAfter brings the index up to date first. read begins a transaction, under the index's
// lock, so that it is no older than what the index shows, and returns when it has ended well;
// trim is called while passages are held.
func (x *Index) MatchAfter(
	read func(do func(Source) error) error, q *Search, budget int, trim func(),
) (hits []loci.Hit, err error) {
	for range 2 { // after a fault once more, from the records
		hits, err = nil, nil
		var ready []*publication
		fault, failed := files.Faultless(func() (err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			defer func() { ready = x.takeReady() }()
			hits, err = x.matchAfter(read, q, budget, trim)
			return err
		})
		if failed == nil && fault == nil && len(ready) > 0 {
			q.Shelf.publish(q.Tenant, ready)
		}
		if q.Shelf != nil && q.Shelf.Forget {
			x.Drop()
		}
		var inside *faultError
		if errors.As(failed, &inside) {
			fault = inside.fault
		}
		if err = failed; fault == nil {
			return hits, err
		}
		x.mu.Lock()
		x.faulted(fault)
		x.mu.Unlock()
		err = fault
	}
	return nil, err
}

// takeReady takes over the images that are to be written.
func (x *Index) takeReady() (ready []*publication) {
	ready, x.ready = x.ready, nil
	return ready
}

func (x *Index) matchAfter(
	read func(do func(Source) error) error, q *Search, budget int, trim func(),
) (hits []loci.Hit, err error) {
	at, again := q.now(), false
	if err := read(func(r Source) error {
		if again {
			x.index = nil // half-loaded, or of a transaction that did not end well
		}
		again = true
		return x.refresh(r, q, budget)
	}); err != nil {
		x.index, x.ready = nil, nil // likewise: the next search starts again
		x.empty()
		return nil, err
	}
	raise(&x.seen, int64(at))
	x.held.Store(int64(x.index.Passages()))
	x.shards.Store(int64(len(x.used)))
	x.bytes.Store(x.index.Bytes())
	trim()
	return x.index.Match(q.Probe, q.Filter, q.Limit, q.Load)
}

// A faultError is a fault of memory in a goroutine of its own.
type faultError struct{ fault error }

func (e *faultError) Error() string { return e.fault.Error() }

// empty notes that nothing is held.
func (x *Index) empty() {
	x.held.Store(0)
	x.bytes.Store(0)
	x.shards.Store(0)
}

// PassageBytes is what a passage takes in memory, about: limits count passages.
const PassageBytes = 500

// Bytes is how much memory the index takes, about, as of the last change of it.
func (x *Index) Bytes() int64 { return x.bytes.Load() }

// Held is how many passages the index holds, about.
func (x *Index) Held() int64 { return x.held.Load() }

// Drop lets go of the index unless it is searched right now.
func (x *Index) Drop() {
	x.empty()
	if x.mu.TryLock() { // else it will be counted again
		x.index = nil
		x.mu.Unlock()
	}
}

// Trim drops the indexes that were not asked for longest while all hold more than a budget;
// each lists them. The one at hand stays.
func Trim(at *Index, budget int, m *meter.Meter, each func(do func(x *Index, used int64))) {
	type seen struct {
		x    *Index
		used int64
	}
	var others []seen
	sum := at.Held()
	each(func(x *Index, used int64) {
		if held := x.Held(); x != at && held > 0 {
			others, sum = append(others, seen{x, used}), sum+held
		}
	})
	for sum > int64(budget) && len(others) > 0 {
		oldest := 0
		for i := range others {
			if others[i].used < others[oldest].used {
				oldest = i
			}
		}
		sum -= others[oldest].x.Held()
		m.Dropped(int(others[oldest].x.shards.Load()))
		others[oldest].x.Drop()
		others = append(others[:oldest], others[oldest+1:]...)
	}
}

// shows reports whether the index is no older than a state.
func (x *Index) shows(st *batch.State) bool {
	return x.index != nil && x.seq >= st.Seq && x.line == st.Line && bytes.Equal(x.nameKey, st.NameKey)
}

// serves reports whether the index holds all that a search needs.
func (x *Index) serves(p *loci.Probe, filter *loci.Filter) bool {
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
