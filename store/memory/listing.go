package memory

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// Records implements [loci.RecordLister].
func (s *Store) Records(ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page) ([]loci.Record, string, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, "", err
	}
	limit, after, err := page.Records(p)
	if err != nil {
		return nil, "", err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	var out []loci.Record
	room := page.Room{Limit: limit, Bytes: p.MaxBytes}
	for r := range data.listed(&f, after, p.Order) {
		if after != nil && !after.Precedes(&r.Record, p.Order) {
			continue
		}
		shown := p.Shown(&r.Record)
		if !room.Takes(&shown) {
			return out, page.RecordCursor(&out[len(out)-1], p.Order), nil
		}
		out = append(out, clone(&shown))
	}
	return out, "", nil
}

// listed yields the records a filter selects, in an order. Those before the place
// after may be left out.
func (d *tenant) listed(f *loci.Filter, after *page.Record, order loci.Order) iter.Seq[*stored] {
	if order.BySlot() && f.Exact && len(f.Within) == 1 && len(f.Kinds) == 1 && len(f.IDs) == 0 {
		return func(yield func(*stored) bool) {
			for r := range d.inSlots(f, following(f.Slots, after, order), order == loci.SlotDescending) {
				if f.Selects(&r.Record) && !yield(r) {
					return
				}
			}
		}
	}
	if !order.BySlot() && !sought(f) {
		return func(yield func(*stored) bool) {
			for r := range d.inTime(f, after, order) {
				if f.Selects(&r.Record) && !yield(r) {
					return
				}
			}
		}
	}
	var out []*stored
	for r := range d.candidates(f) {
		if f.Selects(&r.Record) && (r.Slot != "" || !order.BySlot()) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *stored) int { return page.Compare(&a.Record, &b.Record, order) })
	return slices.Values(out)
}

// following is what of a range of slots, each held once, lies after a place or at it.
func following(s loci.SlotRange, after *page.Record, order loci.Order) loci.SlotRange {
	switch {
	case after == nil:
	case order == loci.SlotAscending:
		s.From = max(s.From, after.Slot)
	case s.To == "" || after.Slot < s.To:
		s.To = after.Slot
	}
	return s
}

// candidates yields records among which are all that a filter selects: by id or
// slot when it names them, so that a look at one record does not cost one at each.
func (d *tenant) candidates(f *loci.Filter) iter.Seq[*stored] {
	switch {
	case len(f.IDs) > 0:
		return d.withIDs(f.IDs)
	case f.Exact && len(f.Kinds) > 0 && f.Slot != nil && *f.Slot != "":
		return d.inSlots(f, loci.SlotRange{From: *f.Slot, To: *f.Slot + "\x00"}, false)
	case f.Exact && len(f.Kinds) > 0 && !f.Slots.IsZero():
		return d.inSlots(f, f.Slots, false)
	}
	return func(yield func(*stored) bool) {
		for _, l := range d.reach(f) {
			for r := range l.newestFirst() {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// sought reports whether a filter names its records by id or slot, so that they need not be looked for.
func sought(f *loci.Filter) bool {
	return len(f.IDs) > 0 || f.Exact && len(f.Kinds) > 0 && (f.Slot != nil && *f.Slot != "" || !f.Slots.IsZero())
}

// withIDs yields the records of some ids, each once.
func (d *tenant) withIDs(ids []loci.ID) iter.Seq[*stored] {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	return func(yield func(*stored) bool) {
		for _, id := range ids {
			if r := d.records[id]; r != nil && !yield(r) {
				return
			}
		}
	}
}

// inSlots yields the holders of a range of slots in the namespaces and kinds that a
// filter names, each once. Those of one namespace and kind come in order of slot.
func (d *tenant) inSlots(f *loci.Filter, slots loci.SlotRange, descending bool) iter.Seq[*stored] {
	type place struct {
		namespace string
		kind      loci.Kind
	}
	places := map[place]bool{}
	for _, n := range f.Within {
		for _, kind := range f.Kinds {
			places[place{n.Key(), kind}] = true
		}
	}
	return func(yield func(*stored) bool) {
		for p := range places {
			if !d.scan(p.namespace, p.kind, slots, descending, yield) {
				return
			}
		}
	}
}

// scan calls yield for the holders of a range of slots in a namespace and kind, in
// order, until it returns false; then so does scan.
func (d *tenant) scan(
	namespace string, kind loci.Kind, slots loci.SlotRange, descending bool, yield func(*stored) bool,
) bool {
	more := true
	visit := func(s slot) bool {
		if s.namespace != namespace || s.kind != kind {
			return false
		}
		if !slots.Contains(s.slot) {
			return descending && s.slot == slots.To // where a descent begins, itself excluded
		}
		more = yield(d.records[s.holder])
		return more
	}
	switch {
	case !descending:
		d.slots.Ascend(slot{namespace: namespace, kind: kind, slot: slots.From}, visit)
	case slots.To != "":
		d.slots.Descend(slot{namespace: namespace, kind: kind, slot: slots.To}, visit)
	default: // from the place of the next kind there could be
		d.slots.Descend(slot{namespace: namespace, kind: kind + "\x00"}, visit)
	}
	return more
}
