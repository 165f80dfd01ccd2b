package tree_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

func extentOf(t *testing.T, files *tree.Tree, path string) tree.Extent {
	t.Helper()
	x, err := files.Extent(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func writeTo(t *testing.T, files *tree.Tree, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := files.Append(t.Context(), path, "text"); err != nil {
			t.Fatal(err)
		}
	}
}

// An extent says what a delete would erase, and its mark changes with any of it and with
// nothing beside it.
func TestExtent(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		files := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		writeTo(t, files, "/d/a", "/d/in/b", "/d/in/c", "/beside")
		x := extentOf(t, files, "/d")
		if x.Counts != (tree.Counts{Files: 3, Dirs: 2}) || !x.Dir || x.Bytes != 12 ||
			!slices.Equal(x.First, []string{"/d/a", "/d/in/b", "/d/in/c"}) {
			t.Errorf("%+v", x)
		}
		if root := extentOf(t, files, "/"); root.Files != 4 || root.Dirs != 2 || root.Mark == x.Mark {
			t.Errorf("the root: %+v", root)
		}
		if one := extentOf(t, files, "/d/a"); one.Files != 1 || one.Dir || one.Mark == x.Mark {
			t.Errorf("a file: %+v", one)
		}
		if none := extentOf(t, files, "/missing"); none.Counts != (tree.Counts{}) || none.Mark != "" {
			t.Errorf("a missing path: %+v", none)
		}
		writeTo(t, files, "/beside")
		if again := extentOf(t, files, "/d"); again.Mark != x.Mark {
			t.Error("a change beside the directory changed its mark")
		}
		seen := map[string]bool{x.Mark: true}
		for _, change := range []func() error{
			func() error { _, err := files.Append(t.Context(), "/d/in/b", "more"); return err },
			func() error { _, err := files.Append(t.Context(), "/d/in/new", "more"); return err },
			func() error { _, err := files.Delete(t.Context(), "/d/a"); return err },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			if now := extentOf(t, files, "/d"); seen[now.Mark] {
				t.Error("a change in the directory left its mark")
			} else {
				seen[now.Mark] = true
			}
		}
	})
}

// A delete of an extent takes nothing that came or changed since.
func TestDeleteExtent(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		files := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		for _, later := range []string{"/d/a", "/d/new", "/d/in/new", "/d/other/new"} {
			writeTo(t, files, "/d/a", "/d/in/b")
			x := extentOf(t, files, "/d")
			writeTo(t, files, later)
			before := checkWhole(t, files)
			n, err := files.DeleteExtent(t.Context(), x)
			if !errors.Is(err, loci.ErrConflict) || n != (tree.Counts{}) ||
				err.Error() != "/d has changed meanwhile: nothing was deleted" {
				t.Errorf("after a change of %s: %+v, %v", later, n, err)
			}
			if left := checkWhole(t, files); left != before {
				t.Errorf("after a change of %s: %+v is left of %+v", later, left, before)
			}
			n, err = files.DeleteExtent(t.Context(), extentOf(t, files, "/d"))
			if err != nil || n != before {
				t.Errorf("%+v, %v; want %+v", n, err, before)
			}
		}
		writeTo(t, files, "/d/a", "/d/b")
		x := extentOf(t, files, "/d")
		if _, err := files.Delete(t.Context(), "/d/b"); err != nil {
			t.Fatal(err)
		}
		if n, err := files.DeleteExtent(t.Context(), x); err != nil || n != (tree.Counts{Files: 1, Dirs: 1}) {
			t.Errorf("of what was shown, some was gone: %+v, %v", n, err)
		}
	})
}

// An extent that nobody looked for has a path like any other, and nothing that may go.
func TestDeleteExtentChecksItsPath(t *testing.T) {
	files := newTree(t, locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock())), "")
	writeTo(t, files, "/d/a")
	for path, want := range map[string]error{"": loci.ErrInvalid, "x/..": loci.ErrInvalid, "$": loci.ErrInvalid,
		"d": loci.ErrConflict, "/d/": loci.ErrConflict, "/": loci.ErrConflict, "nothing": nil} {
		n, err := files.DeleteExtent(t.Context(), tree.Extent{Path: path})
		if !errors.Is(err, want) || n != (tree.Counts{}) {
			t.Errorf("the path %q: %+v, %v; want %v", path, n, err, want)
		}
	}
}

// interrupted is a store in which somebody else writes after the first step of a delete.
type interrupted struct {
	loci.Store
	meanwhile func()
}

func (s *interrupted) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	err := s.Store.Apply(ctx, t, c)
	if len(c.Erase) > 0 && s.meanwhile != nil {
		then := s.meanwhile
		s.meanwhile = nil
		then()
	}
	return err
}

// A large directory goes in steps, and what comes between two of them stays.
func TestDeleteExtentInSteps(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		others := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		wide(t, others)
		store := &interrupted{Store: s}
		files := newTree(t, locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock())), "")
		x := extentOf(t, files, "/many")
		store.meanwhile = func() { writeTo(t, others, "/many/1/deep/0/new") }
		n, err := files.DeleteExtent(t.Context(), x)
		if !errors.Is(err, loci.ErrConflict) || n.Files == 0 || n.Files >= 1000 {
			t.Fatalf("%+v, %v", n, err)
		}
		if text, err := others.Read(t.Context(), "/many/1/deep/0/new"); err != nil || text != "text" {
			t.Errorf("what came is %q, %v", text, err)
		}
		if left := checkWhole(t, others); left.Files != 1000+2-n.Files {
			t.Errorf("%+v is left after %+v", left, n)
		}
	})
}

// A repeated delete with an idempotency key has the reply of the first, though there is
// nothing left to look at.
func TestDeleteExtentIsRepeatable(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
	files := newTree(t, e, "")
	writeTo(t, files, "/d/a", "/d/b")
	keyed, err := tree.Of(locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "t"),
		Namespace: loci.Namespace{"user", "ann"}, Actor: "a", IdempotencyKey: "once"}), "", "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n, err := keyed.DeleteExtent(t.Context(), extentOf(t, keyed, "/d"))
		if err != nil || n != (tree.Counts{Files: 2, Dirs: 1}) {
			t.Errorf("%+v, %v", n, err)
		}
	}
}
