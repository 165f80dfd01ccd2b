package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/form"
)

// Apply implements [loci.RecordChanger].
func (s *Store) Apply(ctx context.Context, name loci.Tenant, c loci.Change) error {
	t, err := s.enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.leave(t)
	if err := c.Validate(); err != nil {
		return err
	}
	j := &job{needs: needsOf(&c), decide: func(x *tx) error {
		if err := x.check(&c); err != nil {
			return err
		}
		x.apply(&c)
		return nil
	}, time: time.Duration(len(c.Put)+len(c.Erase)) * 10 * time.Millisecond}
	return translate("apply", s.write(ctx, t, j))
}

// needsOf is what must be known to decide about a change.
func needsOf(c *loci.Change) (n needs) {
	for i := range c.Put {
		p := &c.Put[i]
		n.ids = append(n.ids, p.Record.ID)
		n.places = append(n.places, p.Record.Namespace)
		if p.Record.Slot != "" {
			n.slots = append(n.slots, slotHash(&p.Record))
		}
		n.spaces = n.spaces || len(p.Vectors) > 0
	}
	for _, e := range c.Erase {
		n.ids = append(n.ids, e.ID)
	}
	for i := range c.Events {
		n.places = append(n.places, c.Events[i].Namespace)
	}
	for _, l := range c.Links {
		n.ids = append(n.ids, l.From, l.To)
	}
	if c.Reply != nil {
		n.replies = append(n.replies, c.Reply.Key)
	}
	n.told = c.Quiet()
	n.spaces = n.spaces || c.Active != nil
	return n
}

// check refuses a change that does not fit, having changed nothing.
func (x *tx) check(c *loci.Change) error {
	if active := x.active(); !c.FitsSpace(active) {
		return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, *c.Active)
	}
	if c.Reply != nil {
		if expires, ok := x.replies[string(hashOf(c.Reply.Key))]; ok && c.Reply.At.UnixMilli() < expires {
			return loci.Errorf(loci.Conflict, "the idempotency key is stored already")
		}
	}
	gone := map[loci.ID]bool{}
	for _, e := range c.Erase {
		old := x.records[e.ID]
		if old == nil || old.version != e.Version || gone[e.ID] {
			return loci.Errorf(loci.Conflict, "record %s is not at version %d", e.ID, e.Version)
		}
		gone[e.ID] = true
	}
	var untold []loci.ID
	for _, id := range c.Quiet() {
		if x.told[id] {
			untold = append(untold, id)
		}
	}
	if err := loci.RefuseUntold(untold); err != nil {
		return err
	}
	put := map[loci.ID]bool{}
	for i := range c.Put {
		put[c.Put[i].Record.ID] = true
		if err := x.checkPut(&c.Put[i], gone); err != nil {
			return err
		}
	}
	for _, l := range c.Links {
		for _, end := range []loci.ID{l.From, l.To} {
			if !put[end] && (x.records[end] == nil || gone[end]) {
				return loci.Errorf(loci.Conflict, "record %s, an end of a link, is not there", end)
			}
		}
	}
	for i := range c.Put {
		hash := slotHash(&c.Put[i].Record)
		if holder, ok := x.slots[hash]; ok && hash != "" && !gone[holder] && !put[holder] {
			return loci.Errorf(loci.Conflict, "the slot is taken")
		}
	}
	return nil
}

// checkPut makes sure that a record put follows the one that is there.
func (x *tx) checkPut(p *loci.Put, gone map[loci.ID]bool) error {
	r := &p.Record
	var have int64
	if old := x.records[r.ID]; old != nil && !gone[r.ID] {
		have = old.version
		at := x.places[x.state.nameKey.Mark(r.Namespace)]
		if old.kind != r.Kind || at == nil || old.namespace != at.n {
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
func (x *tx) apply(c *loci.Change) {
	x.separate(c)
	if len(c.Put)+len(c.Events) > 0 || c.Reply != nil {
		x.state.name = x.t.name.String()
	}
	for _, e := range c.Erase {
		x.erase(e.ID)
	}
	x.freeSlots(c)
	for i := range c.Put {
		x.put(&c.Put[i])
	}
	for i := range c.Events {
		x.event(&c.Events[i])
	}
	for _, l := range c.Links {
		x.links = append(x.links, []any{x.t.key, l.From, string(l.Type), l.To, l.At.UnixMilli(), x.state.seq})
	}
	if r := c.Reply; r != nil {
		x.expired = max(x.expired, r.At.UnixMilli())
		hash := hashOf(r.Key)
		x.newReplies = append(x.newReplies, []any{
			x.t.key, hash, r.At.UnixMilli(), r.ExpiresAt.UnixMilli(), r.Record, r.Key, r.Fingerprint, []byte(r.Value),
		})
		x.replies[string(hash)] = r.ExpiresAt.UnixMilli()
	}
}

func (x *tx) erase(id loci.ID) {
	old := x.records[id]
	delete(x.records, id)
	if old.slot != "" {
		delete(x.slots, old.slot)
	}
	delete(x.told, id)
	x.erased = append(x.erased, id[:])
	x.left[old.namespace] = true
	x.changed(id, old.namespace, old.kind, true)
}

// freeSlots lets go of slots that pass from one record of the change to another.
func (x *tx) freeSlots(c *loci.Change) {
	moving := false
	for i := range c.Put {
		r := &c.Put[i].Record
		holder, ok := x.slots[slotHash(r)]
		moving = moving || ok && holder != r.ID
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		old := x.records[r.ID]
		if old == nil || old.slot == "" {
			continue
		}
		delete(x.slots, old.slot)
		if moving {
			x.freed = append(x.freed, r.ID[:])
		}
	}
}

// put stages a record.
func (x *tx) put(p *loci.Put) {
	r := &p.Record
	at := x.place(r.Namespace)
	if !at.named {
		at.named = true
		x.stage(at, true)
	}
	if len(r.Passages) > 0 && !contains(at.kinds, r.Kind) {
		at.kinds = append(at.kinds, r.Kind)
		x.stage(at, true)
	}
	slot := slotHash(r)
	old := x.records[r.ID]
	next := &held{r.Version, at.n, r.Kind, slot, int64(len(r.Passages))}
	if old != nil {
		x.update(p, slot)
		if p.SameText {
			next.passages = old.passages
		}
	} else {
		x.newRecords = append(x.newRecords, insertRow(x.t.key, r, at.n, slot))
		for i := range p.History {
			v := &p.History[i]
			x.newRevisions = append(x.newRevisions, []any{
				x.t.key,
				r.ID,
				v.Version,
				v.UpdatedAt.UnixMilli(),
				v.ReplacedAt.UnixMilli(),
				v.Text,
				encodeTags(v.Tags),
				nonempty(v.Attributes),
			})
		}
	}
	x.records[r.ID] = next
	if slot != "" {
		x.slots[slot] = r.ID
	}
	x.changed(r.ID, at.n, r.Kind, false)
	if p.SameText && old != nil {
		return
	}
	for i := range p.Vectors {
		x.vectors(r.ID, &p.Vectors[i])
	}
}

// vectors stages vectors of a record; the first of all choose the active space.
func (x *tx) vectors(id loci.ID, v *loci.Vectors) {
	space := x.number(v.Space)
	var data []byte
	for _, row := range v.Rows {
		data = append(data, vector.Quantize(row)...)
	}
	if data == nil {
		data = []byte{}
	}
	x.newVectors = append(x.newVectors, []any{x.t.key, id, space, data})
	if x.state.active == 0 {
		x.state.active = space
	}
}

// update stages the next state of a record that is there.
func (x *tx) update(p *loci.Put, slot string) {
	r := &p.Record
	if p.Revisions > 0 {
		x.updates = append(x.updates, stmt{sql: keepRevision, args: []any{x.t.key, r.ID, r.UpdatedAt.UnixMilli()}})
	}
	if p.Revisions >= 0 {
		x.updates = append(x.updates, stmt{sql: dropRevisions, args: []any{x.t.key, r.ID, p.Revisions}})
	}
	head, tail := slotColumns(r.Slot)
	args := []any{
		x.t.key,
		r.ID,
		nonempty(slot),
		head,
		tail,
		r.Version,
		r.Live,
		r.CreatedAt.UnixMilli(),
		r.UpdatedAt.UnixMilli(),
		nullable(r.ExpiresAt),
		encodeTags(r.Tags),
		nonempty(r.Attributes),
		nonempty(r.Body),
		nonempty(r.Scope),
		nonempty(r.Status),
	}
	args = append(args, decayColumns(r)...)
	args = append(args, nullable(r.EndsAt), nullable(r.DueAt), nonempty(r.Sequence), position(r))
	if p.SameText {
		x.updates = append(x.updates, stmt{sql: updateHead, args: args})
		return
	}
	args = append(args, []byte(r.Text), nonempty(r.Heading), form.EncodeSpans(r.Passages), len(r.Passages))
	x.updates = append(
		x.updates,
		stmt{sql: updateWhole, args: args},
		stmt{sql: dropVectors, args: []any{x.t.key, r.ID}},
	)
}

const (
	updateHead  = updateRecord + " WHERE tenant = $1 AND id = $2"
	updateWhole = updateRecord + ", text = $23, heading = $24, passages = $25, passage_count = $26 WHERE tenant = $1 AND id = $2"

	updateRecord = `UPDATE loci.record SET slot_hash = $3, slot_head = $4, slot_tail = $5, version = $6, live = $7, created_at = $8,
		updated_at = $9, expires_at = $10, tags = $11, attributes = $12, body = $13, scope = $14, status = $15, confidence = $16,
		decay_rate = $17, decay_from = $18, ends_at = $19, due_at = $20, sequence = $21, position = $22`

	keepRevision = `INSERT INTO loci.revision (tenant, record, version, updated_at, replaced_at, text, tags, attributes)
		SELECT tenant, id, version, updated_at, $3, text, tags, attributes FROM loci.record WHERE tenant = $1 AND id = $2`
	dropRevisions = `DELETE FROM loci.revision WHERE tenant = $1 AND record = $2 AND version <=
		(SELECT version FROM loci.revision WHERE tenant = $1 AND record = $2 ORDER BY version DESC OFFSET $3 LIMIT 1)`
	dropVectors = "DELETE FROM loci.vector WHERE tenant = $1 AND record = $2"
)

// insertRow is a new record as the columns of insertRecord.
func insertRow(tenant []byte, r *loci.Record, namespace int64, slot string) []any {
	head, tail := slotColumns(r.Slot)
	args := []any{
		tenant,
		r.ID,
		namespace,
		r.Version,
		r.CreatedAt.UnixMilli(),
		r.UpdatedAt.UnixMilli(),
		nullable(r.ExpiresAt),
		r.Uses,
		nullable(r.UsedAt),
		nullable(r.EndsAt),
		nullable(r.DueAt),
		position(r),
		len(r.Passages),
	}
	args = append(args, decayColumns(r)...)
	return append(
		args,
		r.Live,
		string(r.Kind),
		nonempty(slot),
		head,
		tail,
		nonempty(r.Scope),
		nonempty(r.Status),
		nonempty(r.Sequence),
		nonempty(
			r.Heading,
		),
		form.EncodeSpans(r.Passages),
		encodeTags(r.Tags),
		nonempty(r.Attributes),
		nonempty(r.Body),
		[]byte(r.Text),
	)
}

const insertRecord = `INSERT INTO loci.record (tenant, id, namespace, version, created_at, updated_at, expires_at, uses, used_at,
	ends_at, due_at, position, passage_count, confidence, decay_rate, decay_from, live, kind, slot_hash, slot_head, slot_tail, scope, status,
	sequence, heading, passages, tags, attributes, body, text) VALUES `

// slotColumns are the two columns of a slot; NULL for none.
func slotColumns(slot string) (head, tail any) {
	if slot == "" {
		return nil, nil
	}
	h, t := split(slot)
	return []byte(h), []byte(t)
}

// decayColumns are confidence, rate and beginning of a record's curve; NULL for none.
func decayColumns(r *loci.Record) []any {
	if r.Decay.IsZero() {
		return []any{nil, nil, nil}
	}
	return []any{r.Decay.Confidence, r.Decay.Rate, nullable(r.Decay.From)}
}

func position(r *loci.Record) any {
	if r.Sequence == "" {
		return nil
	}
	return r.Position
}

// encodeTags writes tags as JSON; NULL for none.
func encodeTags(tags []string) any {
	if len(tags) == 0 {
		return nil
	}
	data, err := json.Marshal(tags)
	if err != nil {
		panic(err) // strings always marshal
	}
	return data
}

// event stages an event and continues the chain.
func (x *tx) event(given *loci.Event) {
	at := x.place(given.Namespace)
	e := *given
	x.state.events++
	e.Seq, e.Mark, e.Namespace, e.Former = x.state.events, at.mark, nil, loci.Hash{}
	e.Seal(x.state.head)
	x.state.head = e.Hash
	if len(e.Payload)+len(e.Nonce) > 0 {
		x.told[e.Entity] = true
	}
	x.newEvents = append(x.newEvents, []any{
		x.t.key,
		e.Seq,
		e.ID,
		at.n,
		e.At.UnixMilli(),
		string(e.Type),
		string(e.Kind),
		e.Entity,
		e.Actor,
		e.RequestID,
		append(
			[]byte(nil),
			e.Digest[:]...),
		append([]byte(nil), e.Hash[:]...),
		nonempty(e.Nonce),
		nonempty([]byte(e.Payload)),
	})
	if x.mark.seq == 0 {
		x.mark = mark{seq: e.Seq, id: e.ID, event: true}
	}
}

// contains reports whether a kind is in a list.
func contains(kinds []loci.Kind, kind loci.Kind) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return false
}
