package postgres

import (
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/store/internal/batch"
)

// maxSent bounds what is sent before answers are read.
const maxSent = 500

// emit takes a part that is to be written.
func (x *tx) emit(ops *batch.Ops) {
	if x.guessed { // its statements are made once all jobs have decided
		x.parts = append(x.parts, ops)
		return
	}
	x.write(ops)
}

// write lists the statements that write a part.
func (x *tx) write(ops *batch.Ops) {
	key := x.t.key
	x.writePlaces(ops.Places)
	x.insert(rowsOf(insertSpace, ops.Spaces, func(w *rows, s *batch.NewSpace) {
		w.row(s.N, s.Space.Dims, int64(0), s.Space.Model)
	}))
	if len(ops.Erased) > 0 {
		x.erased = true
		for _, sql := range eraseRecords {
			x.written = append(x.written, stmt{sql: sql, args: []any{key, idList(ops.Erased)}})
		}
	}
	if len(ops.Freed) > 0 {
		x.written = append(x.written, stmt{sql: freeSlots, args: []any{key, idList(ops.Freed)}})
	}
	for i := range ops.Updates {
		x.update(&ops.Updates[i])
	}
	x.insert(rowsOf(insertRecord, ops.Records, recordRow))
	x.insert(rowsOf(insertRevision, ops.Revisions, func(w *rows, v *batch.NewRevision) {
		w.row(
			v.Record, v.Version, v.UpdatedAt.UnixMilli(), v.ReplacedAt.UnixMilli(),
			v.Text, batch.EncodeTags(v.Tags), nonempty(v.Attributes),
		)
	}))
	x.insert(rowsOf(replaceVector, ops.Vectors, func(w *rows, v *batch.NewVector) {
		w.id(v.Record)
		w.int(v.Space)
		w.bytes(v.Data)
	}))
	x.insert(rowsOf(insertLink, ops.Links, func(w *rows, l *batch.NewLink) {
		w.row(l.From, string(l.Type), l.To, l.At.UnixMilli(), l.Seq)
	}))
	expired, known := ops.Expired, replaceReply
	if x.guessed {
		expired, known = ops.SurelyExpired(), insertReply
	}
	if len(ops.Replies) > 0 {
		x.written = append(x.written, stmt{sql: dropReplies, args: []any{key, expired}})
	}
	x.insert(rowsOf(known, ops.Replies, func(w *rows, r *batch.NewReply) {
		w.row(r.Hash, r.At.UnixMilli(), r.ExpiresAt.UnixMilli(), r.Record, r.Key, r.Fingerprint, []byte(r.Value))
	}))
	x.insert(rowsOf(insertEvent, ops.Events, eventRow))
	x.writeTallies(ops.Tallies)
}

// eventRow is an event as the columns of insertEvent.
func eventRow(w *rows, e *batch.NewEvent) {
	w.int(e.Seq)
	w.id(e.ID)
	w.int(e.Place)
	w.int(e.At.UnixMilli())
	w.string(string(e.Type))
	w.string(string(e.Kind))
	w.id(e.Entity)
	w.string(e.Actor)
	w.string(e.RequestID)
	w.bytes(e.Digest[:])
	w.bytes(e.Hash[:])
	orNull(w, e.Nonce)
	orNull(w, e.Payload)
}

// eraseRecords are what an erase takes along.
var eraseRecords = []string{
	"DELETE FROM loci.record WHERE tenant = $1 AND id = ANY($2)",
	"DELETE FROM loci.revision WHERE tenant = $1 AND record = ANY($2)",
	"DELETE FROM loci.vector WHERE tenant = $1 AND record = ANY($2)",
	"DELETE FROM loci.link WHERE tenant = $1 AND from_id = ANY($2)",
	"DELETE FROM loci.link WHERE tenant = $1 AND to_id = ANY($2)",
	"DELETE FROM loci.reply WHERE tenant = $1 AND record = ANY($2)",
	`UPDATE loci.event SET payload = NULL, nonce = NULL WHERE tenant = $1 AND entity = ANY($2)
		AND (payload IS NOT NULL OR nonce IS NOT NULL)`,
}

// How rows come into the tables, and what follows them.
var (
	insertNamespace = insertInto("namespace", "n, changed, mark, key_head, key_tail, kinds")
	insertSpace     = insertInto("space", "n, dims, dropped, model")
	insertRevision  = insertInto("revision", "record, version, updated_at, replaced_at, text, tags, attributes")
	insertVector    = insertInto("vector", "record, space, data")
	replaceVector   = insertVector.following(" ON CONFLICT (tenant, record, space) DO UPDATE SET data = excluded.data")
	insertLink      = insertInto("link", "from_id, type, to_id, created_at, seq").following(" ON CONFLICT DO NOTHING")
	insertReply     = insertInto("reply", "key_hash, at, expires_at, record, key, fingerprint, value")
	replaceReply    = insertReply.following(` ON CONFLICT (tenant, key_hash) DO UPDATE SET at = excluded.at, expires_at = excluded.expires_at,
		record = excluded.record, key = excluded.key, fingerprint = excluded.fingerprint, value = excluded.value`)
	insertEvent = insertInto("event", `seq, id, namespace, occurred_at, type, kind, entity, actor, request_id, digest, sealed,
		nonce, payload`)
	insertChange = insertInto("change", "seq, id, namespace, gone, kind").sharing("seq")
)

const (
	freeSlots       = "UPDATE loci.record SET slot_hash = NULL, slot_head = NULL, slot_tail = NULL WHERE tenant = $1 AND id = ANY($2)"
	dropReplies     = "DELETE FROM loci.reply WHERE tenant = $1 AND expires_at <= $2"
	updateNamespace = `UPDATE loci.namespace SET changed = greatest(changed, $3), key_head = $4, key_tail = $5, kinds = $6
		WHERE tenant = $1 AND n = $2`
	unname = `UPDATE loci.namespace SET key_head = NULL, key_tail = NULL WHERE tenant = $1 AND n = ANY($2) AND mark <> '' AND NOT EXISTS
		(SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.namespace = loci.namespace.n)`
	trimChanges  = "DELETE FROM loci.change WHERE tenant = $1 AND seq <= $2"
	updateTenant = `UPDATE loci.tenant SET floor = $2, events = $3, namespaces = $4, spaces = $5, active = $6, head = $7, name_key = $8, name = $9, chain_start = $10, held_seq = $11,
		held_records = $12, held_bytes = $13, tally = $14, due_at = 0
		WHERE tenant = $1`
)

// writePlaces writes the rows of namespaces that came or changed.
func (x *tx) writePlaces(places []batch.Place) {
	fresh := &rows{of: insertNamespace}
	for i := range places {
		w := &places[i]
		head, tail := any(nil), any(nil)
		if w.Named {
			h, t := split(w.Key)
			head, tail = []byte(h), []byte(t)
		}
		kinds := batch.EncodeKinds(w.Kinds)
		if w.Fresh {
			fresh.row(w.N, w.Changed, string(w.Mark), head, tail, kinds)
		} else {
			args := []any{x.t.key, w.N, w.Changed, head, tail, kinds}
			x.written = append(x.written, stmt{sql: updateNamespace, args: args})
		}
	}
	x.insert(fresh)
}

// end ends the decisions: what is to be written changes no more.
func (x *tx) end() {
	x.Finish()
	x.trims = x.State.Trim()
}

// stage lists the statements for all that was decided, except for the tenant's row.
func (x *tx) stage() {
	for _, part := range x.parts {
		x.write(part)
	}
	x.describe()
	w := &rows{of: insertChange}
	for key, change := range x.Changes {
		w.int(x.State.Seq)
		w.id(key.ID)
		w.int(change.Namespace)
		w.bool(key.Gone)
		w.string(string(change.Kind))
	}
	x.insert(w)
	if len(x.Left) > 0 {
		var left []int64
		for n := range x.Left {
			left = append(left, n)
		}
		x.written = append(x.written, stmt{sql: unname, args: []any{x.t.key, left}})
	}
	if x.trims {
		x.written = append(x.written, stmt{sql: trimChanges, args: []any{x.t.key, x.State.Floor}})
	}
}

// finish writes all that is pending and commits.
func (x *tx) finish() error {
	x.end()
	x.stage()
	st := &x.State
	x.written = append(x.written, stmt{sql: updateTenant, args: []any{
		x.t.key, st.Floor, st.Events, st.Namespaces, st.Spaces, st.Active, st.Head[:], []byte(st.NameKey),
		nonempty(st.Name), st.ChainStart, st.HeldSeq, st.Holding.Records, st.Holding.Bytes, nonempty(st.Tally),
	}})
	for len(x.written) > maxSent {
		if err := x.c.run(x.ctx, x.written[:maxSent]...); err != nil {
			return err
		}
		x.written = x.written[maxSent:]
	}
	return x.commit(x.written)
}

// commit runs the last statements of the transaction and ends it. A [batch.DoubtError]: it may be
// committed.
func (x *tx) commit(stmts []stmt) error {
	var asked bool
	err := x.c.run(x.ctx, append(stmts, stmt{sql: commit.sql, once: true, done: func(int64) { asked = true }})...)
	switch {
	case err == nil:
		x.begun = false
		return nil
	case codeOf(err) == codeReadOnly: // which lets nothing be written, so there is nothing to commit
	case !asked && codeOf(err) == "" && !pgconn.SafeToRetry(err), isLost(err) && !pgconn.SafeToRetry(err):
		return &batch.DoubtError{Mark: x.Mark, Cause: err}
	}
	return err
}
