package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/dump"
)

// A Copy is a tenant that comes whole from another store, in parts. Until it is finished
// nobody sees it.
type Copy struct {
	s      *Store
	t      loci.Tenant
	head   dump.Head
	places map[int64]string // keys of namespaces by their numbers

	At CopyPlace // how far it is
}

// A CopyPlace is how far a copy is. It is kept with the rows, so that it may go on.
type CopyPlace struct {
	Head  dump.Head
	Table int   // of dump.Tables; behind the last one: every row is there
	After int64 // the number of the last row that is there
	Done  bool
}

// copyName is the setting in which a tenant's copy says how far it is.
const copyName = "copy"

const (
	selectCopy     = "SELECT value FROM loci.setting WHERE tenant = $1 AND name = $2"
	insertSetting  = "INSERT INTO loci.setting (tenant, name, value) VALUES "
	replaceSetting = " ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value"
)

// BeginCopy begins to copy a tenant whose head is given, or goes on with it, unless what is
// there was begun with another head: then it begins again. Conflict: the tenant holds
// memories of its own.
func (s *Store) BeginCopy(ctx context.Context, t loci.Tenant, head dump.Head) (*Copy, error) {
	c := &Copy{s: s, t: t, head: head, places: map[int64]string{}}
	var found CopyPlace
	err := s.read(ctx, t, "begin a copy", func(r *reading) error {
		found = CopyPlace{}
		err := r.query(stmt{sql: selectCopy, args: []any{r.t.key, copyName}, row: func(row row) error {
			return json.Unmarshal(row[0], &found)
		}})
		if err != nil {
			return err
		}
		if found.Head == head && found.Done == (r.state.Name != "") {
			c.At = found
			return r.last(stmt{sql: selectPlaceKeys, args: []any{r.t.key}, row: func(row row) error {
				c.places[row.int(0)] = row.string(1) + row.string(2)
				return nil
			}})
		}
		if r.state.Name != "" {
			return loci.Errorf(loci.Conflict,
				"the tenant %q is there already and is no copy of what was given: erase it first, or copy into another database", t)
		}
		return r.last()
	})
	if err != nil || c.At.Head == head {
		return c, err
	}
	c.At = CopyPlace{Head: head}
	return c, c.step(ctx, "begin a copy", c.At, func(x *tx) {
		for _, table := range tenantTables {
			x.written = append(x.written, stmt{sql: "DELETE FROM loci." + table + " WHERE tenant = $1", args: []any{x.t.key}})
		}
		x.Forget()
		x.State.NameKey = loci.NameKey(head.NameKey[:])
	})
}

const selectPlaceKeys = "SELECT n, key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND key_head IS NOT NULL"

// Take adds rows of the table at hand; after is the number of the last one. No rows: the
// table is whole.
func (c *Copy) Take(ctx context.Context, rows []dump.Row, after int64) error {
	next := c.At
	if next.After = after; len(rows) == 0 {
		next.Table, next.After = next.Table+1, 0
	}
	table := dump.Tables[c.At.Table]
	return c.step(ctx, "copy", next, func(x *tx) {
		var out [][]any
		for _, row := range rows {
			out = append(out, c.columns(x, table, row))
		}
		x.insert(copyInto[table], "", out)
	})
}

// Finish makes a tenant of what was copied.
func (c *Copy) Finish(ctx context.Context) error {
	next := c.At
	next.Done = true
	return c.step(ctx, "finish a copy", next, func(x *tx) {
		st := &x.State
		st.Name, st.Events, st.ChainStart = x.t.name.String(), c.head.Events, c.head.ChainStart
		st.Namespaces, st.Spaces, st.Active = c.head.Namespaces, c.head.Spaces, c.head.Active
		st.Floor = st.Seq // indexes that showed nothing begin again
		st.Head = c.head.Chain
	})
}

// step writes a part and how far the copy is then, in one transaction. Conflict: somebody
// else writes there, too.
func (c *Copy) step(ctx context.Context, op string, next CopyPlace, do func(*tx)) error {
	g, err := c.s.lobby.Enter(ctx, c.t)
	if err != nil {
		return err
	}
	defer c.s.lobby.Leave(g)
	place, err := json.Marshal(next)
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: op, Err: err}
	}
	fresh := next == CopyPlace{Head: next.Head}
	j := &job{Time: eraseTime, Decide: func(x *tx) error {
		var found CopyPlace
		err := x.now(stmt{sql: selectCopy, args: []any{x.t.key, copyName}, row: func(r row) error {
			return json.Unmarshal(r[0], &found)
		}})
		switch {
		case err != nil:
			return err
		case x.State.Name != "" || !fresh && found != c.At:
			return loci.Errorf(loci.Conflict, "somebody else writes to the tenant %q while it is copied: stop them, then copy again", c.t)
		}
		do(x)
		x.insert(insertSetting, replaceSetting, [][]any{{x.t.key, copyName, place}})
		return nil
	}}
	if err := translate(op, c.s.write(ctx, g, j)); err != nil {
		return err
	}
	c.At = next
	return nil
}

// copyInto are the beginnings of the statements that add rows.
var copyInto = map[dump.Table]string{
	dump.Namespaces: insertNamespace,
	dump.Spaces:     insertSpace,
	dump.Records: "INSERT INTO loci.record (tenant, id, namespace, slot_hash, slot_head, slot_tail, " +
		dump.RecordColumns + ") VALUES ",
	dump.Revisions: insertRevision,
	dump.Vectors:   insertVector,
	dump.Links:     insertLink,
	dump.Events:    "INSERT INTO loci.event (tenant, seq, " + dump.EventColumns + ") VALUES ",
	dump.Replies:   insertReply,
}

// columns is a row as our tables have it.
func (c *Copy) columns(x *tx, table dump.Table, row dump.Row) []any {
	out := []any{x.t.key}
	switch table {
	case dump.Namespaces:
		var head, tail any
		if key := string(bytesOf(row[3])); row[2] == int64(1) {
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
			Kind:      loci.Kind(bytesOf(row[17])), Slot: string(bytesOf(row[2])),
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
			if i > 4 && i < 12 { // what is never NULL, though an old file may lack it
				out[i] = some(out[i])
			}
		}
		return out
	case dump.Replies:
		hash := batch.HashOf(string(bytesOf(row[0])))
		return append(out, hash, row[1], row[2], row[3], some(row[0]), some(row[4]), some(row[5]))
	}
	return append(out, row...)
}

func bytesOf(column any) []byte {
	b, _ := column.([]byte)
	return b
}

// some is bytes that are not NULL, and any other column as it is.
func some(column any) any {
	if b, ok := column.([]byte); column == nil || ok && len(b) == 0 {
		return []byte{}
	}
	return column
}

// sumQueries list the rows of each table as dump has them: what is a number, and n of what is bytes.
var sumQueries = map[dump.Table]string{
	dump.Namespaces: "SELECT n, mark, (key_head IS NOT NULL)::int::bigint, key_head || key_tail, kinds FROM loci.namespace WHERE tenant = $1",
	dump.Spaces:     "SELECT n, model, dims FROM loci.space WHERE tenant = $1",
	dump.Records: "SELECT id, namespace, slot_head || slot_tail, " + dump.RecordColumns +
		" FROM loci.record WHERE tenant = $1",
	dump.Revisions: "SELECT record, version, updated_at, replaced_at, text, tags, attributes FROM loci.revision WHERE tenant = $1",
	dump.Vectors:   "SELECT record, space, data FROM loci.vector WHERE tenant = $1",
	dump.Links:     "SELECT from_id, type, to_id, created_at, seq FROM loci.link WHERE tenant = $1",
	dump.Events:    "SELECT seq, " + dump.EventColumns + " FROM loci.event WHERE tenant = $1",
	dump.Replies:   "SELECT key, at, expires_at, record, fingerprint, value FROM loci.reply WHERE tenant = $1",
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

// Sums reads a tenant back, all of it as of one moment, and returns its head and what tells
// the rows of each table.
func (s *Store) Sums(ctx context.Context, t loci.Tenant) (head dump.Head, sums map[dump.Table]*dump.Sum, err error) {
	err = s.read(ctx, t, "read a copy back", func(r *reading) error {
		sums = map[dump.Table]*dump.Sum{}
		for _, table := range dump.Tables {
			sum := &dump.Sum{}
			sums[table] = sum
			err := r.query(stmt{sql: sumQueries[table], args: []any{r.t.key}, row: func(row row) error {
				sum.Add(asDumped(table, row))
				return nil
			}})
			if err != nil {
				return err
			}
		}
		st := &r.state
		head = dump.Head{
			Events: st.Events, ChainStart: st.ChainStart, Namespaces: st.Namespaces, Spaces: st.Spaces,
			Active: st.Active, Chain: st.Head,
		}
		copy(head.NameKey[:], st.NameKey)
		return nil
	})
	return head, sums, err
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
		var kinds []string
		for _, kind := range batch.DecodeKinds(r[4]) {
			kinds = append(kinds, string(kind))
		}
		slices.Sort(kinds)
		out[4] = dump.Kinds(kinds)
	}
	return out
}
