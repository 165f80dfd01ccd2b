package checkpoint

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
)

// A Fetch says what [Handle.Fetch] reads.
type Fetch struct {
	Thread    string
	Namespace string
	ID        string    // empty: the latest
	Known     []loci.ID // values that the caller has from an earlier fetch: they are not read again
}

// A Fetched is a checkpoint that was read, for callers that keep its values.
type Fetched struct {
	Saved

	// IDs are those of the values by channel. What has an id never changes. A value that the
	// caller knows is empty here.
	IDs map[string]loci.ID

	// Sends are what the step before sent to tasks, where the format keeps that among the
	// writes of the parent.
	Sends []Write
}

// Get reads a checkpoint with the values of its channels and its pending writes; an
// empty id means the latest of the thread and namespace. NotFound: there is none.
func (c *Handle) Get(ctx context.Context, thread, namespace, id string) (Saved, error) {
	r, err := c.fetch(ctx, Fetch{Thread: thread, Namespace: namespace, ID: id}, func(r *loci.Record) (Fetched, error) {
		saved, err := c.load(ctx, []loci.Record{*r}, true)
		if err != nil {
			return Fetched{}, err
		}
		return Fetched{Saved: saved[0]}, nil
	})
	return r.Saved, err
}

// Fetch is Get for callers that keep values: of those they know none is read again.
func (c *Handle) Fetch(ctx context.Context, q Fetch) (Fetched, error) {
	known := make(map[loci.ID]bool, len(q.Known))
	for _, id := range q.Known {
		known[id] = true
	}
	return c.fetch(ctx, q, func(r *loci.Record) (Fetched, error) { return c.fetched(ctx, r, known) })
}

// fetch finds a checkpoint and reads what belongs to it.
func (c *Handle) fetch(ctx context.Context, q Fetch, read func(*loci.Record) (Fetched, error)) (Fetched, error) {
	if err := checkPlace(q.Thread, q.Namespace, q.ID, true); err != nil {
		return Fetched{}, err
	}
	f := c.filter(Kind)
	if q.ID == "" {
		f.Slots = loci.SlotsBeginning(slotOf(q.Thread, q.Namespace))
	} else {
		slot := slotOf(q.Thread, q.Namespace, q.ID)
		f.Slot = &slot
	}
	for attempt := 0; ; attempt++ {
		records, _, err := c.m.Records(ctx, f, loci.Page{Limit: 1, Order: loci.SlotDescending})
		if err != nil {
			return Fetched{}, err
		}
		if len(records) == 0 {
			if err := c.settled(ctx, q.Thread); err != nil {
				return Fetched{}, err
			}
			return Fetched{}, &loci.Error{Code: loci.NotFound, Msg: "no such checkpoint in this thread and namespace",
				Recovery: "List the checkpoints of the thread, or start a new one."}
		}
		if err := c.whole(ctx, q.Thread, &records[0]); err != nil {
			return Fetched{}, err
		}
		out, err := read(&records[0])
		if err == nil {
			return out, nil
		}
		// Between the two reads another call may have erased the checkpoint.
		if attempt == 3 || !errors.Is(err, errErased) {
			return Fetched{}, loci.AsError(err)
		}
	}
}

func (c *Handle) fetched(ctx context.Context, r *loci.Record, known map[loci.ID]bool) (out Fetched, err error) {
	s, err := readCheckpoint(r)
	if err != nil {
		return out, err
	}
	out = Fetched{Saved: s.saved(), IDs: s.Values}
	var ids []loci.ID
	for _, id := range s.Values {
		if !known[id] {
			ids = append(ids, id)
		}
	}
	held, err := c.values(ctx, ids)
	if err != nil {
		return out, err
	}
	for channel, id := range s.Values {
		switch {
		case known[id]:
		case held[id] == nil:
			return out, errErased
		default:
			out.Values[channel] = held[id].typed()
		}
	}
	if out.Writes, err = c.writes(ctx, r.Slot); err != nil || s.Parent == "" || s.Format >= 4 {
		return out, err
	}
	before, err := c.writes(ctx, slotOf(s.Thread, s.Namespace, s.Parent))
	for _, w := range before {
		if w.Channel == tasksChannel {
			out.Sends = append(out.Sends, w)
		}
	}
	return out, err
}
