package sqlite

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// DefaultIndexMemory is how many bytes the search indexes of a store may take.
const DefaultIndexMemory = 2 << 30

// A budget bounds the bytes that the search indexes of all files of a store take
// together. [aside.Claims] says who makes room when there is none.
type budget struct {
	limit int64
	clock atomic.Int64 // ticks with each search

	mu   sync.Mutex
	used int64
	held map[*searchIndex]int64

	apart atomic.Pointer[keeper] // whose pass is under way; it gives its room back where others lack some
}

func newBudget(limit int64) *budget { return &budget{limit: limit, held: map[*searchIndex]int64{}} }

// add counts what an index takes more, or less, whatever the limit is.
func (b *budget) add(x *searchIndex, more int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count(x, more)
}

func (b *budget) count(x *searchIndex, more int64) {
	b.used += more
	if b.held[x] += more; b.held[x] == 0 {
		delete(b.held, x)
	}
}

// reserve counts what an index takes more, if there is room, or room can be made.
func (b *budget) reserve(x *searchIndex, more int64) bool {
	b.makeRoom(more)
	b.mu.Lock()
	defer b.mu.Unlock()
	if more > 0 && b.used+more > b.limit {
		return false
	}
	b.count(x, more)
	return true
}

// spare counts what a load takes more that nobody waits for, if there is room for it and a quarter is left:
// nothing makes room for that.
func (b *budget) spare(x *searchIndex, more int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more > 0 && b.used+more > b.limit-b.limit/4 {
		return false
	}
	b.count(x, more)
	return true
}

// makeRoom drops what takes room until so much more fits, as far as that goes. The caller
// holds no index's lock.
func (b *budget) makeRoom(more int64) {
	for _, claim := range b.claims(more) {
		b.mu.Lock()
		lacking := b.used + more - b.limit
		b.mu.Unlock()
		if lacking <= 0 {
			return
		}
		// More than is needed, so that it is not done for each record.
		claim.Of.shed(min(lacking+b.limit/32, claim.Bytes))
	}
}

// claims lists the indexes that are to make room if there is none for so much more.
func (b *budget) claims(more int64) []aside.Claim[*searchIndex] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+more <= b.limit {
		return nil
	}
	if k := b.apart.Load(); k != nil {
		k.leave()
	}
	holders := make([]aside.Holder[*searchIndex], 0, len(b.held))
	for x, bytes := range b.held {
		last := time.Unix(0, x.searched.Load())
		holders = append(holders, aside.Holder[*searchIndex]{Of: x, Bytes: bytes, Searched: last})
	}
	return aside.Claims(holders, b.limit, time.Now())
}

// account tells the budget what the index takes now. The caller holds the lock.
func (x *searchIndex) account() {
	var now int64
	if x.index != nil {
		now = x.index.Bytes()
	}
	if now != x.accounted {
		x.budget.add(x, now-x.accounted)
		x.accounted = now
	}
}

// shed drops what was not searched for longest, and is not needed at the moment, until so
// many bytes are free, or nothing is left.
func (x *searchIndex) shed(bytes int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.loading.Shed(func(one *load) { bytes -= one.size })
	if x.index == nil {
		return
	}
	before := x.index.Bytes()
	x.index.Ungather()
	bytes -= before - x.index.Bytes()
	x.account()
	type held struct {
		key index.Key
		at  int64
	}
	x.scopes.Searched(&x.known, x.searchedAt)
	var all []held
	for key, at := range x.used {
		all = append(all, held{key, at.Load()})
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(a.at, b.at) })
	for _, h := range all {
		if bytes <= 0 {
			return
		}
		if x.loading.Pinned(h.key) {
			continue
		}
		before := x.index.Bytes()
		x.index.DropShard(h.key)
		x.meter.Dropped(1)
		delete(x.used, h.key)
		bytes -= before - x.index.Bytes()
		x.account()
	}
}

// close ends what is loaded, and gives its room back.
func (x *searchIndex) close() {
	x.loading.Crew.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index = nil
	x.loading.Forget()
	x.account()
}

// Work says what the store has done by itself, and what its index takes.
func (s *Store) Work() meter.Work {
	w := s.meter.Work()
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	w.IndexBytes, w.IndexLimit = s.budget.used, s.budget.limit
	return w
}
