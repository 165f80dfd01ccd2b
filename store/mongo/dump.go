package mongo

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/dump"
)

// How columns of a dump are kept in documents.
const (
	asID     = iota // behind the tenant in the _id
	asInt           // missing: none
	asFloat         // missing: none
	asBool          // 0 or 1
	asBytes         // missing: none
	asSorted        // text in the order of bytes
	asNamed         // 1: the next column is there
)

// A column is one of a dump and the field that holds it.
type column struct {
	field string
	form  int
}

// columnsOf are the columns of each table, in the order of the dump.
var columnsOf = map[dump.Table][]column{
	dump.Namespaces: {{"n", asInt}, {"mark", asSorted}, {"key", asNamed}, {"key", asSorted}, {"kinds", asBytes}},
	dump.Spaces:     {{"n", asInt}, {"model", asBytes}, {"dims", asInt}},
	dump.Records: {
		{fID, asID}, {"namespace", asInt}, {"slot", asSorted}, {"version", asInt}, {"created_at", asInt},
		{"updated_at", asInt}, {"expires_at", asInt}, {"uses", asInt}, {"used_at", asInt}, {"ends_at", asInt},
		{"due_at", asInt}, {"position", asInt}, {"passage_count", asInt}, {"confidence", asFloat},
		{"decay_rate", asFloat}, {"decay_from", asInt}, {"live", asBool}, {"kind", asBytes}, {"scope", asBytes},
		{"status", asBytes}, {"sequence", asBytes}, {"heading", asBytes}, {"passages", asBytes}, {"tags", asBytes},
		{"attributes", asBytes}, {"body", asBytes}, {"text", asBytes},
	},
	dump.Revisions: {
		{"record", asBytes}, {"version", asInt}, {"updated_at", asInt}, {"replaced_at", asInt}, {"text", asBytes},
		{"tags", asBytes}, {"attributes", asBytes},
	},
	dump.Vectors: {{"record", asBytes}, {"space", asInt}, {"data", asBytes}},
	dump.Links: {
		{"from_id", asBytes}, {"type", asBytes}, {"to_id", asBytes}, {"created_at", asInt}, {"seq", asInt},
	},
	dump.Events: {
		{"seq", asInt}, {"id", asBytes}, {"namespace", asInt}, {"occurred_at", asInt}, {"type", asBytes},
		{"kind", asBytes}, {"entity", asBytes}, {"actor", asBytes}, {"request_id", asBytes}, {"digest", asBytes},
		{"sealed", asBytes}, {"nonce", asBytes}, {"payload", asBytes}, {"former", asBytes},
	},
	dump.Replies: {
		{"key", asBytes}, {"at", asInt}, {"expires_at", asInt}, {"record", asBytes}, {"fingerprint", asBytes},
		{"value", asBytes},
	},
}

// collectionOf are the collections of tables, and how long what follows the tenant in an _id is.
var collectionOf = map[dump.Table]struct {
	name string
	size int
}{
	dump.Namespaces: {cNamespace, 8},
	dump.Spaces:     {cSpace, 8},
	dump.Records:    {cRecord, 16},
	dump.Revisions:  {cRevision, 24},
	dump.Vectors:    {cVector, 24},
	dump.Links:      {cLink, 0}, // it differs
	dump.Events:     {cEvent, 8},
	dump.Replies:    {cReply, 32},
}

// Where a row has what comes in pieces, and what its pieces are told by.
const (
	recordText   = 26
	revisionText = 4
)

// Holds reports whether there is anything of a tenant.
func (s *Store) Holds(ctx context.Context, t loci.Tenant) (holds bool, err error) {
	err = s.read(ctx, t, "look for data", func(r *reading) error {
		err := r.glance()
		holds = r.state.Name != ""
		return err
	})
	return holds, err
}

// DumpHead is what stands above the rows of a tenant.
func (s *Store) DumpHead(ctx context.Context, t loci.Tenant) (head dump.Head, err error) {
	err = s.read(ctx, t, "read the head of a copy", func(r *reading) error {
		err := r.glance()
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
		out, next, err = moment{r}.Dump(ctx, t, table, cursor, limit)
		return err
	})
	return out, next, err
}

// A moment shows a tenant as it was when it was looked at first.
type moment struct{ *reading }

// AsOf shows a function a tenant, all of it as of one moment, while others write. The
// database ends it after its transactionLifetimeLimitSeconds.
func (s *Store) AsOf(ctx context.Context, t loci.Tenant, do func(dump.Rows) error) error {
	return s.read(ctx, t, "read a copy", func(r *reading) error { return do(moment{r}) })
}

// DumpHead implements [dump.Rows].
func (m moment) DumpHead(context.Context, loci.Tenant) (dump.Head, error) {
	err := m.start()
	return m.state.DumpHead(), err
}

// Dump implements [dump.Rows].
func (m moment) Dump(
	_ context.Context, _ loci.Tenant, table dump.Table, cursor string, limit int,
) (out []dump.Row, next string, err error) {
	after, err := dump.Parts(cursor)
	if err == nil {
		err = m.start()
	}
	switch {
	case err != nil:
		return nil, "", err
	case table == dump.Links:
		out, next, err = m.dumpLinks(after, limit)
	default:
		out, next, err = m.dump(table, after, limit)
	}
	if err != nil || len(out) == 0 {
		return nil, "", err
	}
	return out, next, nil
}

// errFull ends a look at a table that brought enough.
var errFull = errors.New("that is enough at once")

// dump reads rows in the order of their _ids, which all have one length: nothing of another
// tenant is between the first and the last that this one may have.
func (r *reading) dump(table dump.Table, after []any, limit int) (out []dump.Row, next string, err error) {
	c := collectionOf[table]
	from := is("$gte", keyed(r.t.key, make([]byte, c.size)))
	if len(after) > 0 {
		from = is("$gt", keyed(r.t.key, dump.Bytes(after[0])))
	}
	until := bson.E{Key: "$lte", Value: keyed(r.t.key, bytes.Repeat([]byte{255}, c.size))}
	size := 0
	var last []byte
	var cut []int
	err = r.find(c.name, r.t.about(bson.E{Key: fID, Value: append(from, until)}), func(d *doc) error {
		if d.bool("pieces") {
			cut = append(cut, len(out))
		}
		out, last = append(out, d.row(table)), bytes.Clone(d.behind())
		if size += out[len(out)-1].Size(); size >= dump.MostBytes && d.err == nil {
			return errFull
		}
		return nil
	}, options.Find().SetSort(is(fID, 1)).SetLimit(int64(limit)))
	if err != nil && !errors.Is(err, errFull) {
		return nil, "", err
	}
	for _, i := range cut {
		version, text := int64(0), recordText
		if table == dump.Revisions {
			version, text = out[i][1].(int64), revisionText
		}
		var id loci.ID
		copy(id[:], dump.Bytes(out[i][0]))
		rest, err := r.x.rest(r.ctx, r.t, id, version)
		if err != nil {
			return nil, "", err
		}
		out[i][text] = append(dump.Bytes(out[i][text]), rest...)
	}
	return out, dump.Cursor(last), nil
}

// dumpLinks reads all links each time, since no index has them in their order, and returns
// more at once.
func (r *reading) dumpLinks(after []any, limit int) (out []dump.Row, next string, err error) {
	err = r.find(cLink, r.t.about(), func(d *doc) error {
		out = append(out, d.row(dump.Links))
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(out, func(a, b dump.Row) int {
		order := func(i int) int { return bytes.Compare(dump.Bytes(a[i]), dump.Bytes(b[i])) }
		return cmp.Or(cmp.Compare(a[3].(int64), b[3].(int64)), cmp.Compare(a[4].(int64), b[4].(int64)),
			order(0), order(1), order(2))
	})
	for i := range out {
		out[i][4] = int64(i + 1 - len(out))
	}
	from := int64(0)
	if len(after) > 0 {
		from = after[0].(int64)
	}
	until := min(from+int64(10*limit), int64(len(out)))
	return out[min(from, until):until], dump.Cursor(until), nil
}

// row is a document as the dump has it.
func (d *doc) row(table dump.Table) dump.Row {
	columns := columnsOf[table]
	out := make(dump.Row, len(columns))
	for i, c := range columns {
		switch there := d.has(c.field); {
		case c.form == asID:
			out[i] = bytes.Clone(d.behind())
		case c.form == asNamed:
			out[i] = oneIf(there)
		case !there:
		case c.form == asInt:
			out[i] = d.int(c.field)
		case c.form == asFloat:
			out[i] = d.float(c.field)
		case c.form == asBool:
			out[i] = oneIf(d.bool(c.field))
		case c.form == asBytes:
			out[i] = bytes.Clone(d.bytes(c.field))
		case c.form == asSorted:
			out[i] = []byte(d.sorted(c.field))
		}
	}
	if table == dump.Namespaces {
		out[4] = batch.SortKinds(dump.Bytes(out[4]))
	}
	return out
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
