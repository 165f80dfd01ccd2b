package mongo

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

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

// copyPlace reads how far a copy is.
func (x *trans) copyPlace(ctx context.Context, t *tenant) (found dump.Place, err error) {
	id := keyed(t.key, []byte(copyName))
	err = x.find(ctx, cSetting, t.about(bson.E{Key: fID, Value: id}), func(d *doc) error {
		return json.Unmarshal(d.bytes("value"), &found)
	})
	return found, err
}

// BeginCopy begins to copy a tenant whose head is given, or goes on with it, unless what is
// there was begun with another head: then it begins again. Conflict: the tenant holds
// memories of its own.
func (s *Store) BeginCopy(ctx context.Context, t loci.Tenant, head dump.Head) (dump.Copy, error) {
	c := &copying{s: s, t: t, head: head, places: map[int64]string{}}
	err := s.read(ctx, t, "begin a copy", func(r *reading) error {
		if err := r.start(); err != nil {
			return err
		}
		found, err := r.x.copyPlace(ctx, r.t)
		if err != nil {
			return err
		}
		if found.Goes(head, r.state.Name != "") {
			c.at = found
			return r.find(cNamespace, r.t.about(bson.E{Key: "key", Value: is("$exists", true)}), func(d *doc) error {
				c.places[d.int("n")] = d.sorted("key")
				return nil
			})
		}
		if r.state.Name != "" {
			return dump.NotACopy(t)
		}
		return nil
	})
	if err != nil || c.at.Head == head {
		return c, err
	}
	if err := c.clear(ctx); err != nil {
		return nil, err
	}
	return c, c.step(ctx, "begin a copy", dump.Begin(head), func(x *tx) error {
		x.State.NameKey = loci.NameKey(head.NameKey[:])
		return nil
	})
}

// clear takes away what an unfinished copy left, or an erase that failed.
func (c *copying) clear(ctx context.Context) error {
	g, err := c.s.lobby.Enter(ctx, c.t)
	if err != nil {
		return err
	}
	defer c.s.lobby.Leave(g)
	for more := true; more; {
		j := &job{Time: eraseTime, Decide: func(x *tx) (err error) {
			if x.State.Name != "" {
				return dump.Disturbed(c.t)
			}
			more, err = x.eraseSome()
			return err
		}}
		if err := c.s.write(ctx, g, j); err != nil {
			return translate("begin a copy", err)
		}
	}
	return nil
}

// Place implements [dump.Copy].
func (c *copying) Place() dump.Place { return c.at }

// Close implements [dump.Copy].
func (c *copying) Close() error { return nil }

// Take implements [dump.Copy].
func (c *copying) Take(ctx context.Context, rows []dump.Row, cursor string) error {
	table := dump.Tables[c.at.Table]
	return c.step(ctx, "copy", c.at.Next(len(rows), cursor), func(x *tx) error {
		x.Took(table, rows)
		for _, row := range rows {
			if err := c.take(x, table, row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Finish implements [dump.Copy].
func (c *copying) Finish(ctx context.Context) error {
	next := c.at
	next.Done = true
	if err := c.step(ctx, "finish a copy", next, func(x *tx) error {
		x.State.TakeHead(x.t.name, &c.head)
		return nil
	}); err != nil {
		return err
	}
	return mender{c.s}.Recount(ctx, c.t)
}

// step writes a part and how far the copy is then, in one transaction. Conflict: somebody
// else writes there, too.
func (c *copying) step(ctx context.Context, op string, next dump.Place, do func(*tx) error) error {
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
		err := x.now(func(context.Context) (err error) {
			found, err = x.copyPlace(x.ctx, x.t)
			return err
		})
		switch {
		case err != nil:
			return err
		case x.State.Name != "" || !fresh && found != c.at:
			return dump.Disturbed(c.t)
		}
		if err := do(x); err != nil {
			return err
		}
		id := keyed(x.t.key, []byte(copyName))
		x.add(cSetting, mongo.NewReplaceOneModel().SetUpsert(true).SetFilter(x.t.about(bson.E{Key: fID, Value: id})).
			SetReplacement(bson.D(x.document(id, bson.E{Key: "value", Value: binaryOf(place)}))))
		return nil
	}}
	if err := translate(op, c.s.write(ctx, g, j)); err != nil {
		return err
	}
	c.at = next
	return nil
}

// always are the columns of bytes that a document has though they are empty.
var always = map[string]bool{"kinds": true, "data": true, "key": true, "fingerprint": true, "value": true}

// take stages a row.
func (c *copying) take(x *tx, table dump.Table, row dump.Row) error {
	var f fields
	text := []byte(nil)
	for i, col := range columnsOf[table] {
		switch value := row[i]; {
		case col.form == asID || col.form == asNamed:
		case col.field == "text":
			text = dump.Bytes(value)
		case col.form == asSorted && col.field == "key":
			if row[i-1] == int64(1) {
				f.set("key", inOrder(string(dump.Bytes(value))))
			}
		case col.form == asSorted && (col.field == "mark" || len(dump.Bytes(value)) > 0):
			f.set(col.field, inOrder(string(dump.Bytes(value))))
		case col.form == asBytes && always[col.field]:
			f.set(col.field, binaryOf(dump.Bytes(value)))
		case col.form == asBytes:
			f.bytes(col.field, dump.Bytes(value))
		case col.form == asBool:
			f.set(col.field, value == int64(1))
		case value != nil:
			f.set(col.field, value)
		}
	}
	if size := row.Size() - max(len(text)-pieceBytes, 0); size > largest {
		return loci.Errorf(loci.Invalid,
			"a %s of the tenant %q, %s, takes %d bytes; the limit of a document in MongoDB is %d: keep large things elsewhere",
			table, c.t, hex.EncodeToString(dump.Bytes(row[0])), size, largest)
	}
	c.insert(x, table, row, f, text)
	return nil
}

// insert stages the document of a row, and what else is told of it.
func (c *copying) insert(x *tx, table dump.Table, row dump.Row, f fields, text []byte) {
	part := func(i int) []byte { return dump.Bytes(row[i]) }
	of := func(parts ...[]byte) fields { return append(x.document(keyed(x.t.key, parts...)), f...) }
	switch table {
	case dump.Namespaces:
		n := row[0].(int64)
		if row[2] == int64(1) {
			c.places[n] = string(part(3))
		}
		f.set("changed", x.State.Seq)
		x.insert(cNamespace, of(number(n)))
	case dump.Spaces:
		f.set("dropped", int64(0))
		x.insert(cSpace, of(number(row[0].(int64))))
	case dump.Records:
		var id loci.ID
		copy(id[:], part(0))
		if len(part(2)) > 0 {
			f.bytes("slot_hash", []byte(batch.SlotHash(&loci.Record{
				Namespace: loci.NamespaceFromKey(c.places[row[1].(int64)]),
				Kind:      loci.Kind(part(17)), Slot: string(part(2)),
			})))
		}
		f.cut(text)
		f.set("text_bytes", int64(len(text)))
		f.set("spaces", []int64{})
		x.insert(cRecord, of(part(0)))
		x.pieces(id, 0, text)
	case dump.Revisions:
		var id loci.ID
		copy(id[:], part(0))
		f.cut(text)
		x.insert(cRevision, of(part(0), number(row[1].(int64))))
		x.pieces(id, row[1].(int64), text)
	case dump.Vectors:
		space := row[1].(int64)
		x.insert(cVector, of(part(0), number(space)))
		x.change(cRecord, keyed(x.t.key, part(0)), is("$addToSet", is("spaces", space)))
	case dump.Links:
		x.insert(cLink, of(part(0), part(2), part(1)))
	case dump.Events:
		x.insert(cEvent, of(number(row[0].(int64))))
	case dump.Replies:
		x.insert(cReply, of(batch.HashOf(string(part(0)))))
	}
}
