package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A looking bounds looks at graphs. Checkpoints count there as many as twenty values, beside those that they name.
type looking struct {
	list       int // values of one list of those that may have to go
	candidates int // of one look at a graph: 4 MiB of them, and as much again twice for a map
	step       int // what a step of such a look comes to
	page       int // checkpoints that are read at once
	window     int // among which those of runs are looked for at once
	few        int // that are looked at together, so that the values of each go with it
	atOnce     int // what that comes to
	replaced   int // and for a put that replaces values
}

var looks = looking{
	list: 4096, candidates: 1 << 18, step: 20_000, page: 100, window: 1000, few: 1000, atOnce: 40_000, replaced: 2_000,
}

// A collecting says how far the values of a graph are collected that no checkpoint names any more. Who erases
// checkpoints of a large graph, or puts one again, cannot see whether others name its values. It writes down lists of
// those that may have to go. One look at all checkpoints takes out of the lists what they name, in steps; then the rest
// goes. What the look has passed never names a value of its lists: a put behind it that takes one over takes it out.
// Lists that come meanwhile wait for the next look.
type collecting struct {
	Next   uint64 `json:"next"`             // the number of the next list
	Held   int    `json:"held"`             // what all lists have
	Upto   uint64 `json:"upto,omitempty"`   // the lists before it are those of the look; 0: none has begun
	After  []byte `json:"after,omitempty"`  // the slot of the last checkpoint that was looked at
	Walked bool   `json:"walked,omitempty"` // all were: what the lists still have goes
}

// candidatesBody is what a list says beside its values, whose ids are the text of its record.
type candidatesBody struct {
	Thread    string   `json:"thread"`
	Namespace string   `json:"ns,omitempty"`
	Gone      []string `json:"gone,omitempty"` // checkpoints that went, which their children are to lose
}

// newCollecting is that of a graph without lists. Numbers of later ones are greater.
func newCollecting(now time.Time) *collecting {
	return &collecting{Next: uint64(max(1, now.UnixMilli()))}
}

// collectingOf is how far the values of a graph are collected, or nil.
func collectingOf(thread *loci.Record) (*collecting, error) {
	if thread == nil || !bytes.Contains(thread.Body, []byte(`"collect":`)) { // as nearly all
		return nil, nil
	}
	var b threadBody
	err := loci.ReadBody(thread, &b)
	return b.Collect, err
}

// collects writes into the record of a graph how far its values are collected.
func collects(thread *loci.Record, g *collecting) error {
	var b threadBody
	if err := loci.ReadBody(thread, &b); err != nil {
		return err
	}
	b.Collect = g
	return loci.SetBody(thread, b)
}

func listSlot(graph string, number uint64) string {
	return graph + string(binary.BigEndian.AppendUint64(nil, number))
}

// suspect makes a change write down values that may have to go, and checkpoints that went.
func (c *Handle) suspect(
	change *loci.Change, g *collecting, thread, graph string, ids []loci.ID, gone []string, now time.Time,
) error {
	for first := true; first || len(ids) > 0; first = false {
		part := ids[:min(len(ids), looks.list)]
		ids = ids[len(part):]
		r := loci.Record{
			ID: c.m.NewID(), Kind: KindCandidates, Namespace: c.m.Namespace(), Version: 1, CreatedAt: now,
			UpdatedAt: now, Slot: listSlot(slotOf(thread, graph), g.Next), Text: textOf(part),
		}
		if err := loci.SetBody(&r, candidatesBody{thread, graph, gone}); err != nil {
			return err
		}
		change.Put = append(change.Put, loci.Put{Record: r})
		g.Next, g.Held, gone = g.Next+1, g.Held+len(part)+len(gone), nil
	}
	return nil
}

func textOf(ids []loci.ID) string {
	text := make([]byte, 0, len(ids)*len(loci.ID{}))
	for _, id := range ids {
		text = append(text, id[:]...)
	}
	return string(text)
}

// collect erases the values of a graph that no checkpoint names any more, of those that are in lists.
func (e *erasure) collect(ctx context.Context, thread, graph string) error {
	slots := loci.SlotsBeginning(slotOf(thread, graph))
	there, err := e.c.firstOf(ctx, KindCandidates, slots, 1, loci.Page{Brief: true})
	if err != nil || len(there) == 0 {
		return err
	}
	k := &collector{c: e.c, thread: thread, graph: graph}
	for more := true; more && !e.full(); {
		changed := false
		err := e.step(ctx, thread, graph, func(now time.Time) (change loci.Change, ends bool, err error) {
			more, changed = false, false
			r, g, err := k.current(ctx, now)
			if err != nil || g == nil {
				return change, false, err
			}
			more = true
			var left bool
			if g.Walked {
				left, err = k.erase(ctx, e, &change, g)
			} else {
				left, err = true, k.walk(ctx, e, &change, g, now)
			}
			if err != nil {
				return change, false, err
			}
			changed = true
			return change, false, k.mark(ctx, &change, r, g, left, now)
		})
		if err != nil {
			return err
		}
		if k.tried = false; changed {
			k.version++
		}
	}
	return nil
}

// current is the record of the thread and how far its values are collected, with the lists of the look.
func (k *collector) current(ctx context.Context, now time.Time) (*loci.Record, *collecting, error) {
	r, err := k.c.threadRecord(ctx, k.thread, k.graph)
	if err != nil {
		return nil, nil, err
	}
	g, err := collectingOf(r)
	if err != nil {
		return nil, nil, err
	}
	if g == nil {
		if g, err = k.forgotten(ctx, now); err != nil || g == nil {
			return nil, nil, err
		}
	}
	if !k.loaded || k.tried || r == nil || k.version != r.Version {
		if err := k.load(ctx, g); err != nil {
			return nil, nil, err
		}
	}
	k.loaded, k.tried = true, true
	if r != nil {
		k.version = r.Version
	}
	return r, g, nil
}

// forgotten is for lists of which the record of the thread knows nothing: an older build that knew none made it again.
func (k *collector) forgotten(ctx context.Context, now time.Time) (*collecting, error) {
	slots := loci.SlotsBeginning(slotOf(k.thread, k.graph))
	there, err := k.c.firstOf(ctx, KindCandidates, slots, 1, loci.Page{Brief: true})
	if err != nil || len(there) == 0 {
		return nil, err
	}
	return newCollecting(now), nil
}

// mark writes the record of the thread with a step. left says that lists of the look are left.
func (k *collector) mark(
	ctx context.Context, change *loci.Change, r *loci.Record, g *collecting, left bool, now time.Time,
) error {
	gone := false
	if !left {
		slots := loci.SlotsBeginning(slotOf(k.thread, k.graph))
		slots.From = listSlot(slotOf(k.thread, k.graph), g.Upto)
		later, err := k.c.firstOf(ctx, KindCandidates, slots, 1, loci.Page{Brief: true})
		if err != nil {
			return err
		}
		g.Upto, g.After, g.Walked, k.loaded = 0, nil, false, false
		if len(later) == 0 {
			g = nil
			slots := loci.SlotsBeginning(slotOf(k.thread, k.graph))
			there, err := k.c.firstOf(ctx, Kind, slots, 1, loci.Page{Brief: true})
			if err != nil {
				return err
			}
			gone = len(there) == 0
		}
	}
	typ := loci.EventUpdated
	if len(change.Erase) > 0 {
		typ = loci.EventErased
	}
	erased := len(change.Erase)
	if r == nil {
		if err := k.c.mark(change, nil, k.thread, k.graph, now, gone); err != nil || gone {
			k.c.account(change, nil, now)
			return err
		}
		r = &change.Put[len(change.Put)-1].Record
		if err := collects(r, g); err != nil {
			return err
		}
	} else {
		if err := collects(r, g); err != nil {
			return err
		}
		if err := k.c.mark(change, r, k.thread, k.graph, now, gone); err != nil {
			return err
		}
	}
	change.Events = []loci.Event{k.c.m.Event(typ, r, now, map[string]any{"records": erased})}
	return nil
}

// walk looks at the next checkpoints: what they name stays, and they lose a parent that went.
func (k *collector) walk(
	ctx context.Context, e *erasure, change *loci.Change, g *collecting, now time.Time,
) error {
	f := k.c.filter(Kind)
	f.Slots = loci.SlotsBeginning(slotOf(k.thread, k.graph))
	if len(g.After) > 0 {
		f.Slots.From = string(g.After) + "\x00"
	}
	size := 0
	for p := (loci.Page{Limit: looks.page, Order: loci.SlotAscending, NoText: true}); !g.Walked && size < looks.step; {
		records, next, err := k.c.m.Records(ctx, f, p)
		if err != nil {
			return err
		}
		for i := range records {
			s, err := readCheckpoint(&records[i])
			if err != nil {
				return err
			}
			for _, id := range s.Values {
				k.spare(id)
			}
			size += 20 + len(s.Values)
			if err := k.orphan(ctx, change, &s, now); err != nil {
				return err
			}
			g.After = []byte(s.record.Slot)
			if size >= looks.step || len(change.Put) >= stepRecords {
				size = looks.step
				break
			}
		}
		if p.Cursor = next; next == "" && size < looks.step {
			g.Walked, g.After = true, nil
		}
	}
	orphans := len(change.Put)
	written, err := k.write(change, g, now)
	e.look(size/20/lookWhole + orphans*lookOrphan + written*lookThread)
	return err
}

// orphan takes the parent that went from a checkpoint. One that was put again meanwhile is there.
func (k *collector) orphan(ctx context.Context, change *loci.Change, s *stored, now time.Time) error {
	if !k.gone[s.Parent] {
		return nil
	}
	there, err := k.c.at(ctx, Kind, slotOf(k.thread, k.graph, s.Parent), loci.Page{Brief: true})
	if err != nil || there != nil {
		return err
	}
	r, b := s.record, s.body
	b.Parent = ""
	if err := loci.SetBody(&r, b); err != nil {
		return err
	}
	r.Version, r.UpdatedAt = r.Version+1, now
	change.Put = append(change.Put, loci.Put{Record: r, SameText: true})
	return nil
}

// erase makes a change erase values of the lists, once all checkpoints were looked at, and lists of which nothing is
// left. left says that some are.
func (k *collector) erase(
	ctx context.Context, e *erasure, change *loci.Change, g *collecting,
) (left bool, err error) {
	size, going := e.sizer(), map[loci.ID]bool{} // a value may be in several lists
	for len(k.lists) > 0 && len(change.Erase) < stepRecords {
		l := k.lists[0]
		ids := l.ids[k.at:]
		ids = ids[:min(len(ids), stepRecords-len(change.Erase))]
		there, err := k.c.existing(ctx, ids)
		if err != nil {
			return false, err
		}
		there = slices.DeleteFunc(there, func(id loci.ID) bool { return going[id] })
		n, err := size.fit(ctx, KindValue, there)
		if err != nil {
			return false, err
		}
		k.c.eraseValues(change, there[:n])
		for _, id := range there[:n] {
			going[id] = true
		}
		e.look((len(ids) - n) / lookEach)
		if n < len(there) {
			k.at += slices.Index(ids, there[n])
			return true, nil
		}
		if k.at += len(ids); k.at < len(l.ids) {
			continue
		}
		change.Erase = append(change.Erase, loci.Erase{ID: l.record.ID, Version: l.record.Version})
		g.Held -= l.held()
		k.lists, k.at = k.lists[1:], 0
	}
	return len(k.lists) > 0, nil
}

// existing are those of some values that are there, in the same order.
func (c *Handle) existing(ctx context.Context, ids []loci.ID) (there []loci.ID, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	f := c.filter(KindValue)
	f.IDs = ids
	records, _, err := c.m.Records(ctx, f, loci.Page{Limit: len(ids), Brief: true})
	found := make(map[loci.ID]bool, len(records))
	for i := range records {
		found[records[i].ID] = true
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id loci.ID) bool { return !found[id] }), err
}
