package checkpoint

import (
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// stepRecords bounds the records that one change erases. Whoever writes meanwhile waits for one
// change at most; larger ones take longer than that should be.
const stepRecords = 512

// An erasure is a call that erases in several changes. Each change but the last says that more is to
// come, so that the call waits for the wiping once.
type erasure struct {
	c    *Handle
	op   string
	owed bool // the change before said that more is to come

	// What a call that does a part keeps.
	room  int   // records that may still go; what is looked at counts, too
	left  bool  // there was no room for the rest
	at    place // where it goes on
	whole int   // what a look at all checkpoints of a graph may come to; 0: any number
}

// begin is a call that does all at once, if only its callers can wait.
func (c *Handle) begin(op string) *erasure { return &erasure{c: c, op: op, room: unbounded} }

// full reports whether the call has done its part. One that asks has something left to do.
func (e *erasure) full() bool {
	if e.room <= 0 {
		e.left = true
	}
	return e.left
}

// look counts what a call looks at.
func (e *erasure) look(records int) {
	if e.room != unbounded {
		e.room -= records
	}
}

// step makes a change of a thread and namespace that decide makes: the last one of the call, or one of
// several. A call that ends with another change than it took for its last is to be settled.
func (e *erasure) step(
	ctx context.Context, thread, namespace string,
	decide func(now time.Time) (change loci.Change, last bool, err error),
) error {
	leave, err := e.c.turn(ctx, thread, namespace)
	if err != nil {
		return err
	}
	defer leave()
	size := 0
	more, err := loci.Commit(ctx, e.c.m, e.op, nil, func(now time.Time) (d loci.Decision[bool], err error) {
		var last bool
		d.Change, last, err = decide(now)
		size = len(d.Change.Erase) + len(d.Change.Put) + eventCost*len(d.Change.Events)
		if err != nil || d.Change.Empty() {
			d.Reply = e.owed
			return d, err
		}
		d.Change.More, d.Change.Last, d.Reply = !last, last && e.owed, !last
		return d, nil
	})
	if err == nil {
		e.owed = more
		e.look(size)
	}
	return err
}

// settle waits until what earlier changes erased is wiped.
func (e *erasure) settle(ctx context.Context) error {
	if !e.owed {
		return nil
	}
	_, err := loci.Commit(ctx, e.c.m, e.op, nil, func(time.Time) (loci.Decision[bool], error) {
		return loci.Decision[bool]{Change: loci.Change{Last: true, Settled: true}}, nil
	})
	return err
}

// A dropping is an erasure of checkpoints between two of its changes: the thread's record as
// the last one left it, the checkpoints that were there at first, and which of them are still to go.
// Whoever adds checkpoints or takes them away writes the thread's record, so that what is known here
// holds as long as that record is the same. A change costs what it erases, however many are left.
type dropping struct {
	thread  loci.ID
	version int64
	slots   loci.SlotRange // of all that the thread has in the namespace

	left   int // checkpoints that are there
	chosen []*stored
	values map[loci.ID]*stored  // those that go, each with the last checkpoint that refers to it
	named  map[string][]*stored // by parent: the checkpoints that name one that goes
	gone   map[*stored]bool
}

// newDropping looks at all checkpoints of a thread and namespace once.
func newDropping(all []stored, chosen map[string]bool) *dropping {
	d := &dropping{left: len(all), values: map[loci.ID]*stored{}, gone: map[*stored]bool{}}
	d.named = map[string][]*stored{}
	for i := range all {
		s := &all[i]
		if chosen[s.Parent] {
			d.named[s.Parent] = append(d.named[s.Parent], s)
		}
		if !chosen[s.ID] {
			continue
		}
		d.chosen = append(d.chosen, s)
		for _, id := range s.Values {
			d.values[id] = s
		}
	}
	for i := range all {
		if !chosen[all[i].ID] {
			for _, id := range all[i].Values {
				delete(d.values, id)
			}
		}
	}
	return d
}

// A chooser names the checkpoints of a list that go, by id.
type chooser func(all []stored) (map[string]bool, error)

// drop erases the checkpoints of a thread and namespace that choose names by id, with
// their writes and the values that nothing else refers to. A checkpoint that stays loses
// its parent if that goes. last says that the call erases nothing after them.
func (e *erasure) drop(
	ctx context.Context, thread, namespace string, last bool, choose chooser,
) (erased int, err error) {
	c := e.c
	slots := loci.SlotsBeginning(slotOf(thread, namespace))
	var known *dropping
	var read []stored
	for more := true; more && !e.full(); {
		var gone int
		var next *dropping
		err := e.step(ctx, thread, namespace, func(now time.Time) (change loci.Change, ends bool, err error) {
			d := known
			known, next = nil, nil // after a conflict it is made of what is there then
			r, err := c.threadRecord(ctx, thread, namespace)
			if err != nil {
				return change, false, err
			}
			if d == nil || r == nil || r.ID != d.thread || r.Version != d.version {
				if read, err = e.storedSince(ctx, slots, read); err != nil {
					return change, false, err
				}
				chosen, err := choose(read)
				if err != nil {
					return change, false, err
				}
				e.look(len(read) / lookEach)
				d = newDropping(slices.Clone(read), chosen)
				d.slots = slots
			}
			gone, more = 0, false
			if len(d.chosen) == 0 {
				return change, false, nil
			}
			before := d.left
			if err := e.decideDrop(ctx, d, &change, now); err != nil {
				return change, false, err
			}
			gone = before - d.left
			if more = len(d.chosen) > 0; r != nil {
				d.thread, d.version = r.ID, r.Version+1
				next = d
			}
			g, err := collectingOf(r)
			if err != nil {
				return change, false, err
			}
			empty := d.left == 0 && g == nil
			return change, last && !more && g == nil, c.mark(&change, r, thread, namespace, now, empty)
		})
		if err != nil {
			return erased, err
		}
		erased += gone
		known = next
	}
	return erased, nil
}

// decideDrop takes the oldest of the chosen checkpoints away, as many as go in one change. Of one that
// has many writes some go first, and of many that name it as their parent some lose it first: a call that
// stops there leaves a checkpoint that the next one takes.
func (e *erasure) decideDrop(ctx context.Context, d *dropping, change *loci.Change, now time.Time) error {
	c := e.c
	written := e.writesOf(d.slots)
	some, size, err := e.light(ctx, d)
	if err != nil {
		return err
	}
	orphans := map[*stored]bool{}
	var values []loci.ID
	room := func() int { return stepRecords - len(change.Erase) - len(values) - len(orphans) }
	for ; len(d.chosen) > 0 && room() > 0 && some > 0; some-- {
		s := d.chosen[0]
		writes, whole, err := written.some(ctx, s.record.Slot, room())
		if err != nil {
			return err
		}
		for i := range writes {
			change.Erase = append(change.Erase, loci.Erase{ID: writes[i].ID, Version: writes[i].Version})
		}
		if !whole {
			break
		}
		going := d.goingWith(s)
		if len(going) > room() && room() < stepRecords {
			break
		}
		if size != nil {
			n, err := size.fit(ctx, KindValue, going)
			if err != nil {
				return err
			}
			if n < len(going) && e.whole > 0 && change.Empty() {
				return errMany
			}
			if n < len(going) && !change.Empty() {
				break
			}
		}
		if d.orphan(s, orphans, max(room(), 1)); len(d.named[s.ID]) > 0 {
			break
		}
		for _, id := range going {
			delete(d.values, id)
		}
		values = append(values, going...)
		d.chosen, d.left, d.gone[s] = d.chosen[1:], d.left-1, true
		delete(orphans, s)
		change.Erase = append(change.Erase, loci.Erase{ID: s.record.ID, Version: s.record.Version})
		change.Events = append(change.Events,
			c.m.Event(loci.EventErased, &s.record, now, map[string]any{"version": s.record.Version}))
	}
	slices.SortFunc(values, byID) // as they came; two channels of a checkpoint may have the same
	c.eraseValues(change, slices.Compact(values))
	bySlot := func(a, b *stored) int { return strings.Compare(a.record.Slot, b.record.Slot) }
	for _, s := range slices.SortedFunc(maps.Keys(orphans), bySlot) {
		s.Parent = ""
		r := s.record
		if err := loci.SetBody(&r, s.body); err != nil {
			return err
		}
		s.record.Version++
		r.Version, r.UpdatedAt = s.record.Version, now
		change.Put = append(change.Put, loci.Put{Record: r, SameText: true})
	}
	c.account(change, nil, now)
	return nil
}

// light is how many checkpoints a step may take, by their bytes, and what bounds those of their values, unless even the
// first ones have no more than a step should erase.
func (e *erasure) light(ctx context.Context, d *dropping) (some int, values *sizer, err error) {
	var ids, going []loci.ID
	for _, s := range d.chosen[:min(len(d.chosen), stepRecords)] {
		if ids = append(ids, s.record.ID); len(going) < stepRecords {
			going = append(going, d.goingWith(s)...)
		}
	}
	if some, err = e.sizer().fit(ctx, Kind, ids); err != nil {
		return 0, nil, err
	}
	slices.SortFunc(going, byID)
	going = slices.Compact(going)
	if len(going) == 0 {
		return some, nil, nil
	}
	f := e.c.filter(KindValue)
	f.IDs = going
	n, err := e.c.m.Count(ctx, f)
	if n.Bytes > stepBytes {
		return some, e.sizer(), err
	}
	e.look(int(n.Bytes / byteCost))
	return some, nil, err
}

// orphan adds checkpoints that name one as their parent, and that are there, to those that lose it.
func (d *dropping) orphan(s *stored, orphans map[*stored]bool, most int) {
	for named := d.named[s.ID]; len(named) > 0 && most > 0; named = named[1:] {
		if child := named[0]; child != s && !d.gone[child] {
			orphans[child] = true
			most--
		}
		d.named[s.ID] = named[1:]
	}
}

// goingWith lists the values that go with a checkpoint.
func (d *dropping) goingWith(s *stored) (values []loci.ID) {
	for _, id := range s.Values {
		if d.values[id] == s {
			values = append(values, id)
		}
	}
	return values
}

// storedSince lists the checkpoints in a range, the oldest first, for one who has read them before: only
// what has changed is read again, so that whoever prunes a long thread in use does not read all of it
// for each checkpoint that others put.
func (e *erasure) storedSince(ctx context.Context, slots loci.SlotRange, before []stored) ([]stored, error) {
	c := e.c
	switch {
	case e.whole > 0:
		return e.storedFew(ctx, slots)
	case len(before) == 0:
		return c.storedIn(ctx, slots)
	}
	heads, err := c.firstOf(ctx, Kind, slots, math.MaxInt, loci.Page{Brief: true})
	if err != nil {
		return nil, err
	}
	known := make(map[loci.ID]*stored, len(before))
	for i := range before {
		known[before[i].record.ID] = &before[i]
	}
	var fresh []loci.ID
	for i := range heads {
		if s := known[heads[i].ID]; s == nil || s.record.Version != heads[i].Version {
			fresh = append(fresh, heads[i].ID)
		}
	}
	f := c.filter(Kind)
	for f.IDs = range slices.Chunk(fresh, 1000) {
		records, _, err := c.m.Records(ctx, f, loci.Page{Limit: len(f.IDs), NoText: true})
		if err != nil {
			return nil, err
		}
		for i := range records {
			s, err := readCheckpoint(&records[i])
			if err != nil {
				return nil, err
			}
			known[s.record.ID] = &s
		}
	}
	all := make([]stored, 0, len(heads))
	for i := range heads {
		if s := known[heads[i].ID]; s != nil { // nil: erased meanwhile, and so is the thread's record of before
			all = append(all, *s)
		}
	}
	return all, nil
}
