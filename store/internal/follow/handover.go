package follow

import (
	"bytes"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/form"
)

// What this process commits waits here for the next search, which takes it in instead of reading it
// back from the database. Whoever commits never waits for the index, which may be waiting for the
// database. A search reads the tenant's counter as ever, so that what others wrote is found as before:
// where anything is between, it reads all that came since.

// Bounds of what waits: nobody searches then, and the database has it all.
const (
	maxHandedRecords = 1000
	maxHandedBytes   = 4 << 20
)

// Up to how many bytes and records wait for the next search. What is more is taken in beside the calls that follow,
// since one search would pay for all that large imports wrote.
const (
	mostWaiting        = 256 << 10
	mostWaitingRecords = maxHandedRecords / 4
)

// handover holds commits in their order, without a gap, until the index takes them in.
type handover struct {
	mu      sync.Mutex
	wanted  bool // there is an index
	waiting []*batch.Handed
	records int
	bytes   atomic.Int64
	taken   int64 // up to which commits are being taken in, or were

	settling atomic.Bool // somebody takes in what waits, though nobody searches

	turns   chan struct{} // of those who look at the tenant's counter; see lookInTurn
	looks   atomic.Int64  // since the latest write of this process
	lookers atomic.Int64  // those who look, or wait for their turn
}

// sharedLooks is how many searches after a write of this process look in turn at most.
const sharedLooks = 64

// want begins to hold commits.
func (h *handover) want() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = true
}

// stop lets go of what waits and holds nothing more.
func (h *handover) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wanted = false
	h.clear()
}

func (h *handover) clear() {
	h.waiting, h.records, h.taken = nil, 0, 0
	h.bytes.Store(0)
}

// Handing reports whether the index wants what this process commits.
func (x *Index) Handing() bool {
	h := &x.handover
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wanted
}

// Hand hands a commit over, in the order of commits; it waits for no search. It reports whether so much waits
// that it is time for [Index.TakeMuch].
func (x *Index) Hand(c *batch.Handed) (much bool) {
	h := &x.handover
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.wanted {
		return false
	}
	if n := len(h.waiting); n > 0 && h.waiting[n-1].Seq+1 != c.Seq {
		h.clear() // somebody wrote between: a search has to read that, and then has these, too
	}
	h.records += len(c.Gone) + len(c.Came)
	if h.bytes.Add(c.Bytes) > maxHandedBytes || h.records > maxHandedRecords {
		h.wanted = false
		h.clear()
		return false
	}
	h.waiting = append(h.waiting, c)
	return h.much()
}

func (h *handover) much() bool { return h.bytes.Load() > mostWaiting || h.records > mostWaitingRecords }

// first is the counter of the commit that waits longest, if much waits; 0: it does not.
func (h *handover) first() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.waiting) == 0 || !h.much() {
		return 0
	}
	return h.waiting[0].Seq
}

// TakeMuch has the crew take in what waits, until that is little. Searches run between one commit and the next. q is
// asked for nothing.
func (x *Index) TakeMuch(q *Search) {
	h := &x.handover
	if !h.settling.CompareAndSwap(false, true) {
		return
	}
	latest := int64(0)
	takes := q.Crew.Run(func() (more bool) {
		defer q.Crew.Turn()()
		first := h.first()
		more = first > latest && q.Crew.Context().Err() == nil && x.takeOwnTo(q, first)
		latest = first
		if !more {
			h.settling.Store(false)
		}
		return more
	})
	if !takes {
		h.settling.Store(false)
	}
}

// Wrote notes a write of this process, so that the next search of it finds what was written,
// however stale it may be.
func (x *Index) Wrote(seq int64) {
	raise(&x.written, seq)
	x.handover.looks.Store(0)
}

// Behind reports that the index lacks a write of this process: a search has to take it in first. It asks for
// no lock: who finds another search taking something in looks whether that is more than it needs. A write that
// a search has looked for in vain counts no more: its commit failed, or the database went back.
func (x *Index) Behind() bool {
	written := x.written.Load()
	return x.shown.Load() < written && written != x.missing.Load()
}

// take takes over what was committed up to a counter.
func (h *handover) take(to int64) []*batch.Handed {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for ; n < len(h.waiting) && h.waiting[n].Seq <= to; n++ {
		h.records -= len(h.waiting[n].Gone) + len(h.waiting[n].Came)
		h.bytes.Add(-h.waiting[n].Bytes)
		h.taken = h.waiting[n].Seq
	}
	taken := h.waiting[:n:n]
	if h.waiting = h.waiting[n:]; len(h.waiting) == 0 {
		h.waiting = nil
	}
	return taken
}

// brings reports whether what waits, or is being taken in, brings an index from one counter to another
// one, or beyond.
func (h *handover) brings(from, to int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.waiting)
	if n == 0 {
		return h.taken >= to
	}
	return h.waiting[0].Seq <= max(from, h.taken)+1 && h.waiting[n-1].Seq >= to
}

// missed notes that what was taken is not in the index.
func (h *handover) missed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = 0
}

// turn waits until nobody else looks.
func (h *handover) turn(ctx context.Context) (leave func(), err error) {
	h.mu.Lock()
	if h.turns == nil {
		h.turns = make(chan struct{}, 1)
	}
	h.mu.Unlock()
	select {
	case h.turns <- struct{}{}:
		return func() { <-h.turns }, nil
	case <-ctx.Done():
		return nil, loci.AsError(ctx.Err())
	}
}

// takeHanded takes in what this process committed since the state of the index, up to a counter. It
// ends where something is missing between, or where the tenant is another one or the database went
// back. The caller holds the lock.
func (x *Index) takeHanded(to int64) {
	if x.index == nil {
		return
	}
	before := x.seq
	for _, c := range x.handover.take(to) {
		if c.Seq <= x.seq {
			continue // a search was quicker
		}
		if c.Seq != x.seq+1 || c.Line != x.line || !bytes.Equal(c.NameKey, x.nameKey) {
			x.handover.missed()
			break
		}
		x.takeCommit(c)
	}
	if x.seq > before {
		x.shown.Store(x.seq)
		x.shelveDue()
	}
}

// takeCommit takes in what follows the state of the index.
func (x *Index) takeCommit(c *batch.Handed) {
	for _, place := range c.Places {
		x.learnPlace(place)
	}
	for _, gone := range c.Gone {
		if key, known := x.place(gone.Place, gone.Kind); known || x.inGroups(gone.Kind) {
			x.forgetIn(key, known, gone.ID)
		}
	}
	space := x.index.Space()
	for i := range c.Came {
		came := &c.Came[i]
		x.index.UpsertPlaced(came.Record, form.SplitVectors(came.In(space), space.Dims), 0, came.Place)
	}
	x.seq = c.Seq
}

// takeOwn takes in what this process committed, and reports whether that was worth it.
func (x *Index) takeOwn(q *Search) bool { return x.takeOwnTo(q, math.MaxInt64) }

// takeOwnTo is takeOwn for what was committed up to a counter.
func (x *Index) takeOwnTo(q *Search, to int64) bool {
	shown := x.shown.Load()
	if !x.handover.brings(shown, shown+1) {
		return false
	}
	var ready []*publication
	fault, _ := files.Faultless(func() error {
		x.mu.Lock()
		defer x.mu.Unlock()
		defer x.leaveWhole()
		if x.takeHanded(to); x.index != nil {
			x.makeRoom(q.Meter, q.Budget)
			x.account()
			ready = x.takeReady()
		}
		return nil
	})
	if fault != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.faulted(fault)
		return false
	}
	q.Shelf.publish(q, ready)
	q.Trim(x)
	return true
}

// MatchPresent searches if the index shows the tenant's present state, which look reads, once this
// process's own commits are taken in. It asks the index while the state is on its way ([early]), or else when look
// has given its connection back: whoever takes in what others wrote has the index to itself, and may wait for a
// connection.
func (x *Index) MatchPresent(ctx context.Context, q *Search, look Look) (hits []loci.Hit, served bool, err error) {
	if x.Behind() && !x.handover.brings(x.shown.Load(), x.written.Load()) {
		return nil, false, nil // then it is not worth a round trip to ask by how much
	}
	var e early
	st, err := x.present(ctx, q, look, &e)
	switch {
	case err != nil:
		return nil, false, err
	case st == nil:
		return x.find(q, 0, func() bool { return x.caughtUp(q) })
	case e.answers(x, q, st):
		if named, err := x.nameHits(q, e.hits, e.epoch); named || err != nil {
			return e.hits, err == nil, err
		}
	}
	hits, served, err = x.Match(st, q)
	e.passed(x, served)
	return hits, served, err
}

// present reads the tenant's present state; nil: another search has done so since q began. e is the search that was
// made meanwhile.
func (x *Index) present(ctx context.Context, q *Search, look Look, e *early) (*batch.State, error) {
	h := &x.handover
	defer h.lookers.Add(-1)
	alone := h.lookers.Add(1) == 1
	var meanwhile func()
	if x.pass.Load() == 0 {
		meanwhile = func() { e.search(x, q) }
	}
	if h.looks.Add(1) > sharedLooks {
		return q.look(look, meanwhile)
	}
	if !alone { // others wait for the answer
		meanwhile = nil
	}
	return x.lookInTurn(ctx, q, look, meanwhile)
}

// look notes when it was looked.
func (q *Search) look(look Look, meanwhile func()) (*batch.State, error) {
	q.looked = q.now()
	st, err := look(meanwhile)
	return &st, err
}

// lookInTurn looks, and takes in what this process committed, unless another search has done so since q
// began: nil. Where many callers save and search, one looks for all who wait. Where nobody writes searches
// do not wait for one another. Who does something meanwhile takes in first, and leaves when the question is on
// its way: nobody waited then, and who comes later needs a look of its own.
func (x *Index) lookInTurn(ctx context.Context, q *Search, look Look, meanwhile func()) (*batch.State, error) {
	leave, err := x.handover.turn(ctx)
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	if time.Duration(x.seen.Load()) > q.at {
		return nil, nil
	}
	if do := meanwhile; do != nil {
		x.takeOwn(q)
		return q.look(look, func() { leave(); do() })
	}
	st, err := q.look(look, nil)
	if err != nil {
		return nil, err
	}
	x.takeOwn(q)
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.shows(st) {
		raise(&x.seen, int64(q.looked))
	}
	return st, nil
}
