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

// top keeps the limit best entries seen: a heap with the worst of them in front.
type top struct {
	limit int
	heap  worstFirst
}

type worstFirst []ranked

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[j].before(h[i]) }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(ranked)) }
func (h *worstFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// push adds an entry, dropping the worst one when there are too many.
func (t *top) push(r ranked) {
	if len(t.heap) < t.limit {
		heap.Push(&t.heap, r)
		return
	}
	t.heap[0] = r
	heap.Fix(&t.heap, 0)
}

// raise gives an entry that is there already the score of a better passage; it
// reports whether the entry was there.
func (t *top) raise(r ranked) bool {
	i := slices.IndexFunc(t.heap, func(h ranked) bool { return h.at == r.at })
	if i < 0 {
		return false
	}
	if r.score > t.heap[i].score {
		t.heap[i].score = r.score
		heap.Fix(&t.heap, i)
	}
	return true
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
