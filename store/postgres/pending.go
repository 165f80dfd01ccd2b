package postgres

import (
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
)

const (
	// changesKept is how many change numbers back the list of changes reaches; an index
	// that is further behind is built again.
	changesKept = 100_000

	// trimEvery is how often the list is cut.
	trimEvery = 1000

	// maxRows and maxParameters bound an INSERT; the protocol ends at 65,535 parameters.
	maxRows       = 500
	maxParameters = 60_000

	// maxSent bounds what is sent before answers are read.
	maxSent = 500
)

// pending is what a transaction is going to write, table by table. What depends on the
// order of jobs is kept in it by [tx.separate].
type pending struct {
	written []stmt // of jobs before, whose records are met again

	fresh        []*where // namespaces whose rows come or change
	newSpaces    [][]any
	erased       [][]byte
	freed        [][]byte // records that let go of their slot for another one
	updates      []stmt
	newRecords   [][]any
	newRevisions [][]any
	newVectors   [][]any
	links        [][]any
	expired      int64 // replies up to this time go
	newReplies   [][]any
	newEvents    [][]any

	touched map[string]bool // records, slots and keys that these are about

	changes map[changeKey]changeRow
	left    map[int64]bool // namespaces that may have lost their last record
	mark    mark           // tells the transaction when it is looked for
}

type changeKey struct {
	id   loci.ID
	gone bool
}

type changeRow struct {
	namespace int64
	kind      loci.Kind
}

func newPending() pending {
	return pending{touched: map[string]bool{}, changes: map[changeKey]changeRow{}, left: map[int64]bool{}}
}

// changed stages what search must know of a record.
func (x *tx) changed(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
	x.changes[changeKey{id, gone}] = changeRow{namespace, kind}
	if gone { // unless it comes again
		delete(x.changes, changeKey{id, false})
	}
}

// separate makes sure that what a change is about is not written in one go with what an
// earlier job did to the same: inside of one, all erases come first, then updates, then what
// is new.
func (x *tx) separate(c *loci.Change) {
	var keys []string
	id := func(id loci.ID) { keys = append(keys, string(id[:])) }
	for _, e := range c.Erase {
		id(e.ID)
		if old := x.records[e.ID]; old != nil && old.slot != "" {
			keys = append(keys, old.slot)
		}
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		id(r.ID)
		if slot := slotHash(r); slot != "" {
			keys = append(keys, slot)
		}
		if old := x.records[r.ID]; old != nil && old.slot != "" {
			keys = append(keys, old.slot)
		}
	}
	for i := range c.Events {
		id(c.Events[i].Entity)
	}
	for _, l := range c.Links {
		id(l.From)
		id(l.To)
	}
	if c.Reply != nil {
		id(c.Reply.Record)
		keys = append(keys, string(hashOf(c.Reply.Key)))
	}
	x.touch(keys...)
}

// touch begins again where one of some keys was met before.
func (x *tx) touch(keys ...string) {
	for _, key := range keys {
		if x.touched[key] {
			x.flush()
			break
		}
	}
	for _, key := range keys {
		x.touched[key] = true
	}
}

// flush puts what is pending in its order.
func (x *tx) flush() {
	key := x.t.key
	x.stageNamespaces()
	x.insert(insertSpace, "", x.newSpaces)
	if len(x.erased) > 0 {
		for _, sql := range eraseRecords {
			x.written = append(x.written, stmt{sql: sql, args: []any{key, x.erased}})
		}
	}
	if len(x.freed) > 0 {
		x.written = append(x.written, stmt{sql: freeSlots, args: []any{key, x.freed}})
	}
	x.written = append(x.written, x.updates...)
	x.insert(insertRecord, "", x.newRecords)
	x.insert(insertRevision, "", x.newRevisions)
	x.insert(insertVector, replaceVector, x.newVectors)
	x.insert(insertLink, " ON CONFLICT DO NOTHING", x.links)
	if len(x.newReplies) > 0 {
		x.written = append(x.written, stmt{sql: dropReplies, args: []any{key, x.expired}})
	}
	x.insert(insertReply, replaceReply, x.newReplies)
	x.insert(insertEvent, "", x.newEvents)
	x.fresh, x.newSpaces, x.erased, x.freed, x.updates = nil, nil, nil, nil, nil
	x.newRecords, x.newRevisions, x.newVectors, x.links, x.newReplies, x.newEvents = nil, nil, nil, nil, nil, nil
	clear(x.touched)
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
	updateTenant = `UPDATE loci.tenant SET floor = $2, events = $3, namespaces = $4, spaces = $5, active = $6, head = $7, name_key = $8, name = $9, chain_start = $10, due_at = 0
		WHERE tenant = $1`
)

// stageNamespaces writes the rows of namespaces that came or changed.
func (x *tx) stageNamespaces() {
	var fresh [][]any
	for _, w := range x.fresh {
		head, tail := any(nil), any(nil)
		if w.named {
			h, t := split(w.key)
			head, tail = []byte(h), []byte(t)
		}
		var changed int64
		if w.signal {
			changed = x.state.seq
		}
		if w.fresh {
			fresh = append(fresh, []any{x.t.key, w.n, changed, string(w.mark), head, tail, encodeKinds(w.kinds)})
		} else {
			x.written = append(
				x.written,
				stmt{sql: updateNamespace, args: []any{x.t.key, w.n, changed, head, tail, encodeKinds(w.kinds)}},
			)
		}
		w.fresh, w.staged = false, false
	}
	x.insert(insertNamespace, "", fresh)
}

// insert stages rows of a table, many in one statement.
func (x *tx) insert(into, then string, rows [][]any) {
	for len(rows) > 0 {
		n := min(len(rows), maxRows, maxParameters/len(rows[0]))
		x.written = append(x.written, insertion(into, then, rows[:n]))
		rows = rows[n:]
	}
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
	return stmt{sql: b.String(), args: args, once: len(rows) > 1}
}

// finish writes all that is pending and commits.
func (x *tx) finish() error {
	x.flush()
	if x.mark.seq == 0 { // no event: a line of its own in the list of changes
		x.mark = mark{seq: x.state.seq, id: loci.NewID()}
		x.changes[changeKey{x.mark.id, true}] = changeRow{}
	}
	var rows [][]any
	for key, change := range x.changes {
		rows = append(rows, []any{x.t.key, x.state.seq, key.id, change.namespace, key.gone, string(change.kind)})
	}
	x.insert(insertChange, "", rows)
	if len(x.left) > 0 {
		var left []int64
		for n := range x.left {
			left = append(left, n)
		}
		x.written = append(x.written, stmt{sql: unname, args: []any{x.t.key, left}})
	}
	if seq := x.state.seq; seq%trimEvery == 0 && seq > changesKept {
		x.state.floor = max(x.state.floor, seq-changesKept)
		x.written = append(x.written, stmt{sql: trimChanges, args: []any{x.t.key, x.state.floor}})
	}
	st := &x.state
	x.written = append(x.written, stmt{sql: updateTenant, args: []any{
		x.t.key,
		st.floor,
		st.events,
		st.namespaces,
		st.spaces,
		st.active,
		st.head[:],
		[]byte(st.nameKey),
		nonempty(st.name),
		st.chainStart,
	}})
	for len(x.written) > maxSent {
		if err := x.c.run(x.ctx, x.written[:maxSent]...); err != nil {
			return err
		}
		x.written = x.written[maxSent:]
	}
	var asked bool
	err := x.c.run(x.ctx, append(x.written, stmt{sql: commit.sql, once: true, done: func(int64) { asked = true }})...)
	switch {
	case err == nil:
		x.begun = false
		return nil
	case !asked && codeOf(err) == "" && !pgconn.SafeToRetry(err), isLost(err) && !pgconn.SafeToRetry(err):
		return &doubtError{mark: x.mark, cause: err}
	}
	return err
}
