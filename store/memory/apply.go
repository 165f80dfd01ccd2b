package memory

import (
	"context"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/index"
)

// Apply implements [loci.RecordChanger]: it checks the whole change against the
// present state first, and only then makes it.
func (s *Store) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if c.Settled && c.Empty() {
		return nil // there is nothing to wait for
	}
	data, err := s.tenant(ctx, t)
	if err != nil {
		return err
	}
	if err := c.Validate(); err != nil {
		return err
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	if err := data.check(&c); err != nil {
		return err
	}
	if err := c.Quota.Refuse(data.held, data.holding(&c)); err != nil {
		return err
	}
	for i := range c.Erase {
		data.erase(c.Erase[i].ID)
	}
	for i := range c.Put {
		data.unslot(&c.Put[i].Record)
	}
	for i := range c.Put {
		data.put(&c.Put[i])
	}
	for _, e := range c.Events {
		e.Seq = int64(len(data.events)) + 1
		e.Mark, e.Namespace, e.Former = data.names.Mark(e.Namespace), nil, loci.Hash{}
		e.Payload, e.Nonce = slices.Clone(e.Payload), slices.Clone(e.Nonce)
		e.Seal(data.head)
		data.head = e.Hash
		data.about[e.Entity] = append(data.about[e.Entity], len(data.events))
		data.events = append(data.events, e)
		data.blocks.Add(e.Seq, e.Type, e.At.UnixMilli())
	}
	for _, l := range c.Links {
		data.links.add(l)
	}
	if c.Reply != nil {
		reply := *c.Reply
		reply.Value = slices.Clone(reply.Value)
		data.replies.put(reply)
	}
	return nil
}

// holding is what the tenant will hold after a change that was checked.
func (d *tenant) holding(c *loci.Change) loci.Holding {
	to, gone := d.held, map[loci.ID]bool{}
	for _, e := range c.Erase {
		to.Remove(d.records[e.ID].Sizes())
		gone[e.ID] = true
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		text, data := r.Sizes()
		if old := d.records[r.ID]; old != nil && !gone[r.ID] {
			to.Remove(old.Sizes())
			if c.Put[i].SameText {
				text, _ = old.Sizes()
			}
		}
		to.Add(text, data)
	}
	return to
}

// check refuses a change that does not fit, having changed nothing.
func (d *tenant) check(c *loci.Change) error {
	if !c.FitsSpace(d.active) {
		return loci.Errorf(loci.Conflict, "the active space is %s, not %s", d.active, *c.Active)
	}
	if c.Reply != nil {
		if old, ok := d.replies.byKey[c.Reply.Key]; ok && c.Reply.At.Before(old.ExpiresAt) {
			return loci.Errorf(loci.Conflict, "the idempotency key is stored already")
		}
	}
	gone := map[loci.ID]bool{} // what the change removes from its slot
	for _, e := range c.Erase {
		old := d.records[e.ID]
		if old == nil || old.Version != e.Version || gone[e.ID] {
			return loci.Errorf(loci.Conflict, "record %s is not at version %d", e.ID, e.Version)
		}
		gone[e.ID] = true
	}
	if err := loci.RefuseUntold(d.untold(c.Quiet())); err != nil {
		return err
	}
	if err := d.checkPuts(c, gone); err != nil {
		return err
	}
	if err := d.checkLinks(c, gone); err != nil {
		return err
	}
	return d.checkSlots(c, gone)
}

// checkPuts makes sure that each record put follows the one that is there.
func (d *tenant) checkPuts(c *loci.Change, gone map[loci.ID]bool) error {
	for i := range c.Put {
		r := &c.Put[i].Record
		var have int64
		if old := d.records[r.ID]; old != nil && !gone[r.ID] {
			have = old.Version
			if old.Kind != r.Kind || !old.Namespace.Equal(r.Namespace) {
				return loci.Errorf(loci.Invalid, "record %s cannot change its kind or namespace", r.ID)
			}
		}
		if c.Put[i].History != nil && have == 0 && r.Version > 0 {
			continue
		}
		if r.Version != have+1 || c.Put[i].History != nil {
			return loci.Errorf(loci.Conflict, "record %s is at version %d, not %d", r.ID, have, r.Version-1)
		}
	}
	return nil
}

// untold returns those of some ids that events have details of.
func (d *tenant) untold(ids []loci.ID) (untold []loci.ID) {
	for _, id := range ids {
		if slices.ContainsFunc(
			d.about[id],
			func(n int) bool { return len(d.events[n].Payload)+len(d.events[n].Nonce) > 0 },
		) {
			untold = append(untold, id)
		}
	}
	return untold
}

// checkLinks makes sure that after the change both ends of its links are there.
func (d *tenant) checkLinks(c *loci.Change, gone map[loci.ID]bool) error {
	if len(c.Links) == 0 {
		return nil
	}
	put := map[loci.ID]bool{}
	for i := range c.Put {
		put[c.Put[i].Record.ID] = true
	}
	for _, l := range c.Links {
		for _, end := range []loci.ID{l.From, l.To} {
			if !put[end] && (d.records[end] == nil || gone[end]) {
				return loci.Errorf(loci.Conflict, "record %s, an end of a link, is not there", end)
			}
		}
	}
	return nil
}

// checkSlots makes sure that after the change no slot has two holders.
func (d *tenant) checkSlots(c *loci.Change, gone map[loci.ID]bool) error {
	put := map[loci.ID]bool{}
	for i := range c.Put {
		put[c.Put[i].Record.ID] = true
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		if r.Slot == "" {
			continue
		}
		if held, ok := d.slots.Get(slotOf(r)); ok && !gone[held.holder] && !put[held.holder] {
			return loci.Errorf(loci.Conflict, "the slot is taken")
		}
	}
	return nil
}

func (d *tenant) erase(id loci.ID) {
	old := d.records[id]
	d.held.Remove(old.Sizes())
	d.unslot(&old.Record)
	d.leaveLane(old)
	delete(d.records, id)
	mark := d.names.Mark(old.Namespace)
	if d.places[mark].records--; d.places[mark].records == 0 {
		delete(d.places, mark)
	}
	d.index.Remove(old.Namespace.Key(), id)
	d.links.erase(id)
	d.replies.erase(id)
	for _, n := range d.about[id] {
		d.events[n].Payload, d.events[n].Nonce = nil, nil
	}
}

// unslot frees the slot that the stored record of this id holds.
func (d *tenant) unslot(r *loci.Record) {
	if old := d.records[r.ID]; old != nil && old.Slot != "" {
		d.slots.Delete(slotOf(&old.Record))
	}
}

func (d *tenant) put(p *loci.Put) {
	next := &stored{Record: clone(&p.Record), vectors: map[loci.Space][][]byte{}}
	if old := d.records[p.Record.ID]; old != nil {
		next.Uses, next.UsedAt = old.Uses, old.UsedAt // Touch alone counts uses
		next.revisions = old.revisions
		if p.SameText {
			next.Text, next.Heading, next.Passages, next.vectors = old.Text, old.Heading, old.Passages, old.vectors
		}
		if p.Revisions >= 0 {
			next.revisions = append([]loci.Revision{{
				Version: old.Version, UpdatedAt: old.UpdatedAt, ReplacedAt: next.UpdatedAt,
				Text: old.Text, Tags: old.Tags, Attributes: old.Attributes,
			}}, old.revisions...)
			next.revisions = next.revisions[:min(p.Revisions, len(next.revisions))]
		}
	}
	if d.records[next.ID] == nil {
		mark := d.names.Mark(next.Namespace)
		if d.places[mark] == nil {
			d.places[mark] = &place{name: next.Namespace}
		}
		d.places[mark].records++
	}
	if p.History != nil {
		next.revisions = cloneRevisions(p.History)
	}
	if !p.SameText {
		for i := range p.Vectors {
			d.putVectors(next, &p.Vectors[i])
		}
	}
	if old := d.records[next.ID]; old != nil {
		d.held.Remove(old.Sizes())
		d.leaveLane(old)
	}
	d.held.Add(next.Sizes())
	d.records[next.ID] = next
	d.joinLane(next)
	if next.Slot != "" {
		d.slots.Set(slotOf(&next.Record))
	}
	d.indexRecord(next)
}

// putVectors stores vectors of a record; the first of all choose the active space.
func (d *tenant) putVectors(r *stored, v *loci.Vectors) {
	r.vectors[v.Space] = quantize(v.Rows)
	if d.active.IsZero() {
		d.active = v.Space
		d.reindex(v.Space) // now there is little, and later a search would do it while all others wait
	}
}

func quantize(rows [][]float32) [][]byte {
	codes := make([][]byte, len(rows))
	for i, row := range rows {
		codes[i] = vector.Quantize(row)
	}
	return codes
}

func (d *tenant) indexRecord(s *stored) {
	if s.Live && len(s.Passages) > 0 { // else there is nothing to search
		d.index.AddShard(index.KeyOf(&s.Record))
	}
	d.index.Upsert(&s.Record, s.vectors[d.index.Space()])
}

// clone copies a record with everything it points to, so that no caller shares
// memory with the store.
func clone(r *loci.Record) loci.Record {
	c := *r
	c.Namespace = slices.Clone(r.Namespace)
	c.Passages = slices.Clone(r.Passages)
	c.Tags = slices.Clone(r.Tags)
	c.Attributes = slices.Clone(r.Attributes)
	c.Body = slices.Clone(r.Body)
	return c
}

func cloneRevisions(revisions []loci.Revision) []loci.Revision {
	out := slices.Clone(revisions)
	for i := range out {
		out[i].Tags = slices.Clone(out[i].Tags)
		out[i].Attributes = slices.Clone(out[i].Attributes)
	}
	return out
}

// Touch implements [loci.RecordChanger].
func (s *Store) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) error {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return err
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	for _, touch := range touches {
		r := data.records[touch.ID]
		if r == nil {
			continue
		}
		if !touch.At.IsZero() {
			r.Uses++
			r.UsedAt = touch.At
		}
		if !touch.ExpiresAt.IsZero() && (touch.Version == 0 || touch.Version == r.Version) {
			r.ExpiresAt = touch.ExpiresAt
			data.index.SetExpiry(index.KeyOf(&r.Record), r.ID, r.ExpiresAt)
		}
	}
	return nil
}
