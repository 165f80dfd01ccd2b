package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of a copy that is one change.
const (
	copyRecords = 5000
	copyAtOnce  = 500 // values are read together
)

// CopyThread copies all checkpoints of a thread, with their values and writes, and
// returns how many there are. NotFound: the thread has none. Conflict: the target has
// some; delete it first. Up to 5,000 records of 32 MiB together are one change. A larger thread is copied in parts, as
// [Handle.CopyThreadPart] says; if it was stopped half way, call it again.
func (c *Handle) CopyThread(ctx context.Context, from, to string) (copied int, err error) {
	for cursor := ""; ; {
		p, err := c.CopyThreadPart(ctx, from, to, cursor)
		if err != nil || p.Next == "" {
			return p.Checkpoints, err
		}
		cursor = p.Next
	}
}

// toCopy is how many bytes of texts a thread has.
func (c *Handle) toCopy(ctx context.Context, thread string) (bytes int64, err error) {
	for _, kind := range []loci.Kind{Kind, KindValue, KindWrite} {
		f := c.filter(kind)
		f.Slots = loci.SlotsBeginning(slotOf(thread))
		n, err := c.m.Count(ctx, f)
		if err != nil {
			return 0, err
		}
		bytes += n.Bytes
	}
	return bytes, nil
}

// A copier makes the records of a copy that is one change.
type copier struct {
	c        *Handle
	from, to string
	now      time.Time

	ids         map[loci.ID]loci.ID // of values: of the original, of the copy
	change      loci.Change
	checkpoints int
}

// begin refuses to copy nothing, and to a thread that has something.
func (p *copier) begin(ctx context.Context) error {
	has := func(thread string) (bool, error) {
		found, err := p.c.firstOf(ctx, KindThread, loci.SlotsBeginning(slotOf(thread)), 1, loci.Page{Brief: true})
		return len(found) > 0, err
	}
	there, err := has(p.from)
	if err != nil {
		return err
	}
	if !there {
		return loci.Errorf(loci.NotFound, "thread %q has no checkpoints", p.from)
	}
	taken, err := has(p.to)
	if err == nil && taken {
		err = &loci.Error{Code: loci.Conflict, Msg: fmt.Sprintf("thread %q has checkpoints already", p.to), Recovery: "Choose a new thread, or delete that one first."}
	}
	return err
}

// run makes all records of the copy.
func (p *copier) run(ctx context.Context) error {
	threads, err := p.c.heads(ctx, KindThread, loci.SlotsBeginning(slotOf(p.from)))
	if err != nil {
		return err
	}
	for i := range threads {
		var b threadBody
		if err := loci.ReadBody(&threads[i], &b); err != nil {
			return err
		}
		if err := p.c.mark(&p.change, nil, p.to, b.Namespace, p.now, false); err != nil {
			return err
		}
	}
	// The copy holds what the checkpoints named when they were first read, and nothing
	// that a run adds meanwhile.
	checkpoints, err := p.c.heads(ctx, Kind, loci.SlotsBeginning(slotOf(p.from)))
	if err != nil {
		return err
	}
	written := p.c.writeListOf(loci.SlotsBeginning(slotOf(p.from)), loci.Page{})
	for rest := checkpoints; len(rest) > 0; {
		n, err := p.belongings(ctx, rest, written)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	for part := range slices.Chunk(checkpoints, copyStates) {
		if err := p.states(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// belongings copies the writes of some checkpoints and the values that no earlier ones had. It returns how
// many of them there are: the first ones, as long as their values are read at once.
func (p *copier) belongings(ctx context.Context, heads []loci.Record, written *writeList) (n int, err error) {
	var fresh []loci.ID
	for ; n == 0 || n < len(heads) && len(fresh) < copyAtOnce; n++ {
		var s struct {
			Values map[string]loci.ID `json:"values"`
		}
		if err := loci.ReadBody(&heads[n], &s); err != nil {
			return 0, err
		}
		for _, old := range s.Values {
			if _, ok := p.ids[old]; !ok {
				fresh = append(fresh, old)
			}
		}
	}
	slices.SortFunc(fresh, byID)
	fresh = slices.Compact(fresh)
	values, err := p.c.valueRecords(ctx, fresh)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(values, func(a, b loci.Record) int { return byID(a.ID, b.ID) }) // as they were stored
	for i := range values {
		old, id := values[i].ID, p.c.m.NewID()
		p.ids[old] = id
		slot := strings.TrimSuffix(values[i].Slot, string(old[:])) + string(id[:])
		p.again(values[i], id, slot)
	}
	for i := range heads[:n] {
		writes, err := written.of(ctx, heads[i].Slot)
		if err != nil {
			return 0, err
		}
		for i := range writes {
			p.again(writes[i], p.c.m.NewID(), writes[i].Slot)
		}
	}
	return n, nil
}

// again copies a record whose body names no thread. Its slot is to be that slot of the other thread.
func (p *copier) again(r loci.Record, id loci.ID, slot string) {
	r.ID, r.Version, r.CreatedAt, r.UpdatedAt = id, 1, p.now, p.now
	r.Slot = slotOf(p.to) + strings.TrimPrefix(slot, slotOf(p.from))
	p.put(r)
}

// copyStates is how many checkpoints are read at once, with their states.
const copyStates = 16

// states copies some checkpoints.
func (p *copier) states(ctx context.Context, heads []loci.Record) error {
	f := p.c.filter(Kind)
	for i := range heads {
		f.IDs = append(f.IDs, heads[i].ID)
	}
	records, _, err := p.c.m.Records(ctx, f, loci.Page{Limit: len(heads), Order: loci.SlotAscending})
	if err != nil {
		return err
	}
	if len(records) < len(heads) {
		return loci.ErrStale
	}
	for i := range records {
		if err := p.checkpoint(&records[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *copier) checkpoint(r *loci.Record) error {
	s, err := readCheckpoint(r)
	if err != nil {
		return err
	}
	body := s.body
	body.Thread, body.Values, body.Copied = p.to, map[string]loci.ID{}, false
	for channel, old := range s.Values {
		id, ok := p.ids[old]
		if !ok {
			return loci.ErrStale
		}
		body.Values[channel] = id
	}
	r.ID, r.Version, r.CreatedAt, r.UpdatedAt = p.c.m.NewID(), 1, p.now, p.now
	r.Slot = slotOf(p.to, s.Namespace, s.ID)
	if err := loci.SetBody(r, body); err != nil {
		return err
	}
	p.put(*r)
	p.checkpoints++
	payload := map[string]any{"version": r.Version, "bytes": len(r.Text)}
	p.change.Events = append(p.change.Events, p.c.m.Event(loci.EventCreated, r, p.now, payload))
	return nil
}

func (p *copier) put(r loci.Record) { p.change.Put = append(p.change.Put, loci.Put{Record: r}) }
