package loci

import (
	"context"
	"fmt"
	"time"
)

// Bounds of a copy that is one change, and of the parts of a larger one.
const (
	copyRecords = 5000
	copyBytes   = 64 << 20
	copyPart    = 16 << 20 // bytes of texts in a part
)

// CopyThread copies all checkpoints of a thread, with their values and writes, and
// returns how many there are. NotFound: the thread has none. Conflict: the target has
// some; delete it first. Up to 5,000 records of 64 MiB are one change; beyond that
// values and writes come first and checkpoints in order, so that a copy that was
// stopped is a shorter history.
func (c *Checkpoints) CopyThread(ctx context.Context, from, to string) (copied int, err error) {
	if err := checkThread(from); err != nil {
		return 0, err
	}
	if err := checkName("target_thread_id", to, MaxThreadBytes, false); err != nil {
		return 0, err
	}
	if from == to {
		return 0, Errorf(Invalid, "a thread cannot be copied to itself: name another target")
	}
	whole, err := c.copiesWhole(ctx, from)
	if err != nil {
		return 0, err
	}
	if whole {
		return commit(ctx, c.m.plain(), "copy thread", nil, func(now time.Time) (d decision[int], err error) {
			p := copier{c: c, from: from, to: to, now: now, ids: map[ID]ID{}}
			err = p.run(ctx, func() error { return nil })
			d.change, d.reply = p.change, p.checkpoints
			return d, err
		})
	}
	p := copier{c: c, from: from, to: to, now: c.m.engine.now(), ids: map[ID]ID{}}
	err = p.run(ctx, func() error {
		if p.size < copyPart && len(p.change.Put) < 500 {
			return nil
		}
		return p.store(ctx)
	})
	if err == nil {
		err = p.store(ctx)
	}
	return p.checkpoints, err
}

// copiesWhole reports whether a copy of a thread fits in one change.
func (c *Checkpoints) copiesWhole(ctx context.Context, thread string) (bool, error) {
	var records, bytes int64
	for _, kind := range []Kind{KindCheckpoint, KindCheckpointValue, KindCheckpointWrite} {
		f := c.filter(kind)
		f.Slots = SlotsBeginning(slotOf(thread))
		n, err := c.m.engine.store.Count(ctx, c.m.view.Tenant, f)
		if err != nil {
			return false, err
		}
		records, bytes = records+n.Records, bytes+n.Bytes
	}
	return records <= copyRecords && bytes <= copyBytes, nil
}

// A copier makes the records of a copy.
type copier struct {
	c        *Checkpoints
	from, to string
	now      time.Time

	ids         map[ID]ID // of values: of the original, of the copy
	change      Change    // what is made and not stored yet
	size        int       // bytes of texts in it
	checkpoints int
}

// run makes all records of the copy and calls flush after each.
func (p *copier) run(ctx context.Context, flush func() error) error {
	threads, err := p.c.heads(ctx, KindCheckpointThread, SlotsBeginning(slotOf(p.from)))
	if err != nil {
		return err
	}
	if len(threads) == 0 {
		return Errorf(NotFound, "thread %q has no checkpoints", p.from)
	}
	taken, err := p.c.namespaces(ctx, p.to)
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return &Error{Code: Conflict, Msg: fmt.Sprintf("thread %q has checkpoints already", p.to), Recovery: "Choose a new thread, or delete that one first."}
	}
	for i := range threads {
		var b threadBody
		if err := readBody(&threads[i], &b); err != nil {
			return err
		}
		if err := p.c.mark(ctx, &p.change, p.to, b.Namespace, p.now, false); err != nil {
			return err
		}
	}
	// What is named by the checkpoints read at first is what gets copied; what a run
	// adds meanwhile is not.
	checkpoints, err := p.c.heads(ctx, KindCheckpoint, SlotsBeginning(slotOf(p.from)))
	if err != nil {
		return err
	}
	for i := range checkpoints {
		if err := p.belongings(ctx, &checkpoints[i], flush); err != nil {
			return err
		}
	}
	for i := range checkpoints {
		if err := p.checkpoint(ctx, &checkpoints[i]); err != nil {
			return err
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

// belongings copies a checkpoint's writes and the values that no earlier one had.
func (p *copier) belongings(ctx context.Context, head *Record, flush func() error) error {
	s, err := readCheckpoint(head)
	if err != nil {
		return err
	}
	for channel, old := range s.Values {
		if _, ok := p.ids[old]; ok {
			continue
		}
		values, err := p.c.values(ctx, []ID{old})
		if err != nil {
			return err
		}
		if values[old] == nil {
			return errChanged()
		}
		body := s.checkpointBody
		body.Thread = p.to
		r, err := p.c.valueRecord(&body, channel, values[old].typed(), p.now)
		if err != nil {
			return err
		}
		p.ids[old] = r.ID
		p.put(*r)
		if err := flush(); err != nil {
			return err
		}
	}
	writes, err := p.c.writes(ctx, head.Slot)
	if err != nil {
		return err
	}
	slot := slotOf(p.to, s.Namespace, s.ID)
	for _, w := range writes {
		r, err := p.c.writeRecord(slot, s.ID, w, p.now)
		if err != nil {
			return err
		}
		p.put(*r)
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

func (p *copier) checkpoint(ctx context.Context, head *Record) error {
	r, err := p.c.at(ctx, KindCheckpoint, head.Slot, Page{})
	if err != nil {
		return err
	}
	if r == nil {
		return errChanged()
	}
	s, err := readCheckpoint(r)
	if err != nil {
		return err
	}
	body := s.checkpointBody
	body.Thread, body.Values = p.to, map[string]ID{}
	for channel, old := range s.Values {
		id, ok := p.ids[old]
		if !ok {
			return errChanged()
		}
		body.Values[channel] = id
	}
	r.ID, r.Version, r.CreatedAt, r.UpdatedAt = p.c.m.engine.opts.NewID(), 1, p.now, p.now
	r.Slot = slotOf(p.to, s.Namespace, s.ID)
	if err := setBody(r, body); err != nil {
		return err
	}
	p.put(*r)
	p.checkpoints++
	p.change.Events = append(p.change.Events, p.c.m.event(EventCreated, r, p.now, map[string]any{"version": r.Version, "bytes": len(r.Text)}))
	return nil
}

func errChanged() error {
	return &Error{Code: Conflict, Op: "copy thread", Msg: "the thread changed while it was copied", Recovery: "Delete the target thread and copy again."}
}

func (p *copier) put(r Record) {
	p.change.Put = append(p.change.Put, Put{Record: r})
	p.size += len(r.Text)
}

// store stores what is made so far.
func (p *copier) store(ctx context.Context) error {
	if len(p.change.Put) == 0 {
		return nil
	}
	if len(p.change.Events) == 0 {
		p.change.Events = []Event{p.c.m.event(EventCreated, &p.change.Put[0].Record, p.now, map[string]any{"records": len(p.change.Put)})}
	}
	_, err := commit(ctx, p.c.m.plain(), "copy thread", nil, func(time.Time) (decision[bool], error) {
		return decision[bool]{change: p.change}, nil
	})
	p.change, p.size = Change{}, 0
	return err
}
