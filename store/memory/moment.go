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
	"github.com/tidwall/btree"
)

// A lane is the records of a kind in a namespace. What asks for one kind does not look at those of others.
type lane struct {
	namespace string
	kind      loci.Kind
	records   *btree.BTreeG[moment] // newest first
}

func (l *lane) before(o *lane) bool {
	return cmp.Or(strings.Compare(l.namespace, o.namespace), strings.Compare(string(l.kind), string(o.kind))) < 0
}

// A moment is where a record is in the list of its lane. The record is at hand there: to look for each by its id takes
// longer than what is asked of it.
type moment struct {
	createdAt time.Time
	id        loci.ID
	record    *stored
}

func momentOf(r *stored) moment { return moment{r.CreatedAt, r.ID, r} }

func (m moment) before(o moment) bool { return m.inTime(&o) < 0 }

func (m *moment) inTime(o *moment) int {
	return cmp.Or(o.createdAt.Compare(m.createdAt), bytes.Compare(m.id[:], o.id[:]))
}

// joinLane puts a record into its lane.
func (d *tenant) joinLane(r *stored) {
	l := &lane{namespace: r.Namespace.Key(), kind: r.Kind}
	if there, ok := d.lanes.Get(l); ok {
		l = there
	} else {
		l.records = ordered(moment.before)
		d.lanes.Set(l)
	}
	l.records.Set(momentOf(r))
}

// leaveLane takes a record out of its lane.
func (d *tenant) leaveLane(r *stored) {
	l, _ := d.lanes.Get(&lane{namespace: r.Namespace.Key(), kind: r.Kind})
	if l.records.Delete(momentOf(r)); l.records.Len() == 0 {
		d.lanes.Delete(l)
	}
}

// reach lists the lanes that a filter reaches, in order. It costs these, and not their records.
func (d *tenant) reach(f *loci.Filter) (lanes []*lane) {
	for _, n := range f.Within {
		below := n.Key()
		d.lanes.Ascend(&lane{namespace: below}, func(l *lane) bool {
			if l.namespace != below && (f.Exact || !strings.HasPrefix(l.namespace, below)) {
				return false
			}
			if len(f.Kinds) == 0 || slices.Contains(f.Kinds, l.kind) {
				lanes = append(lanes, l)
			}
			return true
		})
	}
	if len(f.Within) > 1 { // one may be in another
		slices.SortFunc(lanes, func(a, b *lane) int {
			return cmp.Or(strings.Compare(a.namespace, b.namespace), strings.Compare(string(a.kind), string(b.kind)))
		})
		lanes = slices.Compact(lanes)
	}
	return lanes
}

// newestFirst yields the records of a lane.
func (l *lane) newestFirst() iter.Seq[*stored] {
	return func(yield func(*stored) bool) {
		l.records.Scan(func(m moment) bool { return yield(m.record) })
	}
}

// holds reports whether a lane has a record that a filter selects.
func (l *lane) holds(f *loci.Filter) bool {
	for r := range l.newestFirst() {
		if f.Selects(&r.Record) {
			return true
		}
	}
	return false
}

// inTime yields the records of all lanes that a filter reaches, from a place on, in an order by time. What comes next
// is the first of the next ones of each lane.
func (d *tenant) inTime(f *loci.Filter, after *page.Record, order loci.Order) iter.Seq[*stored] {
	return func(yield func(*stored) bool) {
		heads := &heads{order: order}
		for _, l := range d.reach(f) {
			if h := (&head{at: l.records.Iter()}); h.begin(after, order) {
				heads.all = append(heads.all, h)
			}
		}
		heap.Init(heads)
		for len(heads.all) > 0 {
			h := heads.all[0]
			if !yield(h.moment.record) {
				return
			}
			if h.follow(order) {
				heap.Fix(heads, 0)
			} else {
				heap.Pop(heads)
			}
		}
	}
}

// A head is the next moment of a lane.
type head struct {
	at     btree.IterG[moment]
	moment moment
}

// begin goes to a moment with which what is behind a place begins, or to the one before that; nil: to the first one.
func (h *head) begin(after *page.Record, order loci.Order) (ok bool) {
	oldest := order == loci.OldestFirst
	if after != nil {
		ok = h.at.Seek(moment{createdAt: after.CreatedAt, id: after.ID})
	}
	switch {
	case ok:
	case oldest: // all are behind the place
		ok = h.at.Last()
	case after == nil:
		ok = h.at.First()
	}
	if ok {
		h.moment = h.at.Item()
	}
	return ok
}

// follow goes on to the next moment.
func (h *head) follow(order loci.Order) bool {
	if !h.step(order == loci.OldestFirst) {
		return false
	}
	h.moment = h.at.Item()
	return true
}

func (h *head) step(back bool) bool {
	if back {
		return h.at.Prev()
	}
	return h.at.Next()
}

// heads is a heap of the next moment of each lane.
type heads struct {
	all   []*head
	order loci.Order
}

func (h *heads) Len() int      { return len(h.all) }
func (h *heads) Swap(i, j int) { h.all[i], h.all[j] = h.all[j], h.all[i] }
func (h *heads) Push(m any)    { h.all = append(h.all, m.(*head)) }

func (h *heads) Less(i, j int) bool {
	return (h.all[i].moment.inTime(&h.all[j].moment) < 0) != (h.order == loci.OldestFirst)
}

func (h *heads) Pop() any {
	end := len(h.all) - 1
	h.all = h.all[:end]
	return nil
}
