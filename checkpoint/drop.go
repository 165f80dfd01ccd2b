package checkpoint

import (
	"context"
	"maps"
	"time"

	"github.com/loci-memory/loci"
)

// A dropping is an erasure of checkpoints between two of its changes: the thread's record as
// the last one left it, the checkpoints that are left, and which of them are still to go. Whoever
// adds checkpoints or takes them away writes the thread's record, so that what is known here
// holds as long as that record is the same.
type dropping struct {
	thread  loci.ID
	version int64
	slots   loci.SlotRange // of all that the thread has in the namespace
	all     []stored
	chosen  map[string]bool
}

// drop erases the checkpoints of a thread and namespace that choose names by id, with
// their writes and the values that nothing else refers to. A checkpoint that stays loses
// its parent if that goes.
func (c *Handle) drop(
	ctx context.Context, thread, namespace string, choose func(all []stored) (map[string]bool, error),
) (erased int, err error) {
	var left *dropping
	for {
		type step struct {
			erased int
			left   *dropping
		}
		s, err := loci.Commit(ctx, c.m, "erase checkpoints", nil, func(now time.Time) (d loci.Decision[step], err error) {
			known := left
			left = nil // after a conflict everything is read again
			r, err := c.at(ctx, KindThread, slotOf(thread, namespace), loci.Page{NoText: true})
			if err != nil {
				return d, err
			}
			if known == nil || r == nil || r.ID != known.thread || r.Version != known.version {
				known = &dropping{slots: loci.SlotsBeginning(slotOf(thread, namespace))}
				if known.all, err = c.stored(ctx, thread, namespace); err != nil {
					return d, err
				}
				if known.chosen, err = choose(known.all); err != nil {
					return d, err
				}
			}
			if len(known.chosen) == 0 {
				return d, nil
			}
			var rest dropping
			if d.Change, rest, err = c.decideDrop(ctx, known, now); err != nil {
				return d, err
			}
			d.Reply.erased = len(known.all) - len(rest.all)
			if len(rest.chosen) > 0 && r != nil {
				rest.thread, rest.version = r.ID, r.Version+1
				d.Reply.left = &rest
			}
			return d, c.mark(ctx, &d.Change, thread, namespace, now, len(rest.all) == 0)
		})
		erased += s.erased
		if left = s.left; err != nil || left == nil {
			return erased, err
		}
	}
}

// decideDrop takes the oldest of the chosen checkpoints away, as many as go in one
// change, and says what is left then.
func (c *Handle) decideDrop(
	ctx context.Context, known *dropping, now time.Time,
) (change loci.Change, rest dropping, err error) {
	rest.slots = known.slots
	gone, values := map[string]bool{}, map[loci.ID]bool{}
	rest.chosen = maps.Clone(known.chosen)
	written := c.writeListOf(known.slots, loci.Page{Brief: true})
	for i := range known.all {
		s := &known.all[i]
		if !known.chosen[s.ID] || len(change.Erase) >= dropRecords {
			continue
		}
		gone[s.ID] = true
		delete(rest.chosen, s.ID)
		change.Erase = append(change.Erase, loci.Erase{ID: s.record.ID, Version: s.record.Version})
		change.Events = append(change.Events,
			c.m.Event(loci.EventErased, &s.record, now, map[string]any{"version": s.record.Version}))
		writes, err := written.of(ctx, s.record.Slot)
		if err != nil {
			return change, rest, err
		}
		for i := range writes {
			change.Erase = append(change.Erase, loci.Erase{ID: writes[i].ID, Version: writes[i].Version})
		}
		for _, id := range s.Values {
			values[id] = true
		}
	}
	for _, s := range known.all {
		if gone[s.ID] {
			continue
		}
		s.spare(values)
		if gone[s.Parent] {
			if err := c.orphan(ctx, &change, &s, now); err != nil {
				return change, rest, err
			}
		}
		rest.all = append(rest.all, s)
	}
	c.eraseValues(&change, inOrder(values))
	return change, rest, nil
}

// orphan takes a checkpoint's parent away.
func (c *Handle) orphan(ctx context.Context, change *loci.Change, s *stored, now time.Time) error {
	r, err := c.at(ctx, Kind, s.record.Slot, loci.Page{})
	if err != nil || r == nil {
		return err
	}
	s.Parent = ""
	if err := loci.SetBody(r, s.body); err != nil {
		return err
	}
	s.record.Version++
	r.Version, r.UpdatedAt = s.record.Version, now
	change.Put = append(change.Put, loci.Put{Record: *r, SameText: true})
	return nil
}
