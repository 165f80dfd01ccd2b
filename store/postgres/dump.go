package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/dump"
)

// copying is a tenant that comes whole from another store.
type copying struct {
	s      *Store
	t      loci.Tenant
	head   dump.Head
	places map[int64]string // keys of namespaces by their numbers
	at     dump.Place       // how far it is
}

// copyName is the setting in which a tenant's copy says how far it is.
const copyName = "copy"

const selectCopy = "SELECT value FROM loci.setting WHERE tenant = $1 AND name = $2"

var replaceSetting = insertInto("setting", "name, value").
	following(" ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value")

// BeginCopy begins to copy a tenant whose head is given, or goes on with it, unless what is
// there was begun with another head: then it begins again. Conflict: the tenant holds
// memories of its own.
func (s *Store) BeginCopy(ctx context.Context, t loci.Tenant, head dump.Head) (dump.Copy, error) {
	c := &copying{s: s, t: t, head: head, places: map[int64]string{}}
	var found dump.Place
	err := s.read(ctx, t, "begin a copy", func(r *reading) error {
		found = dump.Place{}
		err := r.query(stmt{sql: selectCopy, args: []any{r.t.key, copyName}, row: func(row row) error {
			return json.Unmarshal(row[0], &found)
		}})
		if err != nil {
			return err
		}
		if found.Goes(head, r.state.Name != "") {
			c.at = found
			return r.last(stmt{sql: selectPlaceKeys, args: []any{r.t.key}, row: func(row row) error {
				c.places[row.int(0)] = row.string(1) + row.string(2)
				return nil
			}})
		}
		if r.state.Name != "" {
			return dump.NotACopy(t)
		}
		return r.last()
	})
	if err != nil || c.at.Head == head {
		return c, err
	}
	return c, c.step(ctx, "begin a copy", dump.Begin(head), func(x *tx) {
		for _, table := range tenantTables {
			x.written = append(x.written, stmt{sql: "DELETE FROM loci." + table + " WHERE tenant = $1", args: []any{x.t.key}})
		}
		x.Forget()
		x.State.NameKey = loci.NameKey(head.NameKey[:])
	})
}

const selectPlaceKeys = "SELECT n, key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND key_head IS NOT NULL"

// Place implements [dump.Copy].
func (c *copying) Place() dump.Place { return c.at }

// Close implements [dump.Copy].
func (c *copying) Close() error { return nil }

// Take implements [dump.Copy].
func (c *copying) Take(ctx context.Context, taken []dump.Row, cursor string) error {
	table := dump.Tables[c.at.Table]
	return c.step(ctx, "copy", c.at.Next(len(taken), cursor), func(x *tx) {
		x.Took(table, taken)
		x.insert(rowsOf(copyInto[table], taken, func(w *rows, row *dump.Row) { w.row(c.columns(x, table, *row)...) }))
	})
}

// Finish implements [dump.Copy].
func (c *copying) Finish(ctx context.Context) error {
	next := c.at
	next.Done = true
	if err := c.step(ctx, "finish a copy", next, func(x *tx) { x.State.TakeHead(x.t.name, &c.head) }); err != nil {
		return err
	}
	return mender{c.s}.Recount(ctx, c.t)
}

// step writes a part and how far the copy is then, in one transaction. Conflict: somebody
// else writes there, too.
func (c *copying) step(ctx context.Context, op string, next dump.Place, do func(*tx)) error {
	g, err := c.s.lobby.Enter(ctx, c.t)
	if err != nil {
		return err
	}
	defer c.s.lobby.Leave(g)
	place, err := json.Marshal(next)
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: op, Err: err}
	}
	fresh := next == dump.Begin(next.Head)
	j := &job{Time: eraseTime, Decide: func(x *tx) error {
		var found dump.Place
		err := x.now(stmt{sql: selectCopy, args: []any{x.t.key, copyName}, row: func(r row) error {
			return json.Unmarshal(r[0], &found)
		}})
		switch {
		case err != nil:
			return err
		case x.State.Name != "" || !fresh && found != c.at:
			return dump.Disturbed(c.t)
		}
		do(x)
		w := &rows{of: replaceSetting}
		w.row(copyName, place)
		x.insert(w)
		return nil
	}}
	if err := translate(op, c.s.write(ctx, g, j)); err != nil {
		return err
	}
	c.at = next
	return nil
}

// copyInto are the statements that add rows.
var copyInto = map[dump.Table]*insertion{
	dump.Namespaces: insertNamespace,
	dump.Spaces:     insertSpace,
	dump.Records:    insertInto("record", "id, namespace, slot_hash, slot_head, slot_tail, "+dump.RecordColumns),
	dump.Revisions:  insertRevision,
	dump.Vectors:    insertVector,
	dump.Links:      insertLink,
	dump.Events:     insertInto("event", "seq, "+dump.EventColumns),
	dump.Replies:    insertReply,
}

// columns is a row as our tables have it.
func (c *copying) columns(x *tx, table dump.Table, row dump.Row) (out []any) {
	switch table {
	case dump.Namespaces:
		var head, tail any
		if key := string(dump.Bytes(row[3])); row[2] == int64(1) {
			h, t := split(key)
			head, tail = []byte(h), []byte(t)
			c.places[row[0].(int64)] = key
		}
		return append(out, row[0], x.State.Seq, some(row[1]), head, tail, some(row[4]))
	case dump.Spaces:
		return append(out, row[0], row[2], int64(0), row[1])
	case dump.Records:
		slot := loci.Record{
			Namespace: loci.NamespaceFromKey(c.places[row[1].(int64)]),
			Kind:      loci.Kind(dump.Bytes(row[17])), Slot: string(dump.Bytes(row[2])),
		}
		head, tail := slotColumns(slot.Slot)
		out = append(out, row[0], row[1], nonempty(batch.SlotHash(&slot)), head, tail)
		for i, column := range row[3:] {
			switch i {
			case 13: // live
				column = column == int64(1)
			case 14, 19, 23: // kind, passages, text
				column = some(column)
			}
			out = append(out, column)
		}
		return out
	case dump.Revisions:
		out = append(out, row[:4]...)
		return append(out, some(row[4]), row[5], row[6])
	case dump.Vectors:
		return append(out, row[0], row[1], some(row[2]))
	case dump.Events:
		out = append(out, row...)
		for i := range out {
			if i > 3 && i < 11 { // what is never NULL, though an old file may lack it
				out[i] = some(out[i])
			}
		}
		return out
	case dump.Replies:
		hash := batch.HashOf(string(dump.Bytes(row[0])))
		return append(out, hash, row[1], row[2], row[3], some(row[0]), some(row[4]), some(row[5]))
	}
	return append(out, row...)
}

// some is bytes that are not NULL, and any other column as it is.
func some(column any) any {
	if b, ok := column.([]byte); column == nil || ok && len(b) == 0 {
		return []byte{}
	}
	return column
}

// dumpQueries list the rows of each table as dump has them.
var dumpQueries = map[dump.Table]string{
	dump.Namespaces: "SELECT n, mark, (key_head IS NOT NULL)::int::bigint, key_head || key_tail, kinds FROM loci.namespace WHERE tenant = $1",
	dump.Spaces:     "SELECT n, model, dims FROM loci.space WHERE tenant = $1",
	dump.Records: "SELECT id, namespace, slot_head || slot_tail, " + dump.RecordColumns +
		" FROM loci.record WHERE tenant = $1",
	dump.Revisions: "SELECT record, version, updated_at, replaced_at, text, tags, attributes FROM loci.revision WHERE tenant = $1",
	dump.Vectors:   "SELECT record, space, data FROM loci.vector WHERE tenant = $1",
	dump.Links: `SELECT from_id, type, to_id, created_at, place FROM (SELECT *, row_number() OVER
		(ORDER BY created_at, seq, from_id, type, to_id) - count(*) OVER () AS place FROM loci.link WHERE tenant = $1) l WHERE true`,
	dump.Events:  "SELECT seq, " + dump.EventColumns + " FROM loci.event WHERE tenant = $1",
	dump.Replies: "SELECT key, at, expires_at, record, fingerprint, value FROM loci.reply WHERE tenant = $1",
}

// numbers say which columns of a table are int64; of a record, the 11th and 12th behind its
// number of passages are float64, and live is boolean.
var numbers = map[dump.Table][]int{
	dump.Namespaces: {0, 2},
	dump.Spaces:     {0, 2},
	dump.Records:    {1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15},
	dump.Revisions:  {1, 2, 3},
	dump.Vectors:    {1},
	dump.Links:      {3, 4},
	dump.Events:     {0, 2, 3},
	dump.Replies:    {1, 2},
}

// dumpOrder are the columns by which a table is read in parts; and where they are in a row.
var dumpOrder = map[dump.Table]struct {
	columns string
	at      []int
}{
	dump.Namespaces: {"n", []int{0}},
	dump.Spaces:     {"n", []int{0}},
	dump.Records:    {"id", []int{0}},
	dump.Revisions:  {"record, version", []int{0, 1}},
	dump.Vectors:    {"record, space", []int{0, 1}},
	dump.Links:      {"place", []int{4}},
	dump.Events:     {"seq", []int{0}},
	dump.Replies:    {"key_hash", nil}, // of the key, which is long
}

// Holds reports whether there is anything of a tenant.
func (s *Store) Holds(ctx context.Context, t loci.Tenant) (holds bool, err error) {
	err = s.read(ctx, t, "look for data", func(r *reading) error {
		err := r.last()
		holds = r.state.Name != ""
		return err
	})
	return holds, err
}

// DumpHead is what stands above the rows of a tenant.
func (s *Store) DumpHead(ctx context.Context, t loci.Tenant) (head dump.Head, err error) {
	err = s.read(ctx, t, "read the head of a copy", func(r *reading) error {
		err := r.last()
		head = r.state.DumpHead()
		return err
	})
	return head, err
}

// Dump returns rows of a table behind a cursor, up to a limit, and the cursor behind them.
// There are none behind the last.
func (s *Store) Dump(
	ctx context.Context, t loci.Tenant, table dump.Table, cursor string, limit int,
) (out []dump.Row, next string, err error) {
	err = s.read(ctx, t, "read a copy", func(r *reading) (err error) {
		out, next, err = r.dump(table, cursor, limit, r.last)
		return err
	})
	return out, next, err
}

// A moment shows a tenant as it was when it was looked at first.
type moment struct{ *reading }

// AsOf shows a function a tenant, all of it as of one moment, while others write.
func (s *Store) AsOf(ctx context.Context, t loci.Tenant, do func(dump.Rows) error) error {
	return s.read(ctx, t, "read a copy", func(r *reading) error { return do(moment{r}) })
}

// DumpHead implements [dump.Rows].
func (m moment) DumpHead(context.Context, loci.Tenant) (dump.Head, error) {
	err := m.query()
	return m.state.DumpHead(), err
}

// Dump implements [dump.Rows].
func (m moment) Dump(
	_ context.Context, _ loci.Tenant, table dump.Table, cursor string, limit int,
) ([]dump.Row, string, error) {
	return m.dump(table, cursor, limit, m.query)
}

// dump reads rows of a table by a query, which run sends.
func (r *reading) dump(
	table dump.Table, cursor string, limit int, run func(...stmt) error,
) (out []dump.Row, next string, err error) {
	after, err := dump.Parts(cursor)
	if err != nil {
		return nil, "", err
	}
	order, size := dumpOrder[table], 0
	q := stmt{sql: dumpQueries[table], args: append([]any{r.t.key}, after...), row: func(row row) error {
		if size < dump.MostBytes {
			out = append(out, asDumped(table, row))
			size += out[len(out)-1].Size()
		}
		return nil
	}}
	switch len(after) {
	case 1:
		q.sql += " AND " + order.columns + " > $2"
	case 2:
		q.sql += " AND (" + order.columns + ") > ($2, $3)"
	}
	q.sql += " ORDER BY " + order.columns + " LIMIT " + strconv.Itoa(limit)
	if err := run(q); err != nil || len(out) == 0 {
		return nil, "", err
	}
	last := out[len(out)-1]
	if table == dump.Replies {
		return out, dump.Cursor(batch.HashOf(string(dump.Bytes(last[0])))), nil
	}
	var parts []any
	for _, i := range order.at {
		parts = append(parts, last[i])
	}
	return out, dump.Cursor(parts...), nil
}

// asDumped is a row of ours as dump has it.
func asDumped(table dump.Table, r row) dump.Row {
	out := make(dump.Row, len(r))
	for i := range r {
		switch {
		case r.null(i):
		case slices.Contains(numbers[table], i):
			out[i] = r.int(i)
		case table == dump.Records && (i == 13 || i == 14):
			out[i] = r.float(i)
		case table == dump.Records && i == 16:
			out[i] = int64(0)
			if r.bool(i) {
				out[i] = int64(1)
			}
		default:
			out[i] = bytes.Clone(r[i])
		}
	}
	if table == dump.Namespaces {
		out[4] = batch.SortKinds(r[4])
	}
	return out
}
