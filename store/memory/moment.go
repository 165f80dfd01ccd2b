package memory

import (
	"bytes"
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// A moment is where a record is in the lists by time of its namespace, which are newest first.
type moment struct {
	namespace string
	createdAt time.Time
	id        loci.ID
}

func momentOf(r *loci.Record) moment { return moment{r.Namespace.Key(), r.CreatedAt, r.ID} }

// first and last are before and behind all moments of a namespace.
func first(namespace string) moment {
	return moment{namespace: namespace, createdAt: time.Unix(1<<40, 0)}
}
func last(namespace string) moment {
	return moment{namespace: namespace, createdAt: time.Unix(-1<<40, 0)}
}

func (m moment) before(o moment) bool {
	return cmp.Or(strings.Compare(m.namespace, o.namespace), m.inTime(&o)) < 0
}

func (m *moment) inTime(o *moment) int {
	return cmp.Or(o.createdAt.Compare(m.createdAt), bytes.Compare(m.id[:], o.id[:]))
}

// next is the moment that follows another one in its namespace, in an order by time.
func (d *tenant) next(m moment, order loci.Order) (found moment, ok bool) {
	look := func(o moment) bool {
		if o.namespace == m.namespace && o.inTime(&m) == 0 {
			return true // the one that is followed
		}
		found, ok = o, o.namespace == m.namespace
		return false
	}
	if order == loci.OldestFirst {
		d.moments.Descend(m, look)
	} else {
		d.moments.Ascend(m, look)
	}
	return found, ok
}

// reach lists the keys of the namespaces with records that a filter reaches, in order. It costs these, and not
// their records.
func (d *tenant) reach(f *loci.Filter) (keys []string) {
	for _, n := range f.Within {
		below := n.Key()
		for from, more := first(below), true; more; {
			more = false
			d.moments.Ascend(from, func(m moment) bool {
				if m.namespace == below || !f.Exact && strings.HasPrefix(m.namespace, below) {
					keys = append(keys, m.namespace)
					from, more = last(m.namespace), !f.Exact
				}
				return false
			})
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// inNamespace yields the records of a namespace, newest first.
func (d *tenant) inNamespace(key string) iter.Seq[*stored] {
	return func(yield func(*stored) bool) {
		d.moments.Ascend(first(key), func(m moment) bool { return m.namespace == key && yield(d.records[m.id]) })
	}
}

// inTime yields the records of all namespaces that a filter reaches, from a place on, in an order by time. What comes
// next is the first of the next ones of each namespace.
func (d *tenant) inTime(f *loci.Filter, after *page.Record, order loci.Order) iter.Seq[*stored] {
	return func(yield func(*stored) bool) {
		heads := &heads{order: order}
		for _, key := range d.reach(f) {
			from := first(key)
			if order == loci.OldestFirst {
				from = last(key)
			}
			if after != nil {
				from = moment{key, after.CreatedAt, after.ID}
			}
			if m, ok := d.next(from, order); ok {
				heads.all = append(heads.all, m)
			}
		}
		heap.Init(heads)
		for len(heads.all) > 0 {
			m := heads.all[0]
			if !yield(d.records[m.id]) {
				return
			}
			if following, ok := d.next(m, order); ok {
				heads.all[0] = following
				heap.Fix(heads, 0)
			} else {
				heap.Pop(heads)
			}
		}
	}
}

// heads is a heap of the next moment of each namespace.
type heads struct {
	all   []moment
	order loci.Order
}

func (h *heads) Len() int      { return len(h.all) }
func (h *heads) Swap(i, j int) { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *heads) Push(m any)    { h.all = append(h.all, m.(moment)) }

func (h *heads) Less(i, j int) bool {
	return (h.all[i].inTime(&h.all[j]) < 0) != (h.order == loci.OldestFirst)
}

func (h *heads) Pop() any {
	end := len(h.all) - 1
	m := h.all[end]
	h.all = h.all[:end]
	return m
}
