// Package aside loads shards of an index beside the searches that do not need them: each is read, in
// parts, into an index of its own, which the index takes over when it is whole. However many searches
// wait for a shard, it is loaded once; when none is waiting it stops, and goes on where it was when
// the next one asks (docs/adr/0046).
package aside

import (
	"context"
	"errors"

	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/index"
)

// Bounds of loading.
const (
	maxWorkers = 2  // of one index: other calls read, too
	maxBatch   = 64 // shards begun in one transaction
)

// ErrAgain says that a search is to look again at what it needs.
var ErrAgain = errors.New("the index began again")

// A Load is a shard on its way into the index.
type Load[T any] struct {
	Key index.Key
	Of  T // what was read: of the worker that has it, or of nobody

	// Guarded by the loads.
	waiting int  // searches
	queued  bool // it is in the queue, or a worker has it
	gone    bool // it is no more of use
	stale   bool // it is of no use to those who come later: see [Loads.Spoil]
	err     error
	done    chan struct{}
}

// A Crew is the goroutines that load, of a store or of one of its files.
type Crew struct {
	Grace time.Duration // how long what nobody waits for any more may go on: see [Loads.Attend]

	turns   chan struct{}
	ctx     context.Context
	stop    context.CancelFunc
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// Turns bound how many parts are read at once, by all crews that share them.
func Turns() chan struct{} { return make(chan struct{}, max(2, cores.Usable())) }

// NewCrew is a crew that shares turns.
func NewCrew(turns chan struct{}) *Crew {
	c := &Crew{Grace: 2 * time.Second, turns: turns}
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c
}

// Context ends when the crew is closed.
func (c *Crew) Context() context.Context { return c.ctx }

// Turn waits for a turn, or for the end of the crew. Turns are short, so that whoever needs
// little waits little.
func (c *Crew) Turn() (end func()) {
	select {
	case c.turns <- struct{}{}:
		return func() { <-c.turns }
	case <-c.ctx.Done():
		return func() {}
	}
}

// Wait waits until none of the crew is at work.
func (c *Crew) Wait() { c.running.Wait() }

// Close ends the crew.
func (c *Crew) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.running.Wait()
}

// Run has one of the crew do something until there is no more of it to do. false: the crew is closed.
func (c *Crew) Run(work func() (more bool)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(func() {
		cores.GiveWay()
		for work() {
		}
	})
	return true
}

// Beside has one of the crew do something that does not give way, as others wait for what it holds. It ends when its
// context does. false: the crew is closed.
func (c *Crew) Beside(work func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.running.Go(func() { work(c.ctx) })
	return true
}

// Loads are those of one index.
type Loads[T any] struct {
	Crew    *Crew
	Work    func() (more bool) // is one turn: what it takes by Next it gives back, by Later or Finish
	Begun   func(T) bool       // something was read that may be gone on with
	Release func(T)            // lets go of what was read

	mu      sync.Mutex
	loads   map[index.Key]*Load[T]
	queue   []*Load[T]
	under   map[*attended[T]]bool
	pins    map[index.Key]int // searches that need a shard now
	free    chan struct{}     // closed when there are no pins; nil: nobody waits for that
	workers int
}

// attended are loads that end when nobody waits for them.
type attended[T any] struct {
	loads  []*Load[T]
	cancel context.CancelFunc
	last   *time.Timer // ends the moment that is left
}

// Join asks for shards: those that the index does not have are loaded. The caller holds the
// index's lock.
func (l *Loads[T]) Join(keys []index.Key, has func(index.Key) bool, begin func(index.Key) T) (t Ticket[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loads == nil {
		l.loads, l.pins = map[index.Key]*Load[T]{}, map[index.Key]int{}
	}
	for _, key := range keys {
		l.pins[key]++
		t.pinned = append(t.pinned, key)
		if has(key) {
			continue
		}
		one := l.loads[key]
		if one == nil {
			one = &Load[T]{Key: key, Of: begin(key), done: make(chan struct{})}
			l.loads[key] = one
		}
		one.waiting++
		if !one.queued {
			one.queued = true
			l.queue = append(l.queue, one)
		}
		t.loads = append(t.loads, one)
	}
	for n := 0; n < len(l.queue) && l.workers < maxWorkers && l.Crew.Run(l.Work); n++ {
		l.workers++
	}
	return t
}

// Leave gives a ticket back.
func (l *Loads[T]) Leave(t Ticket[T]) {
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
	for a := range l.under {
		l.look(a)
	}
	if len(l.pins) == 0 && l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// Attend is a context that ends when nobody waits for any of some loads, a moment later: what is
// begun is mostly done by then, and of use to the next one who asks. end gives it back.
func (l *Loads[T]) Attend(loads []*Load[T]) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancel(l.Crew.ctx)
	a := &attended[T]{loads: loads, cancel: cancel}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.under == nil {
		l.under = map[*attended[T]]bool{}
	}
	l.under[a] = true
	l.look(a)
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.under, a)
		if a.last != nil {
			a.last.Stop()
		}
		cancel()
	}
}

// look ends what nobody waits for. The caller holds the lock.
func (l *Loads[T]) look(a *attended[T]) {
	waited := func(one *Load[T]) bool { return !one.gone && one.waiting > 0 }
	if a.last != nil || slices.ContainsFunc(a.loads, waited) {
		return
	}
	a.last = time.AfterFunc(l.Crew.Grace, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.last = nil; !slices.ContainsFunc(a.loads, waited) {
			a.cancel()
		}
	})
}

// Pinned reports whether a search needs a shard now.
func (l *Loads[T]) Pinned(key index.Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pins[key] > 0
}

// Needed reports whether a search needs any shard now.
func (l *Loads[T]) Needed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.pins) > 0
}

// Busy returns what is closed when no search waits for shards or holds some; nil: none does.
func (l *Loads[T]) Busy() <-chan struct{} {
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

// Put adds a load that nobody waits for yet.
func (l *Loads[T]) Put(key index.Key, of T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loads == nil {
		l.loads, l.pins = map[index.Key]*Load[T]{}, map[index.Key]int{}
	}
	l.loads[key] = &Load[T]{Key: key, Of: of, done: make(chan struct{})}
}

// Forget lets go of all loads: those who wait look again.
func (l *Loads[T]) Forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		l.end(one, ErrAgain)
	}
}

// end takes a load out and tells those who wait for it. What it holds goes with it, unless
// a worker has it, who gives it back.
func (l *Loads[T]) end(one *Load[T], err error) {
	if one.gone {
		return
	}
	one.gone, one.err = true, err
	delete(l.loads, one.Key)
	close(one.done)
	if !one.queued {
		l.Release(one.Of)
	}
}

// Shed lets go of what is half loaded and nobody waits for.
func (l *Loads[T]) Shed(before func(T)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		if one.waiting == 0 && !one.queued {
			before(one.Of)
			l.end(one, ErrAgain)
		}
	}
}

// Spoil lets go of what is half loaded, of those that are said to be stale and that nobody waits
// for, now or when a worker has done its part.
func (l *Loads[T]) Spoil(stale func(T) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.loads {
		if one.queued { // a worker may have it
			one.stale = true
		} else if one.waiting == 0 && stale(one.Of) {
			l.end(one, ErrAgain)
		}
	}
}

// Next takes loads off the queue; none ends the worker.
func (l *Loads[T]) Next() (batch []*Load[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 && len(batch) < maxBatch {
		one := l.queue[0]
		l.queue = l.queue[1:]
		if !one.gone && one.waiting > 0 {
			batch = append(batch, one)
			continue
		}
		one.queued = false
		if one.gone {
			l.Release(one.Of)
		} else if !l.Begun(one.Of) || one.stale {
			l.end(one, ErrAgain)
		} // else what was read stays until the room is needed
	}
	if len(batch) == 0 {
		l.workers--
	}
	return batch
}

// Later puts loads back in the queue, those that had their turn behind the others.
func (l *Loads[T]) Later(first, last []*Load[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.Concat(first, l.queue, last)
}

// Finish ends loads that a worker has, and tells all who wait for them.
func (l *Loads[T]) Finish(err error, batch ...*Load[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range batch {
		one.queued = false
		if one.gone {
			l.Release(one.Of)
		} else {
			l.end(one, err)
		}
	}
}

// Gone reports whether a load is of no more use.
func (l *Loads[T]) Gone(one *Load[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return one.gone
}
