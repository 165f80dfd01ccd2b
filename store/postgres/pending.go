package postgres

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci/store/internal/batch"
)

const (
	// maxRows and maxParameters bound an INSERT; the protocol ends at 65,535 parameters.
	maxRows       = 500
	maxParameters = 60_000

	// maxPreparedRows bounds the rows of an INSERT that is prepared, as the database keeps its plan. From
	// maxShared rows on they are those of a large change, whose statements come once.
	maxPreparedRows = 32
	maxShared       = 256

	// maxSent bounds what is sent before answers are read.
	maxSent = 500
)

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
	x.insert(insertSpace, "", rowsOf(ops.Spaces, func(s *batch.NewSpace) []any {
		return []any{key, s.N, s.Space.Dims, int64(0), s.Space.Model}
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
	x.insert(insertRecord, "", rowsOf(ops.Records, func(r *batch.NewRecord) []any {
		return insertRow(key, r.Record, r.Place, r.Hash)
	}))
	x.insert(insertRevision, "", rowsOf(ops.Revisions, func(v *batch.NewRevision) []any {
		return []any{
			key, v.Record, v.Version, v.UpdatedAt.UnixMilli(), v.ReplacedAt.UnixMilli(),
			v.Text, batch.EncodeTags(v.Tags), nonempty(v.Attributes),
		}
	}))
	x.insert(insertVector, replaceVector, rowsOf(ops.Vectors, func(v *batch.NewVector) []any {
		return []any{key, v.Record, v.Space, v.Data}
	}))
	x.insert(insertLink, " ON CONFLICT DO NOTHING", rowsOf(ops.Links, func(l *batch.NewLink) []any {
		return []any{key, l.From, string(l.Type), l.To, l.At.UnixMilli(), l.Seq}
	}))
	expired, known := ops.Expired, replaceReply
	if x.guessed {
		expired, known = ops.SurelyExpired(), ""
	}
	if len(ops.Replies) > 0 {
		x.written = append(x.written, stmt{sql: dropReplies, args: []any{key, expired}})
	}
	x.insert(insertReply, known, rowsOf(ops.Replies, func(r *batch.NewReply) []any {
		return []any{
			key, r.Hash, r.At.UnixMilli(), r.ExpiresAt.UnixMilli(), r.Record, r.Key, r.Fingerprint, []byte(r.Value),
		}
	}))
	x.insert(insertEvent, "", rowsOf(ops.Events, func(e *batch.NewEvent) []any { return eventRow(key, e) }))
}

// rowsOf makes a row of each.
func rowsOf[T any](list []T, row func(*T) []any) (rows [][]any) {
	for i := range list {
		rows = append(rows, row(&list[i]))
	}
	return rows
}

// eventRow is an event as the columns of insertEvent.
func eventRow(key []byte, e *batch.NewEvent) []any {
	return []any{
		key,
		e.Seq,
		e.ID,
		e.Place,
		e.At.UnixMilli(),
		string(e.Type),
		string(e.Kind),
		e.Entity,
		e.Actor,
		e.RequestID,
		e.Digest[:],
		e.Hash[:],
		nonempty(e.Nonce),
		nonempty([]byte(e.Payload)),
	}
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

const (
	freeSlots      = "UPDATE loci.record SET slot_hash = NULL, slot_head = NULL, slot_tail = NULL WHERE tenant = $1 AND id = ANY($2)"
	dropReplies    = "DELETE FROM loci.reply WHERE tenant = $1 AND expires_at <= $2"
	insertSpace    = "INSERT INTO loci.space (tenant, n, dims, dropped, model) VALUES "
	insertRevision = "INSERT INTO loci.revision (tenant, record, version, updated_at, replaced_at, text, tags, attributes) VALUES "
	insertVector   = "INSERT INTO loci.vector (tenant, record, space, data) VALUES "
	replaceVector  = " ON CONFLICT (tenant, record, space) DO UPDATE SET data = excluded.data"
	insertLink     = "INSERT INTO loci.link (tenant, from_id, type, to_id, created_at, seq) VALUES "
	insertReply    = "INSERT INTO loci.reply (tenant, key_hash, at, expires_at, record, key, fingerprint, value) VALUES "
	replaceReply   = ` ON CONFLICT (tenant, key_hash) DO UPDATE SET at = excluded.at, expires_at = excluded.expires_at,
		record = excluded.record, key = excluded.key, fingerprint = excluded.fingerprint, value = excluded.value`
	insertEvent = `INSERT INTO loci.event (tenant, seq, id, namespace, occurred_at, type, kind, entity, actor, request_id, digest, sealed,
		nonce, payload) VALUES `
	insertChange    = "INSERT INTO loci.change (tenant, seq, id, namespace, gone, kind) VALUES "
	insertNamespace = "INSERT INTO loci.namespace (tenant, n, changed, mark, key_head, key_tail, kinds) VALUES "
	updateNamespace = `UPDATE loci.namespace SET changed = greatest(changed, $3), key_head = $4, key_tail = $5, kinds = $6
		WHERE tenant = $1 AND n = $2`
	unname = `UPDATE loci.namespace SET key_head = NULL, key_tail = NULL WHERE tenant = $1 AND n = ANY($2) AND mark <> '' AND NOT EXISTS
		(SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND r.namespace = loci.namespace.n)`
	trimChanges  = "DELETE FROM loci.change WHERE tenant = $1 AND seq <= $2"
	updateTenant = `UPDATE loci.tenant SET floor = $2, events = $3, namespaces = $4, spaces = $5, active = $6, head = $7, name_key = $8, name = $9, chain_start = $10, held_seq = $11,
		held_records = $12, held_bytes = $13, due_at = 0
		WHERE tenant = $1`
)

// writePlaces writes the rows of namespaces that came or changed.
func (x *tx) writePlaces(places []batch.Place) {
	var fresh [][]any
	for i := range places {
		w := &places[i]
		head, tail := any(nil), any(nil)
		if w.Named {
			h, t := split(w.Key)
			head, tail = []byte(h), []byte(t)
		}
		kinds := batch.EncodeKinds(w.Kinds)
		if w.Fresh {
			fresh = append(fresh, []any{x.t.key, w.N, w.Changed, string(w.Mark), head, tail, kinds})
		} else {
			args := []any{x.t.key, w.N, w.Changed, head, tail, kinds}
			x.written = append(x.written, stmt{sql: updateNamespace, args: args})
		}
	}
	x.insert(insertNamespace, "", fresh)
}

// insert stages rows of a table, many in one statement.
func (x *tx) insert(into, then string, rows [][]any) {
	shared := len(rows) < maxShared && !x.s.opts.Unprepared
	for len(rows) > 0 {
		n, once := together(len(rows), len(rows[0]), shared)
		q := insertion(into, then, rows[:n])
		q.once = once
		x.written = append(x.written, q)
		rows = rows[n:]
	}
}

// together says how many of some rows go into one statement, and whether it is not worth to be
// prepared. Writes that share a commit are of any number. To read and plan a statement for so many
// rows takes the database as long as to insert them, so prepared are those of 1, 2, 4 … rows.
func together(rows, columns int, shared bool) (n int, once bool) {
	if shared {
		return min(1<<(bits.Len(uint(rows))-1), maxPreparedRows), false
	}
	return min(rows, maxRows, maxParameters/columns), rows > 1
}

// insertion is an INSERT of rows, the first column of each being the tenant.
func insertion(into, then string, rows [][]any) stmt {
	var b strings.Builder
	b.WriteString(into)
	args := []any{rows[0][0]}
	for i, row := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("($1")
		for _, arg := range row[1:] {
			args = append(args, arg)
			b.WriteString(", $" + strconv.Itoa(len(args)))
		}
		b.WriteByte(')')
	}
	b.WriteString(then)
	return stmt{sql: b.String(), args: args}
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
	var rows [][]any
	for key, change := range x.Changes {
		rows = append(rows, []any{x.t.key, x.State.Seq, key.ID, change.Namespace, key.Gone, string(change.Kind)})
	}
	x.insert(insertChange, "", rows)
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
		x.t.key,
		st.Floor,
		st.Events,
		st.Namespaces,
		st.Spaces,
		st.Active,
		st.Head[:],
		[]byte(st.NameKey),
		nonempty(st.Name),
		st.ChainStart,
		st.HeldSeq,
		st.Holding.Records,
		st.Holding.Bytes,
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
