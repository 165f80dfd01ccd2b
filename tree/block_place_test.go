package tree_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// The ids of a file's blocks begin as its own does, so that files made together lie together;
// those of a file of an older build do not, and all that files are for goes on with it.
func TestBlocksLieBesideTheirFile(t *testing.T) {
	t.Parallel()
	store := locitest.OpenSQLite(t)
	m := newTree(t, locitest.NewEngine(t, store, loci.Options{}), "")
	long := strings.Repeat("a line of a file that has some blocks\n", 400)
	writeFile(t, m, "/new", long)
	if err := m.WriteAsBefore(t.Context(), "/old", long); err != nil {
		t.Fatal(err)
	}
	beside := func(path string) (yes, no int) {
		info, err := m.Stat(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		f := loci.Filter{
			Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{tree.KindBlock},
			Sequences: []string{info.ID.String()}, NotLive: true,
		}
		records, _, err := store.Records(t.Context(), locitest.Tenant(t, "t"), f, loci.Page{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			if bytes.Equal(records[i].ID[:8], info.ID[:8]) {
				yes++
			} else {
				no++
			}
		}
		return yes, no
	}
	if yes, no := beside("/new"); yes < 4 || no > 0 {
		t.Errorf("of a new file %d blocks lie beside it, and %d do not", yes, no)
	}
	if yes, no := beside("/old"); yes > 0 || no < 4 {
		t.Errorf("of an old file %d blocks lie beside it, and %d do not", yes, no)
	}
	for _, path := range []string{"/old", "/new"} {
		if _, err := m.Append(t.Context(), path, "the end"); err != nil {
			t.Fatal(err)
		}
		want := "the start\n" + long + "the end"
		writeFile(t, m, path, want)
		if got, err := m.Read(t.Context(), path); got != want || err != nil {
			t.Errorf("%s has %d bytes, %v; want %d", path, len(got), err, len(want))
		}
	}
	if _, err := m.Delete(t.Context(), "/"); err != nil {
		t.Fatal(err)
	}
	left := loci.Filter{Within: []loci.Namespace{m.Namespace()}, NotLive: true}
	if n, err := store.Count(t.Context(), locitest.Tenant(t, "t"), left); err != nil || n.Records != 1 {
		t.Errorf("left: %+v, %v", n, err)
	}
}
