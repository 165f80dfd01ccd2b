package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/tree"
)

// newTree makes a handle of the shared tree of a name.
func newTree(t testing.TB, e *loci.Engine, name string) *tree.Tree {
	t.Helper()
	files, err := tree.Of(locitest.Bind(t, e, "user", "ann"), name, "")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// treeCase is a step of a test and what it must say.
type treeCase struct {
	name string
	do   func() error
	want tree.Errno
	text string // the message; empty: any
}

// A write that changes nothing says so, and keeps the version.
func TestTreeSaysUnchanged(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		files := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		for i, c := range []struct {
			do        func() (tree.FileInfo, error)
			unchanged bool
			version   int64
		}{
			{func() (tree.FileInfo, error) { return files.Write(t.Context(), "/a", "one", nil) }, false, 1},
			{func() (tree.FileInfo, error) { return files.Write(t.Context(), "/a", "one", nil) }, true, 1},
			{func() (tree.FileInfo, error) { return files.Append(t.Context(), "/a", "two") }, false, 2},
			{func() (tree.FileInfo, error) { return files.Write(t.Context(), "/a", "one\ntwo", nil) }, true, 2},
			{func() (tree.FileInfo, error) { return files.Restore(t.Context(), "/a", 1) }, false, 3},
			{func() (tree.FileInfo, error) { return files.Restore(t.Context(), "/a", 1) }, true, 3},
		} {
			if info, err := c.do(); err != nil || info.Unchanged != c.unchanged || info.Version != c.version {
				t.Errorf("step %d: unchanged %t at version %d, %v; want %t at %d", i, info.Unchanged, info.Version, err, c.unchanged, c.version)
			}
		}
		if info, err := files.Stat(t.Context(), "/a"); err != nil || info.Unchanged {
			t.Errorf("a file that was only looked at: %+v, %v", info, err)
		}
	})
}

// TestTreeErrors: each call that a tree refuses has its code and sentence, and leaves nothing
// behind.
func TestTreeErrors(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		e := locitest.NewEngine(t, store, loci.Options{Features: []loci.Feature{tree.Feature{
			MaxFileBytes:  10_000,
			MaxTreeBytes:  12_000,
			MaxEntries:    6,
			MaxDirEntries: 3,
		}}})
		files := newTree(t, e, "")
		add := func(path string, bytes int) func() error {
			return func() error { _, err := files.Append(t.Context(), path, strings.Repeat("x", bytes)); return err }
		}
		for _, c := range []treeCase{
			{"read nothing", func() error { _, err := files.Read(t.Context(), "/a"); return err }, tree.ENOENT, "ENOENT: file not found"},
			{"a file", add("/d/a", 5), "", ""},
			{"read a directory", func() error { _, err := files.Read(t.Context(), "/d"); return err }, tree.EISDIR, "EISDIR: path is a directory"},
			{"read the root", func() error { _, err := files.Read(t.Context(), "/"); return err }, tree.EISDIR, "EISDIR: path is a directory"},
			{"append to the root", add("/", 1), tree.EISDIR, ""},
			{"below a file", add("/d/a/b/c", 1), tree.ENOTDIR, ""},
			{"read below a file", func() error { _, err := files.Read(t.Context(), "/d/a/b"); return err }, tree.ENOENT, ""},
			{"too large a file", add("/d/a", 10_000), tree.EFBIG, ""},
			{"grown by an update", func() error {
				_, err := files.Update(t.Context(), "/d/a", "x", strings.Repeat("y", 3000))
				return err
			}, tree.EFBIG, ""},
			{"large enough", add("/d/b", 9000), "", ""},
			{"too large a tree", add("/d/a", 4000), tree.ENOSPC, ""},
			{"a third child", add("/d/c", 1), "", ""},
			{"too many children", add("/d/d", 1), tree.ENOSPC, ""},
			{"more entries", add("/e/f", 1), "", ""},
			{"too many entries", add("/e/g", 1), tree.ENOSPC, ""},
			{"create over a file", func() error {
				_, err := files.Write(t.Context(), "/d/a", "", &tree.WriteOptions{Create: true})
				return err
			}, tree.EEXIST, ""},
			{"another version", func() error {
				_, err := files.Write(t.Context(), "/d/a", "", &tree.WriteOptions{IfVersion: 9})
				return err
			}, tree.EAGAIN, ""},
			{"no UTF-8", func() error { _, err := files.Append(t.Context(), "/d/a", "\xff"); return err }, tree.EINVAL, ""},
			{"insert beyond the end", func() error { _, err := files.Insert(t.Context(), "/d/a", 2, "x"); return err }, tree.EINVAL, ""},
			{"a version that is not kept", func() error { _, err := files.Restore(t.Context(), "/d/a", 99); return err }, tree.ENOENT, ""},
		} {
			err := c.do()
			if got := tree.ErrnoOf(err); got != c.want || c.text != "" && err.Error() != c.text {
				t.Errorf("%s: %v (%s), want %s %s", c.name, err, got, c.want, c.text)
			}
		}
		// A refused change has left nothing behind.
		if n, bytes, err := files.Totals(t.Context()); err != nil ||
			n != (tree.Counts{Files: 4, Dirs: 2}) || bytes != 9007 {
			t.Errorf("the tree has %+v and %d bytes, %v", n, bytes, err)
		}
	})
}

// TestReplaceOnce: a text is replaced only if it occurs exactly once, counting overlaps; else
// the error names its lines and the file stays.
func TestReplaceOnce(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		files := newTree(t, locitest.NewEngine(t, store, loci.Options{}), "")
		for _, c := range []struct {
			text, old, content string
			after              string
			line               int64   // that was changed
			lines              []int64 // where the text is, if it is not there once
		}{
			{"a\nb\nc", "b", "B\nb", "a\nB\nb\nc", 2, nil},
			{"a\nb\nc", "a\nb\nc", "", "", 1, nil},
			{"a\nb\nc", "x", "y", "", 0, nil},
			{"aaa", "aa", "b", "ba", 1, nil},
			{"aaaa\n", "aa", "b", "", 0, []int64{1, 1, 1}},
			{"\n\nx\n\nx", "\n\nx", "", "", 0, []int64{1, 3}},
			{"\n\n\n\n", "\n\n", "", "", 0, []int64{1, 2, 3}},
		} {
			writeFile(t, files, "/f", c.text)
			done, err := files.ReplaceOnce(t.Context(), "/f", c.old, c.content)
			var o *tree.OccurrencesError
			if c.line == 0 {
				if !errors.As(err, &o) || !slices.Equal(o.Lines, c.lines) || tree.ErrnoOf(err) != tree.EINVAL {
					t.Errorf("%q in %q: %+v, %v", c.old, c.text, o, err)
				}
				c.after = c.text
			} else if err != nil || done.Line != c.line {
				t.Errorf("%q in %q: line %d, %v", c.old, c.text, done.Line, err)
			}
			if got, err := files.Read(t.Context(), "/f"); err != nil || got != c.after {
				t.Errorf("%q in %q: now %q, %v", c.old, c.text, got, err)
			}
		}
		writeFile(t, files, "/many", strings.Repeat("x\n", 1000))
		var o *tree.OccurrencesError
		if _, err := files.ReplaceOnce(t.Context(), "/many", "x", ""); !errors.As(err, &o) || len(o.Lines) != 100 {
			t.Errorf("%v", err)
		}
		for path, want := range map[string]tree.Errno{"/none": tree.ENOENT, "/": tree.EISDIR} {
			if _, err := files.ReplaceOnce(t.Context(), path, "x", ""); tree.ErrnoOf(err) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

func TestCleanPath(t *testing.T) {
	long := strings.Repeat("n", 255)
	for _, c := range []struct{ in, want, err string }{
		{"a", "/a", ""}, {"a//b///c/", "/a/b/c", ""}, {`/a\b`, "", `invalid path: "\" not allowed`}, {"/", "/", ""}, {"//", "/", ""}, {"/a.b/ c_-9/", "/a.b/ c_-9", ""},
		{"/A", "/A", ""}, {".a", "/.a", ""}, {"/" + long, "/" + long, ""}, {strings.Repeat("/a", 32), strings.Repeat("/a", 32), ""},
		{"", "", "path is required"},
		{"/a/../b", "", `invalid path: ".." not allowed`}, {"a..b", "", `invalid path: ".." not allowed`},
		{"/a$", "", `invalid path: "$" not allowed`}, {"/..$", "", `invalid path: ".." not allowed`},
		{"/a/./b", "", "invalid path segment: ."}, {"/a:b", "", "invalid path segment: a:b"}, {"/é", "", "invalid path segment: é"},
		{"/a\x00b", "", "invalid path segment: a\x00b"}, {"/a/ ", "", "invalid path segment:  "}, {"/" + long + "n", "", "invalid path segment: " + long + "n"},
		{strings.Repeat("/a", 33), "", "invalid path: more than 32 levels"},
	} {
		got, err := tree.CleanPath(c.in)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.want || text != c.err {
			t.Errorf("CleanPath(%q) = %q, %q; want %q, %q", c.in, got, text, c.want, c.err)
		}
		if again, err := tree.CleanPath(got); got != "" && (err != nil || again != got) {
			t.Errorf("CleanPath(%q) = %q, %v: not the same again", got, again, err)
		}
	}
}

// TestTreeKeepsItsWriters lets many writers append to one file, delete what others fill, and
// make files in one new directory: nothing acknowledged is lost.
func TestTreeKeepsItsWriters(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		engines := []*loci.Engine{locitest.NewEngine(t, store, loci.Options{}),
			locitest.NewEngine(t, store, loci.Options{})} // as two processes would
		const writers = 16
		lines := locitest.Long(locitest.Unraced(300, 12), 1000)
		if _, file := store.(*sqlite.Store); file {
			lines = locitest.Long(locitest.Unraced(40, 12), 1000)
		}
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				files := newTree(t, engines[w%2], "")
				for n := range lines {
					if n == lines/2 && w == 0 { // an update in the middle of it loses nothing either
						if _, err := files.Update(t.Context(), "/log", "1-0", "1-0"); err != nil {
							t.Errorf("update: %v", err)
						}
					}
					if _, err := files.Append(t.Context(), "/log", fmt.Sprintf("%d-%d", w, n)); err != nil {
						t.Errorf("append: %v", err)
					}
				}
				if _, err := files.Append(t.Context(), fmt.Sprintf("/new/deep/%d", w), "x"); err != nil {
					t.Errorf("create: %v", err)
				}
				if _, err := files.Append(t.Context(), "/gone/a", "x"); err != nil {
					t.Errorf("append to what is deleted: %v", err)
				}
				if _, err := files.Delete(t.Context(), "/gone"); err != nil {
					t.Errorf("delete: %v", err)
				}
			})
		}
		all.Wait()
		files := newTree(t, engines[0], "")
		content, err := files.Read(t.Context(), "/log")
		if err != nil {
			t.Fatal(err)
		}
		next := map[string]int{}
		for line := range strings.SplitSeq(content, "\n") {
			w, n, _ := strings.Cut(line, "-")
			if fmt.Sprint(next[w]) != n {
				t.Fatalf("line %q of writer %s is not number %d", line, w, next[w])
			}
			next[w]++
		}
		for w := range writers {
			if n := next[fmt.Sprint(w)]; n != lines {
				t.Errorf("writer %d left %d lines, want %d", w, n, lines)
			}
		}
		if n, _, err := files.Totals(t.Context()); err != nil || n != (tree.Counts{Files: 1 + writers, Dirs: 2}) {
			t.Errorf("the tree has %+v, %v", n, err)
		}
	})
}

// TestTreeSearch: passages come with their file and lines, only from the current version and
// below the path that was asked for.
func TestTreeSearch(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		e := locitest.NewEngine(t, store, loci.Options{})
		files := newTree(t, e, "")
		filler := strings.Repeat("nothing of interest is said here\n", 400)
		writeFile(t, files, "/notes/long", filler+"the zebra sleeps\n"+filler)
		writeFile(t, files, "/other/short", "a zebra runs")
		lines := func(q tree.Query) (found []string) {
			t.Helper()
			result, err := files.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range result.Matches {
				if m.First <= 401 && 401 <= m.Last || m.File.Path == "/other/short" && m.First == 1 && m.Last == 1 {
					found = append(found, m.File.Path)
				} else {
					t.Errorf("a match in lines %d to %d of %s", m.First, m.Last, m.File.Path)
				}
			}
			slices.Sort(found)
			return found
		}
		if got := lines(tree.Query{Text: "zebra"}); !slices.Equal(got, []string{"/notes/long", "/other/short"}) {
			t.Errorf("found %q", got)
		}
		if got := lines(tree.Query{Text: "zebra", Path: "/other"}); !slices.Equal(got, []string{"/other/short"}) {
			t.Errorf("below /other found %q", got)
		}
		if got := lines(tree.Query{Text: "zebra", Path: "/none"}); got != nil {
			t.Errorf("below nothing found %q", got)
		}
		// Only the current version is searched, and nothing of it by other searches.
		if _, err := files.Update(t.Context(), "/other/short", "zebra", "horse"); err != nil {
			t.Fatal(err)
		}
		if got := lines(tree.Query{Text: "zebra"}); !slices.Equal(got, []string{"/notes/long"}) {
			t.Errorf("after the update found %q", got)
		}
		if r, err := locitest.Bind(t, e, "user", "ann").Search(t.Context(), loci.Query{Text: "zebra"}); err != nil || len(r.Matches) > 0 {
			t.Errorf("a search of memories found %d matches, %v", len(r.Matches), err)
		}
	})
}

func writeFile(t testing.TB, files *tree.Tree, path, content string) tree.FileInfo {
	t.Helper()
	info, err := files.Write(t.Context(), path, content, nil)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestTreeLines compares reading and inserting of lines with the same work done by hand.
func TestTreeLines(t *testing.T) {
	files := newTree(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "")
	long := strings.Repeat("x", 9000) // over several blocks
	for n, content := range []string{"", "\n", "a", "a\n", "a\nb", "a\n\nb\n", long, "a\n" + long + "\nb\n" + long, strings.Repeat("some line\n", 2000)} {
		path := fmt.Sprint("/", n)
		writeFile(t, files, path, content)
		lines := strings.SplitAfter(content, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		for _, r := range [][2]int{
			{1, 1},
			{1, 0},
			{2, 2},
			{2, 3},
			{len(lines), 0},
			{len(lines) / 2, len(lines)},
			{1999, 5000},
		} {
			first, last := r[0], r[1]
			got, err := files.ReadLines(t.Context(), path, int64(first), int64(last))
			if first < 1 || first > max(len(lines), 1) || last != 0 && last < first {
				if tree.ErrnoOf(err) != tree.EINVAL {
					t.Errorf("%d: lines %v: %v", n, r, err)
				}
				continue
			}
			end := len(lines)
			if last > 0 {
				end = min(last, end)
			}
			if want := strings.Join(lines[min(first-1, end):end], ""); err != nil || got != want {
				t.Errorf("%d: lines %v: %.60q, %v; want %.60q", n, r, got, err, want)
			}
		}
		for at := range int64(min(len(lines), 3) + 1) {
			want := slices.Clone(lines)
			if at > 0 && !strings.HasSuffix(want[at-1], "\n") {
				want[at-1] += "\n"
			}
			text := "new"
			if int(at) < len(lines) {
				text += "\n"
			}
			writeFile(t, files, path, content)
			if _, err := files.Insert(t.Context(), path, at, "new"); err != nil {
				t.Fatal(err)
			}
			got, err := files.Read(t.Context(), path)
			if err != nil || got != strings.Join(slices.Insert(want, int(at), text), "") {
				t.Errorf("%d: inserted after %d: %.60q, %v", n, at, got, err)
			}
		}
	}
}

// TestRepeatedTreeRequests: with an idempotency key each change is made once.
func TestRepeatedTreeRequests(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		e := locitest.NewEngine(t, store, loci.Options{})
		keyed := func(key string) *tree.Tree {
			m := locitest.BindView(t, e, loci.View{
				Tenant:         locitest.Tenant(t, "t"),
				Namespace:      loci.Namespace{"user", "ann"},
				Actor:          "tester",
				IdempotencyKey: key,
			})
			files, err := tree.Of(m, "", "")
			if err != nil {
				t.Fatal(err)
			}
			return files
		}
		for range 3 {
			if _, err := keyed("1").Append(t.Context(), "/d/a", "x x"); err != nil {
				t.Fatal(err)
			}
			if n, err := keyed("2").Update(t.Context(), "/d/a", "x", "xx"); err != nil || n != 2 {
				t.Fatal(n, err)
			}
		}
		if got, err := keyed("").Read(t.Context(), "/d/a"); err != nil || got != "xx xx" {
			t.Errorf("the file says %q, %v", got, err)
		}
		for range 3 {
			if n, err := keyed("3").Delete(t.Context(), "/d"); err != nil || n != (tree.Counts{Files: 1, Dirs: 1}) {
				t.Errorf("deleted %+v, %v", n, err)
			}
		}
		if _, err := keyed("3").Append(t.Context(), "/d/a", "y"); loci.AsError(err).Code != loci.Conflict {
			t.Errorf("another request with the key: %v", err)
		}
	})
}

// TestTreeKeepsNoSecrets: a credential is replaced even if only an append, an update or the
// seam of two appends completes it.
func TestTreeKeepsNoSecrets(t *testing.T) {
	const key = "AKIAIOSFODNN7EXAMPLE"
	files := newTree(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "")
	if _, err := files.Append(t.Context(), "/a", "the key is "+key); err != nil {
		t.Fatal(err)
	}
	writeFile(t, files, "/b", "AKIA-IOSFODNN7EXAMPLE")
	if _, err := files.Update(t.Context(), "/b", "-", ""); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"-----BEGIN RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7bq" + strings.Repeat("Zx9", 12), "-----END RSA PRIVATE KEY-----"} {
		if _, err := files.Append(t.Context(), "/c", line); err != nil {
			t.Fatal(err)
		}
	}
	for path, secret := range map[string]string{"/a": key, "/b": key, "/c": "MIIEpAIBAAKCAQEA7bq"} {
		if got, err := files.Read(t.Context(), path); err != nil || strings.Contains(got, secret) {
			t.Errorf("%s says %q, %v", path, got, err)
		}
		versions, err := files.Versions(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range versions {
			got, err := files.ReadVersion(t.Context(), path, v.Version)
			if err != nil || strings.Contains(got, secret) {
				t.Errorf("version %d of %s says %q, %v", v.Version, path, got, err)
			}
		}
	}
}

// TestTreeBlocksAreEmbedded: the blocks that an edit makes have their vectors at once, those of
// a new file and those that an edit makes again.
func TestTreeBlocksAreEmbedded(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, store loci.Store) {
		w := &locitest.WordEmbedder{Name: "w"}
		e := locitest.NewEngine(t, store, loci.Options{Embedder: w})
		files := newTree(t, e, "")
		filler := strings.Repeat("nothing of interest is said here\n", 400)
		writeFile(t, files, "/long", filler+"zebra sleeps\n"+filler)
		check := func(word string) {
			t.Helper()
			if e.Lagging(locitest.Tenant(t, "t")) {
				t.Error("vectors are missing")
			}
			r, err := files.Search(t.Context(), tree.Query{Text: word, Mode: loci.Semantic, Limit: 1})
			if err != nil || len(r.Matches) != 1 || !strings.Contains(r.Matches[0].Passage, word) {
				t.Errorf("%s is not found by its vector: %+v, %v", word, r.Matches, err)
			}
		}
		check("zebra")
		if _, err := files.Update(t.Context(), "/long", "zebra", "gorilla"); err != nil {
			t.Fatal(err)
		}
		check("gorilla")
		if _, err := files.Append(t.Context(), "/long", filler+"a walrus\n"); err != nil {
			t.Fatal(err)
		}
		check("walrus")
		before := w.Embedded
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 0 || err != nil || w.Embedded != before {
			t.Errorf("%d records were stored without vectors, %v", n, err)
		}
	})
}
