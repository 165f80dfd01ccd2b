package tree_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// treeOf shows a tree in full: paths, contents and contents of versions.
func treeOf(t *testing.T, files *tree.Tree) (lines []string) {
	t.Helper()
	err := files.Walk(t.Context(), "/", func(f tree.FileInfo) bool {
		if f.Dir {
			lines = append(lines, f.Path+"/")
			return true
		}
		versions, err := files.Versions(t.Context(), f.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			content, err := files.ReadVersion(t.Context(), f.Path, v.Version)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, fmt.Sprintf("%s@%d %x %v %v", f.Path, v.Version, content, v.WrittenAt, v.Current))
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// TestExportCarriesTrees exports trees and imports them into another store, into another
// namespace of it, and again where they are.
func TestExportCarriesTrees(t *testing.T) {
	locitest.Unshared(t)
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		e := locitest.NewEngine(t, store, loci.Options{})
		m := locitest.Bind(t, e, "user", "ann")
		files := newTree(t, e, "")
		thread, err := tree.Of(m, "other", "7")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, thread, "/mine", "of the thread")
		if err := files.MakeDir(t.Context(), "/empty/dir"); err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("A line of a long file, é and ☃.\n", 1000)
		writeFile(t, files, "/a/long", long)
		for i := range 15 {
			writeFile(t, files, "/a/long", strings.Replace(long, "line", fmt.Sprint("row ", i), 1+i*60))
			if _, err := files.Append(t.Context(), "/a/long", "more"); err != nil {
				t.Fatal(err)
			}
		}
		if err := files.Rename(t.Context(), "/a", "/b"); err != nil {
			t.Fatal(err)
		}
		writeFile(t, files, "/b/empty", "")
		locitest.Save(t, m, "A note beside the files.")
		var out bytes.Buffer
		records, err := m.Export(t.Context(), &out, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := treeOf(t, files)
		in := func(to *loci.Memory, created, existing, conflicts int64) {
			t.Helper()
			report, err := to.Import(t.Context(), bytes.NewReader(out.Bytes()), nil)
			if err != nil || report.Created != created || report.Existing != existing || report.Conflicts != conflicts {
				t.Fatalf("%d records: %+v, %v; want %d, %d, %d", records, report, err, created, existing, conflicts)
			}
		}
		same := func(to *loci.Memory) *tree.Tree {
			t.Helper()
			got, err := tree.Of(to, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if lines := treeOf(t, got); !slices.Equal(lines, want) {
				t.Fatalf("the tree became\n%.400s\nwant\n%.400s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
			}
			n, bytes, err := got.Totals(t.Context())
			if wantN, wantBytes, _ := files.Totals(t.Context()); err != nil || n != wantN || bytes != wantBytes {
				t.Fatalf("totals %+v, %d, %v", n, bytes, err)
			}
			return got
		}
		const all = 2 + 1 + 2 + 1 + 1 // /empty /empty/dir, /b, its two files, the thread's, the note
		if records != all {           // one number, whether it is written or read
			t.Errorf("the export counts %d, an import %d", records, all)
		}
		in(m, 0, all, 0)
		bob := locitest.Bind(t, e, "user", "bob")
		in(bob, all, 0, 0)
		copied := same(bob)
		elsewhere := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "user", "ann")
		in(elsewhere, all, 0, 0)
		same(elsewhere)
		// The copy is searched, changed, restored and erased like any other.
		if r, err := copied.Search(t.Context(), tree.Query{Text: "row 14", Mode: loci.Keyword}); err != nil ||
			len(r.Matches) == 0 {
			t.Errorf("the copy finds %d, %v", len(r.Matches), err)
		}
		for i := range 12 {
			writeFile(t, copied, "/b/long", fmt.Sprint("short ", i))
		}
		in(bob, 0, all-1, 1)
		if _, err := copied.Delete(t.Context(), "/"); err != nil {
			t.Fatal(err)
		}
		left := loci.Filter{Within: []loci.Namespace{copied.Namespace()}, NotLive: true}
		if n, err := store.Count(t.Context(), locitest.Tenant(t, "t"), left); err != nil || n.Records != 1 {
			t.Errorf("left: %+v, %v", n, err)
		}
		same(m)
		damaged := strings.Replace(out.String(), `"position":4`, `"position":5`, 1)
		if _, err := elsewhere.Import(t.Context(), strings.NewReader(damaged),
			nil); loci.AsError(err).Code != loci.Invalid {
			t.Errorf("a damaged file: %v", err)
		}
	})
}

// TestExportCarriesEmptyFiles: a file without a block keeps its id, its times and its versions as any other
// does, and can be written to.
func TestExportCarriesEmptyFiles(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		clock := locitest.NewClock()
		e := locitest.NewEngine(t, store, locitest.Quiet(clock))
		files := newTree(t, e, "")
		writeFile(t, files, "/empty", "")
		var out bytes.Buffer
		if _, err := locitest.Bind(t, e, "user", "ann").Export(t.Context(), &out, nil); err != nil {
			t.Fatal(err)
		}
		want, err := files.Stat(t.Context(), "/empty")
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
		other := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(clock))
		m := locitest.Bind(t, other, "user", "ann")
		if _, err := m.Import(t.Context(), &out, nil); err != nil {
			t.Fatal(err)
		}
		copied := newTree(t, other, "")
		if got, err := copied.Stat(t.Context(), "/empty"); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if _, err := copied.Append(t.Context(), "/empty", "more"); err != nil {
			t.Fatal(err)
		}
		if got, err := copied.Read(t.Context(), "/empty"); err != nil || got != "more" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// An import of many files is many changes, so that others who write wait for a part of it at most: of 200 small files,
// or of a megabyte.
func TestImportsGoInParts(t *testing.T) {
	t.Parallel()
	e := locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{})
	for name, of := range map[string]struct{ files, bytes, changes int }{
		"small": {450, 10, 3}, "large": {5, 600 << 10, 3}, "both": {201, 10 << 10, 2},
	} {
		from := locitest.Bind(t, e, "user", "from "+name)
		files, err := tree.Of(from, "", "")
		if err != nil {
			t.Fatal(err)
		}
		var all []tree.FileContent
		for i := range of.files {
			content := strings.Repeat("a line\n", of.bytes/7)
			all = append(all, tree.FileContent{Path: fmt.Sprintf("/%03d", i), Content: content})
		}
		if _, err := files.WriteAll(t.Context(), all, nil); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := from.Export(t.Context(), &out, nil); err != nil {
			t.Fatal(err)
		}
		to := locitest.Bind(t, e, "user", "to "+name)
		if _, err := to.Import(t.Context(), &out, nil); err != nil {
			t.Fatal(err)
		}
		got, err := tree.Of(to, "", "")
		if err != nil {
			t.Fatal(err)
		}
		root, err := got.Stat(t.Context(), "/") // each change puts it
		if err != nil || root.Version != int64(of.changes) {
			t.Errorf("%s files came in %d changes, %v; want %d", name, root.Version, err, of.changes)
		}
	}
}
