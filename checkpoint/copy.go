package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of a copy that is one change, and of the parts of a larger one.
const (
	copyRecords = 5000
	copyBytes   = 64 << 20
	copyPart    = 16 << 20 // bytes of texts in a part
	copyAtOnce  = 500      // values are read together where the whole thread has no more than copyBytes
)

// CopyThread copies all checkpoints of a thread, with their values and writes, and
// returns how many there are. NotFound: the thread has none. Conflict: the target has
// some; delete it first. TooLarge: the thread has more than [MaxCopied] records. Up to
// 5,000 records of 64 MiB together are one change. A larger copy stores values and writes
// first, and then the checkpoints in order, so that a copy that was stopped is a shorter history.
func (c *Handle) CopyThread(ctx context.Context, from, to string) (copied int, err error) {
	return c.copyThread(ctx, from, to, copyBytes, MaxCopied)
}

// MaxCopied is how many checkpoints, values and writes a thread may have that is copied. Unlike a delete, a
// copy that is stopped is of no use, and one of more would take longer than callers wait.
const MaxCopied = 100_000

// copyThread is CopyThread with other bounds: for the bytes of a copy that is one change, and for its records.
func (c *Handle) copyThread(ctx context.Context, from, to string, most, mostRecords int64) (copied int, err error) {
	if err := checkThread(from); err != nil {
		return 0, err
	}
	if err := checkName("target_thread_id", to, MaxThreadBytes, false); err != nil {
		return 0, err
	}
	if from == to {
		return 0, loci.Errorf(loci.Invalid, "a thread cannot be copied to itself: name another target")
	}
	records, bytes, err := c.toCopy(ctx, from)
	if err != nil {
		return 0, err
	}
	if records > mostRecords {
		return 0, &loci.Error{
			Code: loci.TooLarge, Msg: fmt.Sprintf("thread %q has %d records to copy; the limit is %d", from, records, mostRecords),
			Recovery: "Prune the thread, which keeps its latest checkpoints, and copy what is left.",
		}
	}
	atOnce := 1 // what a checkpoint has must fit in memory as it did when it was put
	if bytes <= most {
		atOnce = copyAtOnce
	}
	if records <= copyRecords && bytes <= most {
		return loci.Commit(ctx, c.m, "copy thread", nil, func(now time.Time) (d loci.Decision[int], err error) {
			p := copier{c: c, from: from, to: to, now: now, atOnce: atOnce, ids: map[loci.ID]loci.ID{}}
			err = p.run(ctx, func() error { return nil })
			d.Change, d.Reply = p.change, p.checkpoints
			return d, err
		})
	}
	p := copier{c: c, from: from, to: to, now: c.m.Now(), atOnce: atOnce, ids: map[loci.ID]loci.ID{}}
	err = p.run(ctx, func() error {
		if p.size < copyPart && len(p.change.Put) < stepRecords {
			return nil
		}
		return p.store(ctx)
	})
	if err == nil {
		err = p.store(ctx)
	}
	return p.checkpoints, err
}

// toCopy is how many records a copy of a thread makes, and how many bytes of texts they have.
func (c *Handle) toCopy(ctx context.Context, thread string) (records, bytes int64, err error) {
	for _, kind := range []loci.Kind{Kind, KindValue, KindWrite} {
		f := c.filter(kind)
		f.Slots = loci.SlotsBeginning(slotOf(thread))
		n, err := c.m.Count(ctx, f)
		if err != nil {
			return 0, 0, err
		}
		records, bytes = records+n.Records, bytes+n.Bytes
	}
	return records, bytes, nil
}

// A copier makes the records of a copy.
type copier struct {
	c        *Handle
	from, to string
	now      time.Time
	atOnce   int // how many values are read together

	ids         map[loci.ID]loci.ID // of values: of the original, of the copy
	change      loci.Change         // what is made and not stored yet
	size        int                 // bytes of texts in it
	checkpoints int
}

// run makes all records of the copy and calls flush after each.
func (p *copier) run(ctx context.Context, flush func() error) error {
	threads, err := p.c.heads(ctx, KindThread, loci.SlotsBeginning(slotOf(p.from)))
	if err != nil {
		return err
	}
	if len(threads) == 0 {
		return loci.Errorf(loci.NotFound, "thread %q has no checkpoints", p.from)
	}
	taken, err := p.c.namespaces(ctx, p.to)
	if err != nil {
		return err
	}
	if len(taken) > 0 {
		return &loci.Error{Code: loci.Conflict, Msg: fmt.Sprintf("thread %q has checkpoints already", p.to), Recovery: "Choose a new thread, or delete that one first."}
	}
	for i := range threads {
		var b threadBody
		if err := loci.ReadBody(&threads[i], &b); err != nil {
			return err
		}
		if err := p.c.mark(ctx, &p.change, p.to, b.Namespace, p.now, false); err != nil {
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
		n, err := p.belongings(ctx, rest, written, flush)
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	for part := range slices.Chunk(checkpoints, copyStates) {
		if err := p.states(ctx, part, flush); err != nil {
			return err
		}
	}
	return nil
}

// belongings copies the writes of some checkpoints and the values that no earlier ones had. It returns how
// many of them there are: the first ones, as long as their values are read at once.
func (p *copier) belongings(
	ctx context.Context, heads []loci.Record, written *writeList, flush func() error,
) (n int, err error) {
	var fresh []loci.ID
	for ; n == 0 || n < len(heads) && len(fresh) < p.atOnce; n++ {
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
		if err := p.again(values[i], id, slot, flush); err != nil {
			return 0, err
		}
	}
	for i := range heads[:n] {
		writes, err := written.of(ctx, heads[i].Slot)
		if err != nil {
			return 0, err
		}
		for i := range writes {
			if err := p.again(writes[i], p.c.m.NewID(), writes[i].Slot, flush); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

// again copies a record whose body names no thread. Its slot is to be that slot of the other thread.
func (p *copier) again(r loci.Record, id loci.ID, slot string, flush func() error) error {
	r.ID, r.Version, r.CreatedAt, r.UpdatedAt = id, 1, p.now, p.now
	r.Slot = slotOf(p.to) + strings.TrimPrefix(slot, slotOf(p.from))
	p.put(r)
	return flush()
}

// copyStates is how many checkpoints are read at once, with their states.
const copyStates = 16

// states copies some checkpoints.
func (p *copier) states(ctx context.Context, heads []loci.Record, flush func() error) error {
	f := p.c.filter(Kind)
	for i := range heads {
		f.IDs = append(f.IDs, heads[i].ID)
	}
	records, _, err := p.c.records(ctx, f, loci.Page{Limit: len(heads), Order: loci.SlotAscending})
	if err != nil {
		return err
	}
	if len(records) < len(heads) {
		return errChanged()
	}
	for i := range records {
		if err := p.checkpoint(&records[i]); err != nil {
			return err
		}
		if err := flush(); err != nil {
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
	body.Thread, body.Values = p.to, map[string]loci.ID{}
	for channel, old := range s.Values {
		id, ok := p.ids[old]
		if !ok {
			return errChanged()
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

func errChanged() error {
	return &loci.Error{Code: loci.Conflict, Op: "copy thread", Msg: "the thread changed while it was copied", Recovery: "Delete the target thread and copy again."}
}

func (p *copier) put(r loci.Record) {
	p.change.Put = append(p.change.Put, loci.Put{Record: r})
	p.size += len(r.Text)
}

// store stores what is made so far.
func (p *copier) store(ctx context.Context) error {
	if len(p.change.Put) == 0 {
		return nil
	}
	if len(p.change.Events) == 0 {
		payload := map[string]any{"records": len(p.change.Put)}
		p.change.Events = []loci.Event{p.c.m.Event(loci.EventCreated, &p.change.Put[0].Record, p.now, payload)}
	}
	_, err := loci.Commit(ctx, p.c.m, "copy thread", nil, func(time.Time) (loci.Decision[bool], error) {
		return loci.Decision[bool]{Change: p.change}, nil
	})
	p.change, p.size = loci.Change{}, 0
	return err
}
