package index

import (
	"bytes"
	"container/heap"
	"slices"

	"github.com/loci-memory/loci"
)

// ranked is an entry with the score it is ranked by.
type ranked struct {
	at     place
	score  float64
	record *loci.Record
}

// before is the order of results: by score, then newer first, then by id.
func (r ranked) before(other ranked) bool {
	if r.score != other.score {
		return r.score > other.score
	}
	if c := other.record.CreatedAt.Compare(r.record.CreatedAt); c != 0 {
		return c < 0
	}
	return bytes.Compare(r.record.ID[:], other.record.ID[:]) < 0
}

// top keeps the limit best entries seen: a heap with the worst of them in front,
// and where in it each entry is, since an entry with many passages comes often.
type top struct {
	limit int
	heap  []ranked
	at    map[place]int
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (t *top) Len() int           { return len(t.heap) }
func (t *top) Less(i, j int) bool { return t.heap[j].before(t.heap[i]) }
func (t *top) Swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.at[t.heap[i].at], t.at[t.heap[j].at] = i, j
}
func (t *top) Push(x any) {
	t.at[x.(ranked).at] = len(t.heap)
	t.heap = append(t.heap, x.(ranked))
}
func (t *top) Pop() any {
	last := t.heap[len(t.heap)-1]
	t.heap = t.heap[:len(t.heap)-1]
	delete(t.at, last.at)
	return last
}

// push adds an entry, dropping the worst one when there are too many.
func (t *top) push(r ranked) {
	if len(t.heap) < t.limit {
		heap.Push(t, r)
		return
	}
	delete(t.at, t.heap[0].at)
	t.heap[0], t.at[r.at] = r, 0
	heap.Fix(t, 0)
}

// raise gives an entry that is there already the score of a better passage; it
// reports whether the entry was there.
func (t *top) raise(r ranked) bool {
	i, ok := t.at[r.at]
	if ok && r.score > t.heap[i].score {
		t.heap[i].score = r.score
		heap.Fix(t, i)
	}
	return ok
}

// sorted returns the entries, best first.
func (t *top) sorted() []place {
	slices.SortFunc(t.heap, func(a, b ranked) int {
		if a.before(b) {
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
