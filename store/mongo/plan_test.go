package mongo_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci/store/mongo"
)

// explained are the parts of a command that say what it reads; the rest is about its
// transaction.
var explained = []string{
	"find", "aggregate", "update", "delete", "findAndModify", "filter", "query", "sort", "limit", "projection",
	"pipeline", "cursor", "updates", "deletes", "new", "remove",
}

// shapeOf tells commands that differ in values alone as one.
func shapeOf(v bson.RawValue) string {
	if d, ok := v.DocumentOK(); ok {
		elements, err := d.Elements()
		if err != nil {
			return "?"
		}
		parts := make([]string, len(elements))
		for i, e := range elements {
			parts[i] = e.Key() + ":" + shapeOf(e.Value())
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	if a, ok := v.ArrayOK(); ok {
		values, err := a.Values()
		if err != nil {
			return "?"
		}
		var parts []string
		for _, one := range values {
			if shape := shapeOf(one); !slices.Contains(parts, shape) {
				parts = append(parts, shape)
			}
		}
		return "[" + strings.Join(parts, " ") + "]"
	}
	return ""
}

// queries are the commands that may be explained, one of each shape; an update or a delete of
// several is one each.
func queries(command string, raw bson.Raw) (out map[string]bson.D) {
	out = map[string]bson.D{}
	d := bson.D{}
	elements, err := raw.Elements()
	if err != nil {
		return nil
	}
	for _, e := range elements {
		if slices.Contains(explained, e.Key()) {
			d = append(d, bson.E{Key: e.Key(), Value: e.Value()})
		}
	}
	list, filter := map[string]string{"update": "updates", "delete": "deletes"}[command], ""
	switch command {
	case "find":
		filter = "filter"
	case "findAndModify":
		filter = "query"
	case "aggregate":
		filter = "pipeline"
	case "update", "delete":
		values, err := raw.Lookup(list).Array().Values()
		if err != nil {
			return nil
		}
		for _, one := range values {
			key := command + " " + raw.Lookup(command).StringValue() + " " + shapeOf(one.Document().Lookup("q"))
			out[key] = bson.D{{Key: command, Value: raw.Lookup(command)}, {Key: list, Value: bson.A{one}}}
		}
		return out
	default:
		return nil
	}
	v := raw.Lookup(filter)
	key := command + " " + raw.Lookup(command).StringValue() + " " + shapeOf(v) + " " + raw.Lookup("sort").String()
	out[key] = d
	return out
}

// servedBy is the declared index that a query can read: it begins with the tenant, and as many
// of its next fields as possible are in the filter or the order. A partial one serves only who
// names the field that its documents have. There may be several as good; none: nothing serves it.
func servedBy(collection string, command bson.D) (indexes []string) {
	asked := map[string]bool{}
	fields := func(v any) {
		if d, ok := v.(bson.RawValue).DocumentOK(); ok {
			elements, _ := d.Elements() // it was sent
			for _, e := range elements {
				asked[e.Key()] = true
			}
		}
	}
	for _, e := range command {
		switch e.Key {
		case "filter", "query":
			fields(e.Value)
		case "pipeline":
			fields(e.Value.(bson.RawValue).Array().Index(0).Document().Lookup("$match"))
		case "updates", "deletes":
			fields(e.Value.(bson.A)[0].(bson.RawValue).Document().Lookup("q"))
		}
	}
	if asked["_id"] && (asked["t"] || collection == "lease" || collection == "setting") {
		return []string{"_id"} // whose values begin with the tenant
	}
	most := 0
	for _, x := range mongo.IndexKeys(collection) {
		n := 0
		for n < len(x.Keys) && asked[x.Keys[n]] {
			n++
		}
		if n == 0 || n < most || x.Partial != "" && !asked[x.Partial] || x.Keys[0] != "t" && collection != "tenant" {
			continue
		}
		if n > most {
			most, indexes = n, nil
		}
		indexes = append(indexes, x.Name)
	}
	return indexes
}

// TestQueriesUseIndexes: each shape of query that a store sends can read an index that begins with the
// tenant, and most of them more of it than that. The server of the tests explains no plan of
// MongoDB's, so the declared indexes are what counts.
func TestQueriesUseIndexes(t *testing.T) {
	s := openWith(t, keptDatabase(t), (&mongo.Options{}).Shelve(1, 3, true))
	commands.Lock()
	commands.shapes = map[string]bson.D{}
	commands.Unlock()
	useEverything(t, s, s)
	commands.Lock()
	shapes := commands.shapes
	commands.shapes = nil
	commands.Unlock()
	if len(shapes) < 60 {
		t.Errorf("%d shapes of queries were seen; there are more", len(shapes))
	}
	used := map[string]bool{}
	for key, command := range shapes {
		collection := strings.Fields(key)[1]
		indexes := servedBy(collection, command)
		if len(indexes) == 0 {
			t.Errorf("no index serves %s", key)
		}
		for _, index := range indexes {
			used[collection+"."+index] = true
		}
	}
	for _, want := range []string{
		"record.place", "record.slot", "record.slot_hash", "record.expiry", "record.due", "record.shard", "event.entity", "event.seq",
		"namespace.key", "namespace.mark", "namespace.changed", "tenant.name", "link.from", "link.to", "revision.record",
		"vector.record", "vector.space", "reply.expiry", "reply.record", "piece.record", "change.id", "setting.id",
		"image.segments", "segment.segment",
	} {
		if !used[want] {
			t.Errorf("the index %s serves nothing: %v", want, used)
		}
	}
	for _, bad := range []bson.D{
		{}, {{Key: "kind", Value: "x"}}, {{Key: "slot_hash", Value: "x"}}, {{Key: "_id", Value: "x"}},
	} {
		raw, err := bson.Marshal(bson.D{{Key: "filter", Value: bad}})
		if err != nil {
			t.Fatal(err)
		}
		if found := servedBy("record", bson.D{{Key: "filter", Value: bson.Raw(raw).Lookup("filter")}}); len(found) > 0 {
			t.Errorf("%v is said to read %s", bad, found)
		}
	}
}
