package postgres

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/form"
)

// Apply implements [loci.RecordChanger].
func (s *Store) Apply(ctx context.Context, name loci.Tenant, c loci.Change) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	if c.Settled && c.Empty() {
		return nil // there is nothing to wait for
	}
	if err := c.Validate(); err != nil {
		return err
	}
	j := &job{Needs: batch.NeedsOf(&c), Decide: func(x *tx) error { return x.Apply(&c) }, Time: batch.LargeTime(&c)}
	if err := s.write(ctx, g, j); err != nil {
		return translate("apply", err)
	}
	g.Of.search.Brought(s.shelf, &c, func() *follow.Search { return s.readerOf(name) })
	return nil
}

// update stages the next state of a record that is there.
func (x *tx) update(u *batch.Update) {
	p := u.Put
	if p == nil {
		x.use(u)
		return
	}
	r := &p.Record
	if p.Revisions > 0 {
		x.written = append(x.written, stmt{sql: keepRevision, args: []any{x.t.key, r.ID, r.UpdatedAt.UnixMilli()}})
	}
	if p.Revisions >= 0 {
		x.written = append(x.written, stmt{sql: dropRevisions, args: []any{x.t.key, r.ID, p.Revisions}})
	}
	head, tail := slotColumns(r.Slot)
	args := []any{
		x.t.key, r.ID, nonempty(u.Slot), head, tail, r.Version, r.Live, r.CreatedAt.UnixMilli(),
		r.UpdatedAt.UnixMilli(), nullable(r.ExpiresAt), batch.EncodeTags(r.Tags), nonempty(r.Attributes),
		nonempty(r.Body), nonempty(r.Scope), nonempty(r.Status),
	}
	args = append(args, decayColumns(r)...)
	args = append(args, nullable(r.EndsAt), nullable(r.DueAt), nonempty(r.Sequence), position(r))
	if p.SameText {
		x.written = append(x.written, stmt{sql: updateHead, args: args})
		return
	}
	args = append(args, []byte(r.Text), nonempty(r.Heading), form.EncodeSpans(r.Passages), len(r.Passages))
	x.written = append(
		x.written,
		stmt{sql: updateWhole, args: args},
		stmt{sql: dropVectors, args: []any{x.t.key, r.ID}},
	)
}

// use counts uses or moves an expiry time.
func (x *tx) use(u *batch.Update) {
	if u.UsedAt.IsZero() {
		move := stmt{sql: moveExpiry, args: []any{x.t.key, u.IDs[0], u.ExpiresAt.UnixMilli()}}
		x.written = append(x.written, move)
		return
	}
	x.written = append(x.written, countUses(x.t, []batch.Update{*u})...)
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

// recordRow is a new record as the columns of insertRecord.
func recordRow(w *rows, n *batch.NewRecord) {
	r := n.Record
	w.id(r.ID)
	w.int(n.Place)
	w.int(r.Version)
	w.int(r.CreatedAt.UnixMilli())
	w.int(r.UpdatedAt.UnixMilli())
	w.time(r.ExpiresAt)
	w.int(r.Uses)
	w.time(r.UsedAt)
	w.time(r.EndsAt)
	w.time(r.DueAt)
	if r.Sequence == "" {
		w.null()
	} else {
		w.int(r.Position)
	}
	w.int(int64(len(r.Passages)))
	if r.Decay.IsZero() {
		w.null()
		w.null()
		w.null()
	} else {
		w.float(r.Decay.Confidence)
		w.float(r.Decay.Rate)
		w.time(r.Decay.From)
	}
	w.bool(r.Live)
	w.string(string(r.Kind))
	orNull(w, n.Hash)
	if r.Slot == "" {
		w.null()
		w.null()
	} else {
		head, tail := split(r.Slot)
		w.string(head)
		w.string(tail)
	}
	orNull(w, r.Scope)
	orNull(w, r.Status)
	orNull(w, r.Sequence)
	orNull(w, r.Heading)
	w.bytes(form.EncodeSpans(r.Passages))
	w.row(batch.EncodeTags(r.Tags))
	orNull(w, r.Attributes)
	orNull(w, r.Body)
	w.string(r.Text)
}

// insertRecord leaves out what most notes lack, and more where a record is hardly more than a text. A record whose
// confidence falls has the columns of its decay.
var insertRecord = insertInto("record", `id, namespace, version, created_at, updated_at, expires_at, uses, used_at, ends_at, due_at,
	position, passage_count, confidence, decay_rate, decay_from, live, kind, slot_hash, slot_head, slot_tail, scope, status,
	sequence, heading, passages, tags, attributes, body, text`).sparing(
	seldom+decaying+", heading, scope, status, body",
	seldom+decaying+", heading",
	seldom,
)

const (
	seldom   = "expires_at, used_at, position, sequence, tags, attributes"
	decaying = ", ends_at, due_at, confidence, decay_rate, decay_from"
)

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
