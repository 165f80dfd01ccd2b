package checkpoint

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A candidates is a list as it was read.
type candidates struct {
	record  loci.Record // without its text
	ids     []loci.ID
	gone    []string
	changed bool // some of ids are spared
}

func (l *candidates) held() int { return len(l.ids) + len(l.gone) }

// A collector collects the values of a graph in steps. What it knows holds as long as the record of the thread stays
// as it left it.
type collector struct {
	c             *Handle
	thread, graph string
	loaded, tried bool
	version       int64 // of the thread's record

	lists []*candidates
	of    map[loci.ID]int32   // the list of each value that is not spared
	also  map[loci.ID][]int32 // further ones
	gone  map[string]bool
	at    int // how many values of the first list went
}

// load reads the lists of a look, or of the next one as many as it takes together.
func (k *collector) load(ctx context.Context, g *collecting) error {
	k.lists, k.of, k.also, k.gone, k.at = nil, map[loci.ID]int32{}, map[loci.ID][]int32{}, map[string]bool{}, 0
	f := k.c.filter(KindCandidates)
	f.Slots = loci.SlotsBeginning(slotOf(k.thread, k.graph))
	if g.Upto > 0 {
		f.Slots.To = listSlot(slotOf(k.thread, k.graph), g.Upto)
	}
	held := 0
	for p := (loci.Page{Limit: 16, Order: loci.SlotAscending}); ; {
		records, next, err := k.c.m.Records(ctx, f, p)
		if err != nil {
			return err
		}
		for i := range records {
			if g.Upto == 0 && held >= looks.candidates {
				g.Upto = numberOf(&records[i])
				return nil
			}
			if err := k.take(&records[i]); err != nil {
				return err
			}
			held += k.lists[len(k.lists)-1].held()
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	if g.Upto == 0 {
		g.Upto = g.Next
	}
	return nil
}

func numberOf(list *loci.Record) uint64 {
	return binary.BigEndian.Uint64([]byte(list.Slot[len(list.Slot)-8:]))
}

func (k *collector) take(r *loci.Record) error {
	var b candidatesBody
	if err := loci.ReadBody(r, &b); err != nil {
		return err
	}
	l, n := &candidates{record: *r, gone: b.Gone}, int32(len(k.lists))
	for text := []byte(r.Text); len(text) >= len(loci.ID{}); text = text[len(loci.ID{}):] {
		id := loci.ID(text[:len(loci.ID{})])
		l.ids = append(l.ids, id)
		if _, twice := k.of[id]; twice {
			k.also[id] = append(k.also[id], n)
			continue
		}
		k.of[id] = n
	}
	for _, id := range b.Gone {
		k.gone[id] = true
	}
	l.record.Text = ""
	k.lists = append(k.lists, l)
	return nil
}

// spare takes a value out of all lists.
func (k *collector) spare(id loci.ID) {
	n, listed := k.of[id]
	if !listed {
		return
	}
	k.lists[n].changed = true
	for _, n := range k.also[id] {
		k.lists[n].changed = true
	}
	delete(k.of, id)
	delete(k.also, id)
}

// write makes a change write the lists from which something was taken. It returns how many.
func (k *collector) write(change *loci.Change, g *collecting, now time.Time) (written int, err error) {
	for _, l := range k.lists {
		if !l.changed {
			continue
		}
		held := len(l.ids)
		l.ids = slices.DeleteFunc(l.ids, func(id loci.ID) bool { _, listed := k.of[id]; return !listed })
		l.changed, g.Held, written = false, g.Held-held+len(l.ids), written+1
		r := l.record
		r.Version, r.UpdatedAt, r.Text = r.Version+1, now, textOf(l.ids)
		l.record.Version, l.record.UpdatedAt = r.Version, now
		change.Put = append(change.Put, loci.Put{Record: r})
	}
	return written, nil
}

// takeOver is for a put behind a look that has not ended: what it takes over from a checkpoint before it, or from none,
// is in a list no longer. What it has of its own was looked at.
func (c *Handle) takeOver(
	ctx context.Context, change *loci.Change, thread *loci.Record, is, parent *body, now time.Time,
) error {
	g, err := collectingOf(thread)
	if err != nil || g == nil || g.Upto == 0 {
		return err
	}
	behind := func(b *body) bool { return g.Walked || slotOf(b.Thread, b.Namespace, b.ID) <= string(g.After) }
	if !behind(is) {
		return nil
	}
	safe := map[loci.ID]bool{}
	if parent != nil && behind(parent) {
		for _, id := range parent.Values {
			safe[id] = true
		}
	}
	for i := range change.Put {
		safe[change.Put[i].Record.ID] = true // it is new
	}
	taken := slices.DeleteFunc(slices.Collect(maps.Values(is.Values)), func(id loci.ID) bool { return safe[id] })
	if len(taken) == 0 {
		return nil
	}
	k := &collector{c: c, thread: is.Thread, graph: is.Namespace}
	if err := k.load(ctx, g); err != nil {
		return err
	}
	for _, id := range taken {
		k.spare(id)
	}
	if _, err := k.write(change, g, now); err != nil {
		return err
	}
	return collects(thread, g)
}

// forgetLists makes a change erase lists of a graph in which nothing but what it names is left.
func (c *Handle) forgetLists(
	ctx context.Context, change *loci.Change, thread *loci.Record, graph string,
) (more bool, err error) {
	g, err := collectingOf(thread)
	if err != nil || g == nil {
		return false, err
	}
	lists, err := c.firstOf(ctx, KindCandidates, loci.SlotsBeginning(graph), stepRecords+1, loci.Page{Brief: true})
	if err != nil {
		return false, err
	}
	for i := range lists[:min(len(lists), stepRecords)] {
		change.Erase = append(change.Erase, loci.Erase{ID: lists[i].ID, Version: lists[i].Version})
	}
	if len(lists) > stepRecords {
		return true, nil
	}
	return false, collects(thread, nil)
}
