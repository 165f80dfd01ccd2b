package checkpoint

import (
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// maxKnownValues bounds the values that a deletion remembers: 4 MiB. The others are found by their slots.
const maxKnownValues = 1 << 18

// A deletion takes a thread away, one namespace after the other.
type deletion struct {
	c      *Handle
	thread string

	// values are those of the checkpoints of a namespace that went. They are erased as they came, beside one
	// another in the store; by their slots, each channel would come by itself, from all over the place.
	values    []loci.ID
	sorted    bool
	prefix    string // of the slots of that namespace
	namespace string
	most      int      // values that are remembered
	channels  []string // from which values go, if there are more
	e         *erasure
}

// DeleteThread erases all checkpoints, values and writes of a thread and returns how many
// checkpoints it erased. A thread that does not exist is no error. A large thread is
// erased in several changes, of each graph the oldest first; if it was stopped half way, call it again.
func (c *Handle) DeleteThread(ctx context.Context, thread string) (erased int, err error) {
	return c.deleteThread(ctx, thread, maxKnownValues)
}

// deleteThread is DeleteThread with another bound for the values that it remembers.
func (c *Handle) deleteThread(ctx context.Context, thread string, most int) (erased int, err error) {
	if err := checkThread(thread); err != nil {
		return 0, err
	}
	all := c.begin("delete thread")
	if erased, err = all.deleteKnowing(ctx, thread, true, most); err != nil {
		return erased, err
	}
	return erased, all.settle(ctx)
}

// deleteThread erases a thread as a part of a call; last says that the call erases nothing after it.
func (e *erasure) deleteThread(ctx context.Context, thread string, last bool) (erased int, err error) {
	return e.deleteKnowing(ctx, thread, last, min(maxKnownValues, e.room))
}

func (e *erasure) deleteKnowing(ctx context.Context, thread string, last bool, most int) (erased int, err error) {
	p := deletion{e: e, c: e.c, thread: thread, most: most}
	for more := true; more && !e.full(); {
		var gone int
		err := e.step(ctx, thread, p.namespace, func(now time.Time) (change loci.Change, ends bool, err error) {
			change, gone, more, err = p.decide(ctx, now)
			return change, last && !more, err
		})
		if err != nil {
			return erased, err
		}
		erased += gone
	}
	return erased, nil
}

// stepThreads bounds the namespaces that one change takes away.
const stepThreads = 64

// decide takes a part of a thread away: namespaces with all that they have, and then what is in none.
func (p *deletion) decide(
	ctx context.Context, now time.Time,
) (change loci.Change, checkpoints int, more bool, err error) {
	slots := loci.SlotsBeginning(slotOf(p.thread))
	threads, err := p.c.firstOf(ctx, KindThread, slots, stepThreads, loci.Page{NoText: true})
	if err != nil {
		return change, 0, false, err
	}
	defer func() { p.c.account(&change, threads, now) }()
	for i := range threads {
		var b threadBody
		if err := loci.ReadBody(&threads[i], &b); err != nil {
			return change, 0, false, err
		}
		p.namespace = b.Namespace
		n, left, err := p.take(ctx, &change, slotOf(p.thread, b.Namespace), now)
		checkpoints += n
		if err == nil {
			err = p.c.mark(&change, &threads[i], p.thread, b.Namespace, now, !left)
		}
		if err != nil {
			return change, 0, false, err
		}
		if left || len(change.Erase) >= stepRecords {
			return change, checkpoints, true, nil
		}
	}
	if len(threads) == stepThreads {
		return change, checkpoints, true, nil
	}
	n, more, err := p.take(ctx, &change, slotOf(p.thread), now)
	return change, checkpoints + n, more, err
}

// take takes what has a slot that begins so: checkpoints first, so that what is left
// never refers to what is gone, then all the rest. more says that some of it is left.
func (p *deletion) take(
	ctx context.Context, change *loci.Change, prefix string, now time.Time,
) (checkpoints int, more bool, err error) {
	if p.prefix != prefix {
		p.prefix, p.values, p.channels = prefix, nil, nil
	}
	gone := map[loci.ID]bool{}
	if prefix == slotOf(p.thread) {
		for i := range change.Erase {
			gone[change.Erase[i].ID] = true
		}
	}
	for _, kind := range []loci.Kind{Kind, KindWrite, KindValue, KindCandidates} {
		room, size := max(0, stepRecords-len(change.Erase)), p.e.sizer()
		if kind == KindValue {
			known := p.known()
			n, err := size.fit(ctx, kind, known[:min(len(known), room)])
			if err != nil {
				return 0, false, err
			}
			if n < len(known) {
				p.c.eraseValues(change, known[:n])
				p.values = known[n:]
				return checkpoints, true, nil
			}
			p.values = nil // there is room for them, and for what no checkpoint names
		}
		page := loci.Page{Brief: true, Bodies: kind == Kind}
		slots := loci.SlotsBeginning(prefix)
		// Not all of a large thread is read for each change, and what goes with this one already is still there.
		records, err := p.c.firstOf(ctx, kind, slots, room+1+len(gone), page)
		if err != nil {
			return 0, false, err
		}
		records = slices.DeleteFunc(records, func(r loci.Record) bool { return gone[r.ID] })
		if len(records) > room && kind == KindValue && prefix != slotOf(p.thread) {
			// There are many. Those of one time go together.
			more = true
			list := &valueList{c: p.c, prefix: prefix, channels: p.channels}
			if records, err = list.next(ctx, room); err != nil {
				return 0, false, err
			}
			p.channels = list.channels
		}
		more = more || len(records) > room
		records = records[:min(room, len(records))]
		n, err := size.fit(ctx, kind, idsOf(records))
		if err != nil {
			return 0, false, err
		}
		more = more || n < len(records)
		records = records[:n]
		if kind == KindValue {
			slices.SortFunc(records, func(a, b loci.Record) int { return byID(a.ID, b.ID) })
		}
		for i := range records {
			r := &records[i]
			change.Erase = append(change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
			if kind != Kind {
				continue
			}
			checkpoints++
			change.Events = append(change.Events, p.c.m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version}))
			if err := p.remember(r); err != nil {
				return 0, false, err
			}
		}
		if more {
			return checkpoints, true, nil
		}
	}
	return checkpoints, more, nil
}

// remember notes the values of a checkpoint that goes.
func (p *deletion) remember(r *loci.Record) error {
	if len(p.values) >= p.most {
		return nil
	}
	s, err := readCheckpoint(r)
	for _, id := range s.Values {
		p.values = append(p.values, id)
	}
	p.sorted = false
	return err
}

// known are the values of the checkpoints that went, the oldest first. Some are not there any more when a change was
// refused because another call deletes the thread, too; each attempt takes those that it tried from the list.
func (p *deletion) known() []loci.ID {
	if !p.sorted { // once, not for each change
		slices.SortFunc(p.values, byID)
		p.values, p.sorted = slices.Compact(p.values), true
	}
	return p.values
}

// account gives a change that erases no checkpoint the event every change has.
func (c *Handle) account(change *loci.Change, threads []loci.Record, now time.Time) {
	if len(change.Events) > 0 || len(change.Erase) == 0 {
		return
	}
	about := loci.Record{ID: change.Erase[0].ID, Kind: KindWrite, Namespace: c.m.Namespace()}
	if len(threads) > 0 {
		about = threads[0]
	}
	change.Events = []loci.Event{c.m.Event(loci.EventErased, &about, now, map[string]any{"records": len(change.Erase)})}
}
