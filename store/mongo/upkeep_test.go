package mongo_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// shapesOf are the shapes of the commands that a call sends and that are about a collection.
func shapesOf(collection string, call func()) (shapes []string) {
	commands.Lock()
	commands.shapes = map[string]bson.D{}
	commands.Unlock()
	call()
	commands.Lock()
	defer commands.Unlock()
	for shape := range commands.shapes {
		if strings.Fields(shape)[1] == collection {
			shapes = append(shapes, shape)
		}
	}
	commands.shapes = nil
	return shapes
}

// TestUpkeepReadsNoRecords: where the kept counts say that each record has vectors, none is looked at to find one without.
// Nor are namespaces listed to find records that are named.
func TestUpkeepReadsNoRecords(t *testing.T) {
	s, tn, id := open(t), locitest.Tenant(t, "upkeep"), loci.NewID()
	if err := s.Apply(t.Context(), tn, noted(id)); err != nil {
		t.Fatal(err)
	}
	space := loci.Space{Model: "model", Dims: 3}
	f := loci.Filter{Within: []loci.Namespace{{"user"}}, IDs: []loci.ID{id}}
	sent := shapesOf("namespace", func() {
		found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 10})
		n, failed := s.Count(t.Context(), tn, f)
		if err != nil || failed != nil || len(found) != 1 || n.Records != 1 {
			t.Fatalf("%d records, %+v counted, %v, %v", len(found), n, err, failed)
		}
		f.Within = []loci.Namespace{{"another"}}
		if found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 10}); err != nil || len(found) != 0 {
			t.Fatalf("%d records of another namespace, %v", len(found), err)
		}
	})
	for _, shape := range sent {
		if strings.Contains(shape, "key:{$gte") {
			t.Errorf("namespaces are listed for a named record: %s", shape)
		}
	}
	lacking := func() (found []loci.Record) {
		var err error
		if found, err = s.Unembedded(t.Context(), tn, space, loci.ID{}, 10); err != nil {
			t.Fatal(err)
		}
		return found
	}
	found := lacking()
	if len(found) != 1 {
		t.Fatalf("%d records without vectors", len(found))
	}
	vectors := loci.RecordVectors{ID: id, Version: found[0].Version, Vectors: loci.Vectors{Space: space}}
	for range found[0].Passages {
		vectors.Vectors.Rows = append(vectors.Vectors.Rows, []float32{1, 0, 0})
	}
	if err := s.PutVectors(t.Context(), tn, []loci.RecordVectors{vectors}); err != nil {
		t.Fatal(err)
	}
	if sent := shapesOf("record", func() { found = lacking() }); len(found) != 0 || len(sent) > 0 {
		t.Errorf("%d records without vectors, and %q is asked", len(found), sent)
	}
}
