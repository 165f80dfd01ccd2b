package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// copyPartBytes bounds the texts of a part of a copy.
const copyPartBytes = 32 << 20

// A copying is how far a copy in parts has come. The record of the target's root graph holds it until all is copied:
// so long nobody reads or changes the target, and its name is not found.
type copying struct {
	ID    loci.ID   `json:"id"`
	From  string    `json:"from"`
	At    time.Time `json:"at"`              // what was put later is not copied
	Phase int       `json:"phase,omitempty"` // the kind of copyOrder that it is at
	After []byte    `json:"after,omitempty"` // the slot of the last record of that kind that was copied
	Done  int       `json:"done,omitempty"`  // checkpoints
	Root  bool      `json:"root,omitempty"`  // the root graph has checkpoints
}

// copyOrder are the kinds of records in the order in which they are copied: those that refer to others after them.
var copyOrder = []loci.Kind{KindValue, KindWrite, KindThread, Kind}

func errCopying(thread string, by *copying) error {
	return &loci.Error{Code: loci.Conflict,
		Msg:      fmt.Sprintf("thread %q is a copy of %q that has not ended", loci.ClipLabel(thread), loci.ClipLabel(by.From)),
		Recovery: "Copy again with the same threads, which goes on, or delete the thread."}
}

// copyingInto is the copy into a thread that has not ended, or nil, and the record that says so.
func (c *Handle) copyingInto(ctx context.Context, thread string) (*loci.Record, *copying, error) {
	r, err := c.threadRecord(ctx, thread, "")
	if err != nil || r == nil {
		return nil, nil, err
	}
	var b threadBody
	err = loci.ReadBody(r, &b)
	return r, b.Copy, err
}

// settled refuses what a copy that has not ended does not allow.
func (c *Handle) settled(ctx context.Context, thread string) error {
	_, by, err := c.copyingInto(ctx, thread)
	if err == nil && by != nil {
		err = errCopying(thread, by)
	}
	return err
}

// before is what a put finds: the record of the thread, and the checkpoint of its id.
func (c *Handle) before(ctx context.Context, in *Checkpoint) (thread *loci.Record, old *stored, err error) {
	if thread, err = c.writable(ctx, in.Thread, in.Namespace); err != nil {
		return nil, nil, err
	}
	old, err = c.body(ctx, in.Thread, in.Namespace, in.ID)
	return thread, old, err
}

// writable is the record of a thread and namespace to which a checkpoint is put, or nil.
func (c *Handle) writable(ctx context.Context, thread, namespace string) (*loci.Record, error) {
	r, err := c.threadRecord(ctx, thread, namespace)
	if err != nil {
		return nil, err
	}
	b := threadBody{Copied: true} // nothing is there: a copy may be on the way to it
	if r != nil {
		b = threadBody{}
		if err := loci.ReadBody(r, &b); err != nil {
			return nil, err
		}
	}
	if b.Copy != nil {
		return nil, errCopying(thread, b.Copy)
	}
	if namespace != "" && b.Copied {
		err = c.settled(ctx, thread)
	}
	return r, err
}

// whole refuses a checkpoint of a copy that has not ended.
func (c *Handle) whole(ctx context.Context, thread string, r *loci.Record) error {
	if !bytes.Contains(r.Body, []byte(`"copied":`)) { // quickly, as nearly all are; what says so by chance costs a look
		return nil
	}
	return c.settled(ctx, thread)
}

// CopyThreadPart is a part of [Handle.CopyThread] that takes less than a second: some 6,000 records, or 32 MiB of texts.
// A call with the cursor of the part before goes on, and so does one without: a copy that was stopped is no conflict.
// Until it has ended the target's checkpoints are not listed, and reading or putting one, or pruning the target, is a
// Conflict; deleting it is not. What is put to the thread after the first part is not copied, nor what is erased before
// its part. Checkpoints of the [Part] are all that are copied by now.
func (c *Handle) CopyThreadPart(ctx context.Context, from, to, cursor string) (Part, error) {
	return c.copyThreadPart(ctx, from, to, cursor, bound{copyPart, copyPartBytes, copyRecords})
}

// A bound is how much a part of a copy may copy.
type bound struct {
	records int
	bytes   int64
	atOnce  int // records of a thread that is copied in one change
}

func (c *Handle) copyThreadPart(ctx context.Context, from, to, cursor string, most bound) (Part, error) {
	at, err := placeOf(cursor)
	if err = cmp.Or(checkThread(from), checkName("target_thread_id", to, MaxThreadBytes, false), err); err != nil {
		return Part{}, err
	}
	if from == to {
		return Part{}, loci.Errorf(loci.Invalid, "a thread cannot be copied to itself: name another target")
	}
	p := &partCopy{c: c, from: from, to: to, part: at.Part, bound: most}
	if cursor != "" {
		if p.id, err = loci.ParseID(at.Copy); err != nil {
			return Part{}, loci.Errorf(loci.Invalid, "cursor is not one that a copy returned: leave it out")
		}
	}
	request := []string{from, to, cursor}
	return loci.Commit(ctx, c.m, "copy thread in parts", request, func(now time.Time) (loci.Decision[Part], error) {
		return p.decide(ctx, now)
	})
}

// A partCopy is a call that makes a part of a copy.
type partCopy struct {
	c        *Handle
	from, to string
	id       loci.ID // of the copy, once it is known
	part     int

	bound  // what may still be copied
	known  map[loci.ID]bool
	change loci.Change
	looked int // values, whether they are there
}

// decide makes a step of the copy. All steps of a call but the last go on with the next one, and the last has the reply.
func (p *partCopy) decide(ctx context.Context, now time.Time) (d loci.Decision[Part], err error) {
	p.change, p.looked = loci.Change{}, 0
	if p.known == nil || len(p.known) > 4*copyPart {
		p.known = map[loci.ID]bool{}
	}
	r, state, err := p.c.copyingInto(ctx, p.to)
	switch {
	case err != nil:
		return d, err
	case state == nil && !p.id.IsZero():
		return d, &loci.Error{Code: loci.Conflict, Msg: "the copy has ended, or its target was deleted", Recovery: "Look at the target thread, or delete it and copy again."}
	case state == nil:
		if n, small, err := p.small(ctx, now); err != nil || small {
			d.Change, d.Reply.Checkpoints = p.change, n
			return d, err
		}
		slot := slotOf(p.to, "")
		r = &loci.Record{ID: p.c.m.NewID(), Kind: KindThread, Namespace: p.c.m.Namespace(), Slot: slot, CreatedAt: now}
		state = &copying{ID: p.c.m.NewID(), From: p.from, At: now}
	case state.From != p.from || !p.id.IsZero() && p.id != state.ID:
		return d, errCopying(p.to, state)
	}
	records, size, err := p.step(ctx, state, now)
	if err != nil {
		return d, err
	}
	ended := state.Phase == len(copyOrder)
	if err := p.record(r, state, ended, now); err != nil {
		return d, err
	}
	d.Change, d.Reply.Checkpoints, d.Record = p.change, state.Done, r.ID
	left := p.records - records
	switch bytes := p.bytes - size; {
	case ended:
		d.Embed = loci.EmbedSoon
	case left > 0 && bytes > 0:
		d.Then = func() { p.id, p.records, p.bytes = state.ID, left, bytes }
	default:
		d.Reply.Next = place{Part: p.part + 1, Copy: state.ID.String()}.cursor()
	}
	return d, nil
}

// record writes how far the copy is, or that it has ended, into the record of the target's root graph.
func (p *partCopy) record(r *loci.Record, state *copying, ended bool, now time.Time) error {
	if len(p.change.Events) == 0 {
		payload := map[string]any{"records": len(p.change.Put)}
		p.change.Events = []loci.Event{p.c.m.Event(loci.EventCreated, r, now, payload)}
	}
	if ended && !state.Root {
		p.change.Erase = append(p.change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
		return nil
	}
	body := threadBody{Thread: p.to, Source: p.c.m.View().Source, Copied: true, Copy: state}
	if ended {
		body.Copy, r.Live, r.Text = nil, true, loci.Redact(p.c.m, p.to)
	}
	r.Version, r.UpdatedAt = r.Version+1, now
	p.change.Put = append(p.change.Put, loci.Put{Record: *r})
	return loci.SetBody(&p.change.Put[len(p.change.Put)-1].Record, body)
}

// small copies a thread of few records in one change, and refuses what cannot be copied.
func (p *partCopy) small(ctx context.Context, now time.Time) (checkpoints int, small bool, err error) {
	if err := p.c.settled(ctx, p.from); err != nil {
		return 0, false, err
	}
	few := copier{c: p.c, from: p.from, to: p.to, now: now, ids: map[loci.ID]loci.ID{}}
	if err := few.begin(ctx); err != nil {
		return 0, false, err
	}
	records := 0
	for _, kind := range copyOrder {
		slots := loci.SlotsBeginning(slotOf(p.from))
		heads, err := p.c.firstOf(ctx, kind, slots, p.atOnce+1-records, loci.Page{Brief: true})
		if records += len(heads); err != nil || records > p.atOnce {
			return 0, false, err
		}
	}
	size, err := p.c.toCopy(ctx, p.from)
	if err != nil || size > copyPartBytes {
		return 0, false, err
	}
	err = few.run(ctx)
	p.change = few.change
	return few.checkpoints, true, err
}

// step copies the next records, of one kind, and says how many and how large they are.
func (p *partCopy) step(ctx context.Context, state *copying, now time.Time) (records int, size int64, err error) {
	for ; state.Phase < len(copyOrder); state.Phase++ {
		f := p.c.filter(copyOrder[state.Phase])
		f.Slots = loci.SlotsBeginning(slotOf(p.from))
		if len(state.After) > 0 {
			f.Slots.From = string(state.After) + "\x00"
		}
		heads, err := p.c.firstOf(ctx, f.Kinds[0], f.Slots, min(stepRecords, p.records), loci.Page{Brief: true})
		if err != nil {
			return 0, 0, err
		}
		if len(heads) == 0 {
			state.After = nil
			continue
		}
		if heads, size, err = p.fit(ctx, f, heads); err != nil {
			return 0, 0, err
		}
		for _, r := range heads {
			f.IDs = append(f.IDs, r.ID)
		}
		all, _, err := p.c.m.Records(ctx, f, loci.Page{Limit: len(heads), Order: loci.SlotAscending})
		if err != nil {
			return 0, 0, err
		}
		state.After = []byte(heads[len(heads)-1].Slot)
		switch f.Kinds[0] {
		case KindValue:
			p.values(state, all, now)
		case KindWrite:
			err = p.writes(ctx, state, all, now)
		case KindThread:
			err = p.graphs(state, all, now)
		default:
			err = p.checkpoints(ctx, state, all, now)
		}
		return len(heads) + p.looked/lookEach + eventCost*len(p.change.Events), size, err
	}
	return 0, 0, nil
}

// fit leaves as many records as have no more texts than a step should hold.
func (p *partCopy) fit(ctx context.Context, f loci.Filter, heads []loci.Record) ([]loci.Record, int64, error) {
	for {
		f.IDs = nil
		for _, r := range heads {
			f.IDs = append(f.IDs, r.ID)
		}
		n, err := p.c.m.Count(ctx, f)
		if err != nil || n.Bytes <= copyPartBytes/2 || len(heads) == 1 {
			return heads, n.Bytes, err
		}
		heads = heads[:len(heads)/2]
	}
}

// again puts a record to the target.
func (p *partCopy) again(r loci.Record, id loci.ID, slot string, now time.Time) {
	r.ID, r.Version, r.CreatedAt, r.UpdatedAt = id, 1, now, now
	r.Slot = slotOf(p.to) + strings.TrimPrefix(slot, slotOf(p.from))
	p.change.Put = append(p.change.Put, loci.Put{Record: r})
}

// newID is the id that a value has in the copy: the same each time, and in the order of those of the originals.
func (state *copying) newID(old loci.ID) loci.ID {
	sum := sha256.Sum256(append(state.ID[:], old[:]...))
	id := old
	copy(id[6:], sum[:])
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

func (p *partCopy) values(state *copying, all []loci.Record, now time.Time) {
	for _, r := range all {
		old, id := r.ID, state.newID(r.ID)
		p.again(r, id, strings.TrimSuffix(r.Slot, string(old[:]))+string(id[:]), now)
		p.known[id] = true
	}
}

// writes copies what tasks wrote, unless such a write came to the target meanwhile.
func (p *partCopy) writes(ctx context.Context, state *copying, all []loci.Record, now time.Time) error {
	if len(all) == 0 {
		return nil
	}
	begin := len(p.change.Put)
	for _, r := range all {
		if !r.CreatedAt.After(state.At) {
			p.again(r, p.c.m.NewID(), r.Slot, now)
		}
	}
	made := p.change.Put[begin:]
	if len(made) == 0 {
		return nil
	}
	slots := loci.SlotRange{From: made[0].Record.Slot, To: made[len(made)-1].Record.Slot + "\x00"}
	there, err := p.c.firstOf(ctx, KindWrite, slots, stepRecords+1, loci.Page{Brief: true})
	held := map[string]bool{}
	for i := range there {
		held[there[i].Slot] = true
	}
	p.change.Put = slices.DeleteFunc(p.change.Put, func(put loci.Put) bool { return held[put.Record.Slot] })
	return err
}

// graphs makes the records of the target's namespaces. That of the root graph is there.
func (p *partCopy) graphs(state *copying, all []loci.Record, now time.Time) error {
	for _, r := range all {
		var b threadBody
		if err := loci.ReadBody(&r, &b); err != nil {
			return err
		}
		if b.Namespace == "" {
			state.Root = true
			continue
		}
		b = threadBody{Thread: p.to, Namespace: b.Namespace, Source: p.c.m.View().Source, Copied: true}
		if err := loci.SetBody(&r, b); err != nil {
			return err
		}
		p.again(r, p.c.m.NewID(), r.Slot, now)
	}
	return nil
}

func (p *partCopy) checkpoints(ctx context.Context, state *copying, all []loci.Record, now time.Time) error {
	list := make([]stored, 0, len(all))
	olds := map[loci.ID]loci.ID{} // by new id
	for i := range all {
		s, err := readCheckpoint(&all[i])
		if err != nil {
			return err
		}
		if s.record.CreatedAt.After(state.At) {
			continue
		}
		for _, old := range s.Values {
			if id := state.newID(old); !p.known[id] {
				olds[id] = old
			}
		}
		list = append(list, s)
	}
	if err := p.missing(ctx, state, olds, now); err != nil {
		return err
	}
	for i := range list {
		s := &list[i]
		b := s.body
		b.Thread, b.Copied, b.Values = p.to, true, make(map[string]loci.ID, len(s.Values))
		for channel, old := range s.Values {
			b.Values[channel] = state.newID(old)
		}
		if err := loci.SetBody(&s.record, b); err != nil {
			return err
		}
		p.again(s.record, p.c.m.NewID(), s.record.Slot, now)
		r := &p.change.Put[len(p.change.Put)-1].Record
		payload := map[string]any{"version": r.Version, "bytes": len(r.Text)}
		p.change.Events = append(p.change.Events, p.c.m.Event(loci.EventCreated, r, now, payload))
	}
	state.Done += len(list)
	return nil
}

// missing copies the values that came after the others were copied: a checkpoint may be put again.
func (p *partCopy) missing(ctx context.Context, state *copying, olds map[loci.ID]loci.ID, now time.Time) error {
	ids := make([]loci.ID, 0, len(olds))
	for id := range olds {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, byID)
	var late []loci.ID
	p.looked = len(ids)
	for chunk := range slices.Chunk(ids, 500) {
		f := p.c.filter(KindValue)
		f.IDs = chunk
		there, _, err := p.c.m.Records(ctx, f, loci.Page{Limit: len(chunk), Brief: true})
		if err != nil {
			return err
		}
		for i := range there {
			p.known[there[i].ID] = true
		}
		for _, id := range chunk {
			if !p.known[id] {
				late = append(late, olds[id])
			}
		}
	}
	records, err := p.c.valueRecords(ctx, late)
	if err != nil {
		return err
	}
	if len(records) < len(late) {
		return loci.ErrStale // the checkpoint was erased meanwhile, and so is what it named
	}
	before := p.known
	p.known = map[loci.ID]bool{} // these are not there before the change is made
	p.values(state, records, now)
	p.known = before
	return nil
}
