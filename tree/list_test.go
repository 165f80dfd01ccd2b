package tree_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/tree"
)

// A function that is nil is refused, and does not end the program.
func TestTreeRefusesNoFunction(t *testing.T) {
	filed := newTree(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "")
	if _, err := filed.WriteAll(t.Context(), []tree.FileContent{{Path: "/a/f", Content: "x"}}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := filed.Edit(t.Context(), "/a/f", nil, nil)
	locitest.WantCode(t, err, loci.Invalid)
	locitest.WantCode(t, filed.Walk(t.Context(), "/a", nil), loci.Invalid)
}

// A list of a directory takes the records of its files one by one, where they lie: a list of them first, or pieces
// of memory for each, cost most of what the list did. A file that cannot be read is an error, never an empty one.
func TestListTakesRecordsOneByOne(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		filed := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		files := make([]tree.FileContent, 200)
		for i := range files {
			files[i] = tree.FileContent{Path: fmt.Sprintf("/many/f%03d", i), Content: "a line\na line"}
		}
		if _, err := filed.WriteAll(t.Context(), files, nil); err != nil {
			t.Fatal(err)
		}
		list, err := filed.List(t.Context(), "/many")
		if err != nil || len(list) != len(files) {
			t.Fatal(len(list), err)
		}
		for i, info := range list {
			if info.Path != files[i].Path || info.Bytes != 13 || info.Lines != 2 || info.Dir || info.Version != 1 {
				t.Fatalf("%+v", info)
			}
		}
		if _, ok := s.(*sqlite.Store); ok {
			if n := testing.AllocsPerRun(20, func() { _, _ = filed.List(t.Context(), "/many") }); n > 130 {
				t.Errorf("a list of 200 files takes %v pieces of memory", n)
			}
		}
		tenant := locitest.Tenant(t, "t")
		place := loci.Filter{Within: []loci.Namespace{filed.Namespace()}, Exact: true}
		place.Kinds = []loci.Kind{tree.KindFile}
		page := loci.Page{Limit: 1000, Order: loci.SlotAscending}
		records, _, err := s.Records(t.Context(), tenant, place, page)
		if err != nil {
			t.Fatal(err)
		}
		damaged := records[len(records)-1]
		damaged.Version, damaged.Attributes = damaged.Version+1, json.RawMessage(`{"bytes":"?"}`)
		if err := s.Apply(t.Context(), tenant, loci.Change{Put: []loci.Put{{Record: damaged}}}); err != nil {
			t.Fatal(err)
		}
		if list, err := filed.List(t.Context(), "/many"); err == nil {
			t.Errorf("a damaged file is listed: %+v", list[len(list)-1])
		}
	})
}
