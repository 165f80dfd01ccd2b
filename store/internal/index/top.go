package index

import (
	"bytes"
	"cmp"
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

// momentAt is that of a time in milliseconds.
func momentAt(milli int64) moment {
	seconds := milli / 1000
	if milli%1000 < 0 {
		seconds--
	}
	return moment{seconds, (milli - seconds*1000) * 1e6}
}

func (a moment) compare(b moment) int {
	if a.seconds != b.seconds {
		return cmp.Compare(a.seconds, b.seconds)
	}
	return cmp.Compare(a.nanoseconds, b.nanoseconds)
}

// before is the order of results: by score, then newer first, then by id.
func (r *ranked) before(other *ranked) bool {
	if r.score != other.score {
		return r.score > other.score
	}
	if r.created != other.created {
		return r.created.compare(other.created) > 0
	}
	return bytes.Compare(r.id[:], other.id[:]) < 0
}

// top keeps the limit best entries seen, in a heap with the worst of them in
// front. It is written out because container/heap allocates for every entry.
type top struct {
	limit   int
	heap    []ranked
	inOrder bool // entries come with falling scores: the heap is a list, the best first
}

// worst is the one that a new entry takes the place of.
func (t *top) worst() *ranked {
	if t.inOrder {
		return &t.heap[len(t.heap)-1]
	}
	return &t.heap[0]
}

// append adds an entry behind those that have a greater score, in place of the last one when the list is full.
func (t *top) append(r ranked) {
	if !t.full() {
		t.heap = append(t.heap, r)
	}
	i := len(t.heap) - 1
	for ; i > 0 && r.before(&t.heap[i-1]); i-- {
		t.heap[i] = t.heap[i-1]
	}
	t.heap[i] = r
}

// full reports whether a new entry must be better than the worst one.
func (t *top) full() bool { return len(t.heap) == t.limit }

// push adds an entry, in place of the worst one when the list is full.
func (t *top) push(r ranked) {
	if t.inOrder {
		t.append(r)
		return
	}
	if t.full() {
		t.sink(&r)
		return
	}
	t.heap = append(t.heap, r)
	i := len(t.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !t.heap[parent].before(&r) {
			break
		}
		t.heap[i] = t.heap[parent]
		i = parent
	}
	t.heap[i] = r
}

// sink puts an entry into the place of the one in front, behind those that are worse: each of them moves once.
func (t *top) sink(r *ranked) {
	i, n := 0, len(t.heap)
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && t.heap[child].before(&t.heap[child+1]) {
			child++
		}
		if !r.before(&t.heap[child]) {
			break
		}
		t.heap[i] = t.heap[child]
		i = child
	}
	t.heap[i] = *r
}

// sorted returns the entries, best first. What is sorted are numbers: entries are large.
func (t *top) sorted() []place {
	if t.inOrder {
		places := make([]place, len(t.heap))
		for i := range t.heap {
			places[i] = t.heap[i].at
		}
		return places
	}
	order := make([]row, len(t.heap))
	for i := range order {
		order[i] = row{score: t.heap[i].score, part: i}
	}
	slices.SortFunc(order, func(a, b row) int {
		if a.score != b.score { // as most often
			return cmp.Compare(b.score, a.score)
		}
		if t.heap[a.part].before(&t.heap[b.part]) {
			return -1
		}
		return 1
	})
	places := make([]place, len(order))
	for n, r := range order {
		places[n] = t.heap[r.part].at
	}
	return places
}

// Arrange puts the value that is at order[n] to n, for each n. It leaves nothing of order.
func Arrange[T any](values []T, order []int) {
	for first := range order {
		if order[first] == first {
			continue
		}
		held, at := values[first], first
		for order[at] != first {
			from := order[at]
			values[at], order[at] = values[from], at
			at = from
		}
		values[at], order[at] = held, at
	}
}
