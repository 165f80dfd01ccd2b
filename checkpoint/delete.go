package checkpoint

import (
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// maxKnownValues bounds the values that a deletion remembers: 4 MiB. The others are found by their slots.
const maxKnownValues = 1 << 18

// A deletion takes a thread away.
type deletion struct {
	c      *Handle
	thread string

	// values are those of the checkpoints that went. They are erased as they came, beside one another in
	// the store; by their slots, each channel would come by itself, from all over the place.
	values []loci.ID
	most   int // values that are remembered
}

// DeleteThread erases all checkpoints, values and writes of a thread and returns how many
// checkpoints it erased. A thread that does not exist is no error. A large thread is
// erased in several changes, the oldest first; if it was stopped half way, call it again.
func (c *Handle) DeleteThread(ctx context.Context, thread string) (erased int, err error) {
	return c.deleteThread(ctx, thread, maxKnownValues)
}

// deleteThread is DeleteThread with another bound for the values that it remembers.
func (c *Handle) deleteThread(ctx context.Context, thread string, most int) (erased int, err error) {
	if err := checkThread(thread); err != nil {
		return 0, err
	}
	p := deletion{c: c, thread: thread, most: most}
	for {
		type step struct {
			checkpoints int
			more        bool
		}
		s, err := loci.Commit(ctx, c.m, "delete thread", nil, func(now time.Time) (d loci.Decision[step], err error) {
			d.Change, d.Reply.checkpoints, d.Reply.more, err = p.decide(ctx, now)
			return d, err
		})
		erased += s.checkpoints
		if err != nil || !s.more {
			return erased, err
		}
	}
}

// decide takes away a part of a thread: checkpoints first, so that what is left
// never refers to what is gone, then all the rest.
func (p *deletion) decide(
	ctx context.Context, now time.Time,
) (change loci.Change, checkpoints int, more bool, err error) {
	slots := loci.SlotsBeginning(slotOf(p.thread))
	for _, kind := range []loci.Kind{Kind, KindWrite, KindValue} {
		room := dropRecords - len(change.Erase)
		if kind == KindValue {
			if known := p.known(); len(known) > room {
				p.c.eraseValues(&change, known[:room])
				p.values, more = known[room:], true
				continue
			}
			p.values = nil // there is room for them, and for what no checkpoint names
		}
		page := loci.Page{Brief: true, Bodies: kind == Kind}
		records, err := p.c.firstOf(ctx, kind, slots, room+1, page) // not all of a large thread in each change
		if err != nil {
			return change, 0, false, err
		}
		more = more || len(records) > room
		records = records[:min(room, len(records))]
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
				return change, 0, false, err
			}
		}
	}
	records, err := p.c.heads(ctx, KindThread, slots)
	if err != nil {
		return change, 0, false, err
	}
	for i := range records {
		var b threadBody
		if err := loci.ReadBody(&records[i], &b); err != nil {
			return change, 0, false, err
		}
		if err := p.c.mark(ctx, &change, p.thread, b.Namespace, now, !more); err != nil {
			return change, 0, false, err
		}
	}
	p.c.account(&change, records, now)
	return change, checkpoints, more, nil
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
	return err
}

// known are the values of the checkpoints that went, the oldest first. Some are not there any more when a change was
// refused because another call deletes the thread, too; each attempt takes those that it tried from the list.
func (p *deletion) known() []loci.ID {
	slices.SortFunc(p.values, byID)
	p.values = slices.Compact(p.values)
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
