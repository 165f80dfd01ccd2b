package mongo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci/internal/mongotest"
)

// explained are the parts of a command that an explanation takes; the rest is about its
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

// stagesOf collects the names of a plan's stages and the indexes that it reads.
func stagesOf(v bson.RawValue, stages, indexes map[string]bool) {
	if a, ok := v.ArrayOK(); ok {
		values, _ := a.Values() // it was sent by a server
		for _, one := range values {
			stagesOf(one, stages, indexes)
		}
		return
	}
	d, ok := v.DocumentOK()
	if !ok {
		return
	}
	if name, ok := d.Lookup("stage").StringValueOK(); ok {
		stages[name] = true
	}
	if name, ok := d.Lookup("indexName").StringValueOK(); ok {
		indexes[name] = true
	}
	elements, _ := d.Elements()
	for _, e := range elements {
		if e.Key() != "rejectedPlans" {
			stagesOf(e.Value(), stages, indexes)
		}
	}
}

// TestQueriesUseIndexes: each shape of query that a store sends reads an index, never a whole
// collection, by the explanation of the server.
func TestQueriesUseIndexes(t *testing.T) {
	s := open(t)
	commands.Lock()
	commands.shapes = map[string]bson.D{}
	commands.Unlock()
	useEverything(t, s)
	commands.Lock()
	shapes := commands.shapes
	commands.shapes = nil
	commands.Unlock()
	if len(shapes) < 40 {
		t.Errorf("%d shapes of queries were seen; there are more", len(shapes))
	}
	at, known := urlOf(t, s), map[string]bool{}
	if err := mongotest.Shared(t).With(nameOf(at), func(ctx context.Context, db *driver.Database) error {
		for key, command := range shapes {
			raw, err := db.RunCommand(ctx, bson.D{{Key: "explain", Value: command}, {Key: "verbosity", Value: "queryPlanner"}}).Raw()
			if err != nil {
				t.Errorf("%s: %v", key, err)
				continue
			}
			stages, indexes := map[string]bool{}, map[string]bool{}
			stagesOf(bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw}, stages, indexes)
			if stages["COLLSCAN"] || len(indexes) == 0 && !stages["IDHACK"] && !stages["EXPRESS_IXSCAN"] {
				t.Errorf("%s: %v %v", key, stages, indexes)
			}
			for name := range indexes {
				known[fmt.Sprint(strings.Fields(key)[1], ".", name)] = true
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d shapes, %v", len(shapes), known)
}
