package batch

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// Apply decides about a change and stages it; when it fails nothing is staged.
func (b *Batch) Apply(c *loci.Change) error {
	slots := slotHashes(c.Put)
	if err := b.check(c, slots); err != nil {
		return err
	}
	if b.Used == nil && c.Quota != nil {
		return loci.Errorf(loci.Conflict, "what the tenant holds is not known any more")
	}
	if b.Used != nil {
		to := b.usage(c)
		if err := c.Quota.Refuse(*b.Used, to); err != nil {
			return err
		}
		b.Used = &to
	}
	b.apply(c, slots)
	return nil
}

// usage is what the tenant will hold after a change that was checked.
func (b *Batch) usage(c *loci.Change) loci.Holding {
	to, gone := *b.Used, map[loci.ID]bool{}
	for _, e := range c.Erase {
		old := b.Records[e.ID]
		to.Remove(old.Text, old.Data)
		gone[e.ID] = true
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		text, data := r.Sizes()
		if old := b.Records[r.ID]; old != nil && !gone[r.ID] {
			to.Remove(old.Text, old.Data)
			if c.Put[i].SameText {
				text = old.Text
			}
		}
		to.Add(text, data)
	}
	return to
}

// check refuses a change that does not fit, having changed nothing.
func (b *Batch) check(c *loci.Change, slots []string) error {
	if active := b.Active(); !c.FitsSpace(active) {
		return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, *c.Active)
	}
	if c.Reply != nil {
		if expires, ok := b.Replies[string(HashOf(c.Reply.Key))]; ok && c.Reply.At.UnixMilli() < expires {
			return loci.Errorf(loci.Conflict, "the idempotency key is stored already")
		}
	}
	gone, err := b.checkErases(c.Erase)
	if err != nil {
		return err
	}
	var untold []loci.ID
	for _, id := range c.Quiet() {
		if b.Told[id] {
			untold = append(untold, id)
		}
	}
	if err := loci.RefuseUntold(untold); err != nil {
		return err
	}
	put := map[loci.ID]bool{}
	for i := range c.Put {
		put[c.Put[i].Record.ID] = true
		if err := b.checkPut(&c.Put[i], gone); err != nil {
			return err
		}
	}
	return b.checkNeighbours(c, slots, put, gone)
}

// checkErases makes sure that each erase names a record as it is, once.
func (b *Batch) checkErases(erases []loci.Erase) (gone map[loci.ID]bool, err error) {
	gone = map[loci.ID]bool{}
	for _, e := range erases {
		old := b.Records[e.ID]
		if old == nil || old.Version != e.Version || gone[e.ID] {
			return nil, loci.Errorf(loci.Conflict, "record %s is not at version %d", e.ID, e.Version)
		}
		gone[e.ID] = true
	}
	return gone, nil
}

// checkNeighbours makes sure that the ends of links are there and that slots are free, once
// what the change puts and erases is counted.
func (b *Batch) checkNeighbours(c *loci.Change, slots []string, put, gone map[loci.ID]bool) error {
	for _, l := range c.Links {
		for _, end := range []loci.ID{l.From, l.To} {
			if !put[end] && (b.Records[end] == nil || gone[end]) {
				return loci.Errorf(loci.Conflict, "record %s, an end of a link, is not there", end)
			}
		}
	}
	for _, hash := range slots {
		if holder, ok := b.Slots[hash]; ok && hash != "" && !gone[holder] && !put[holder] {
			return loci.Errorf(loci.Conflict, "the slot is taken")
		}
	}
	return nil
}

// checkPut makes sure that a record put follows the one that is there.
func (b *Batch) checkPut(p *loci.Put, gone map[loci.ID]bool) error {
	r := &p.Record
	var have int64
	if old := b.Records[r.ID]; old != nil && !gone[r.ID] {
		have = old.Version
		at := b.Places[b.State.NameKey.Mark(r.Namespace)]
		if old.Kind != r.Kind || at == nil || old.Namespace != at.N {
			return loci.Errorf(loci.Invalid, "record %s cannot change its kind or namespace", r.ID)
		}
	}
	if p.History != nil && have == 0 && r.Version > 0 {
		return nil
	}
	if r.Version != have+1 || p.History != nil {
		return loci.Errorf(loci.Conflict, "record %s is at version %d, not %d", r.ID, have, r.Version-1)
	}
	return nil
}

// apply stages a change that was checked.
func (b *Batch) apply(c *loci.Change, slots []string) {
	b.separate(c, slots)
	if len(c.Put)+len(c.Events) > 0 || c.Reply != nil {
		b.State.Name = b.Tenant.String()
	}
	for _, e := range c.Erase {
		b.erase(e.ID)
	}
	b.freeSlots(c, slots)
	for i := range c.Put {
		b.put(&c.Put[i], slots[i])
	}
	for i := range c.Events {
		b.event(&c.Events[i])
	}
	for _, l := range c.Links {
		b.ops.Links = append(b.ops.Links, NewLink{l, b.State.Seq})
	}
	if r := c.Reply; r != nil {
		b.ops.Expired = max(b.ops.Expired, r.At.UnixMilli())
		hash := HashOf(r.Key)
		b.ops.Replies = append(b.ops.Replies, NewReply{r, hash})
		b.Replies[string(hash)] = r.ExpiresAt.UnixMilli()
	}
}

func (b *Batch) erase(id loci.ID) {
	old := b.Records[id]
	b.tally(old, -1)
	delete(b.Records, id)
	if old.Slot != "" {
		delete(b.Slots, old.Slot)
	}
	delete(b.Told, id)
	b.ops.Erased = append(b.ops.Erased, id)
	b.Left[old.Namespace] = true
	b.Changed(id, old.Namespace, old.Kind, true)
}

// freeSlots lets go of slots that pass from one record of the change to another.
func (b *Batch) freeSlots(c *loci.Change, slots []string) {
	moving := false
	for i := range c.Put {
		r := &c.Put[i].Record
		holder, ok := b.Slots[slots[i]]
		moving = moving || ok && holder != r.ID
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		old := b.Records[r.ID]
		if old == nil || old.Slot == "" {
			continue
		}
		delete(b.Slots, old.Slot)
		if moving {
			b.ops.Freed = append(b.ops.Freed, r.ID)
		}
	}
}

// put stages a record, given the hash of its slot.
func (b *Batch) put(p *loci.Put, slot string) {
	r := &p.Record
	at := b.place(r.Namespace)
	if !at.Named {
		at.Named = true
		b.stage(at)
	}
	if len(r.Passages) > 0 && at.learns(r.Kind) {
		b.stage(at)
	}
	old := b.Records[r.ID]
	text, data := r.Sizes()
	next := &Held{
		Version: r.Version, Namespace: at.N, Kind: r.Kind, Slot: slot, Passages: int64(len(r.Passages)),
		Text: text, Data: data, Live: r.Live, Status: r.Status, Bytes: int64(len(r.Text)),
	}
	if old != nil {
		b.tally(old, -1)
		b.ops.Updates = append(b.ops.Updates, Update{Put: p, Slot: slot})
		if p.SameText {
			next.Passages, next.Text, next.Bytes, next.Spaces = old.Passages, old.Text, old.Bytes, old.Spaces
		}
	} else {
		b.ops.Records = append(b.ops.Records, NewRecord{r, at.N, slot})
		for i := range p.History {
			b.ops.Revisions = append(b.ops.Revisions, NewRevision{r.ID, &p.History[i]})
		}
	}
	b.Records[r.ID] = next
	if slot != "" {
		b.Slots[slot] = r.ID
	}
	b.Changed(r.ID, at.N, r.Kind, false)
	coming := b.comes(p, old != nil)
	for i := 0; i < len(p.Vectors) && !(p.SameText && old != nil); i++ {
		v := &p.Vectors[i]
		coming.add(v.Space, b.vectors(r.ID, v))
		if space := b.Number(v.Space); !slices.Contains(next.Spaces, space) {
			next.Spaces = append(next.Spaces, space)
		}
	}
	b.tally(next, 1)
}

// vectors stages vectors of a record and returns them as bytes; the first of all choose the active space.
func (b *Batch) vectors(id loci.ID, v *loci.Vectors) []byte {
	space := b.Number(v.Space)
	data := []byte{}
	for _, row := range v.Rows {
		data = append(data, vector.Quantize(row)...)
	}
	b.ops.Vectors = append(b.ops.Vectors, NewVector{id, space, data})
	if b.State.Active == 0 {
		b.State.Active = space
	}
	return data
}

// event stages an event and continues the chain.
func (b *Batch) event(given *loci.Event) {
	at := b.place(given.Namespace)
	e := *given
	b.State.Events++
	e.Seq, e.Mark, e.Namespace, e.Former = b.State.Events, at.Mark, nil, loci.Hash{}
	e.Seal(b.State.Head)
	b.State.Head = e.Hash
	if len(e.Payload)+len(e.Nonce) > 0 {
		b.Told[e.Entity] = true
	}
	b.ops.Events = append(b.ops.Events, NewEvent{e, at.N})
	if b.Mark.Seq == 0 {
		b.Mark = Mark{Seq: e.Seq, ID: e.ID, Event: true}
	}
}
