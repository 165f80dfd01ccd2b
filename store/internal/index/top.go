package index

import (
	"bytes"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// ranked is an entry with the score it is ranked by.
type ranked struct {
	at      place
	score   float64
	created moment
	id      loci.ID
}

// A moment is a time without the pointer that it has: to sort values with one takes longer.
type moment struct{ seconds, nanoseconds int64 }

func momentOf(t time.Time) moment { return moment{t.Unix(), int64(t.Nanosecond())} }

// before is the order of results: by score, then newer first, then by id.
func (r *ranked) before(other *ranked) bool {
	if r.score != other.score {
		return r.score > other.score
	}
	if r.created != other.created {
		a, b := r.created, other.created
		return a.seconds > b.seconds || a.seconds == b.seconds && a.nanoseconds > b.nanoseconds
	}
	return bytes.Compare(r.id[:], other.id[:]) < 0
}

// top keeps the limit best entries seen, in a heap with the worst of them in
// front. It is written out because container/heap allocates for every entry.
type top struct {
	limit int
	heap  []ranked
}

// full reports whether a new entry must be better than the worst one.
func (t *top) full() bool { return len(t.heap) == t.limit }

// push adds an entry, in place of the worst one when the list is full.
func (t *top) push(r ranked) {
	if t.full() {
		t.heap[0] = r
		t.sink()
		return
	}
	t.heap = append(t.heap, r)
	for i := len(t.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !t.heap[parent].before(&t.heap[i]) {
			return
		}
		t.heap[i], t.heap[parent] = t.heap[parent], t.heap[i]
		i = parent
	}
}

// sink moves the entry in front away from it while one behind it is worse.
func (t *top) sink() {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.heap[worst].before(&t.heap[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[i], t.heap[worst] = t.heap[worst], t.heap[i]
		i = worst
	}
}

// sorted returns the entries, best first.
func (t *top) sorted() []place {
	slices.SortFunc(t.heap, func(a, b ranked) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	places := make([]place, len(t.heap))
	for i, r := range t.heap {
		places[i] = r.at
	}
	return places
}
