package tree_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// moving is a store that counts the changes that put more than a hundred records, and the
// records of the largest one. It stops before one of them.
type moving struct {
	loci.Store
	steps, largest int
	stop           int // after so many; 0: never
}

func (s *moving) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if len(c.Put) > 100 {
		if s.steps++; s.stop > 0 && s.steps > s.stop {
			return errStopped
		}
		s.largest = max(s.largest, len(c.Put)+len(c.Erase))
	}
	return s.Store.Apply(ctx, t, c)
}

// identities are the ids of what is below a directory, by the path inside it.
func identities(t *testing.T, files *tree.Tree, dir string) map[string]loci.ID {
	t.Helper()
	ids := map[string]loci.ID{}
	if err := files.Walk(t.Context(), dir, func(info tree.FileInfo) bool {
		ids[strings.TrimPrefix(info.Path, dir)] = info.ID
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return ids
}

// moveTree makes a tree for tests of moves.
func moveTree(t *testing.T, s loci.Store, limits tree.Feature) (*moving, *tree.Tree) {
	t.Helper()
	store := &moving{Store: s}
	opts := locitest.Quiet(locitest.NewClock())
	opts.Features = []loci.Feature{limits}
	files := newTree(t, locitest.NewEngine(t, store, opts), "")
	wide(t, files)
	store.steps, store.largest = 0, 0
	return store, files
}

// A large directory moves in steps of bounded size. Stopped at any of them the tree is whole,
// each file is in one of the two places, and the same move goes on. In the end all of it is
// in the new place as it was in the old one.
func TestLargeDirectoryMovesInSteps(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store, files := moveTree(t, s, tree.Feature{})
		full, before := checkWhole(t, files), identities(t, files, "/many")
		dir, err := files.Stat(t.Context(), "/many")
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			store.stop, store.steps = 1, 0
			if err := files.Rename(t.Context(), "/many", "/new/place"); !errors.Is(err, errStopped) {
				t.Fatalf("the move was not stopped: %v", err)
			}
			if left := checkWhole(t, files); left.Files != full.Files {
				t.Errorf("%+v is left of %+v", left, full)
			}
			there := identities(t, files, "/new/place")
			for path, id := range identities(t, files, "/many") {
				if before[path] != id || strings.HasSuffix(path, ".md") && !there[path].IsZero() {
					t.Errorf("%s is in both places, or another file", path)
				}
			}
			if len(there) == 0 {
				t.Error("nothing has moved")
			}
		}
		store.stop = 0
		if err := files.Rename(t.Context(), "/many", "/new/place"); err != nil {
			t.Fatal(err)
		}
		full.Dirs++ // /new
		if left := checkWhole(t, files); left != full {
			t.Errorf("%+v; want %+v", left, full)
		}
		if after := identities(t, files, "/new/place"); !maps.Equal(after, before) {
			t.Errorf("%d entries have moved; %d were there, or they are others", len(after), len(before))
		}
		moved, err := files.Stat(t.Context(), "/new/place")
		if err != nil || moved.ID != dir.ID {
			t.Errorf("%+v, %v; want the directory %s", moved, err, dir.ID)
		}
		if info, err := files.Stat(t.Context(), "/many"); tree.ErrnoOf(err) != tree.ENOENT {
			t.Errorf("there is still %+v, %v", info, err)
		}
		if text, err := files.Read(t.Context(), "/new/place/1/deep/0/0000.md"); text != "x" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		if store.largest > 500 {
			t.Errorf("a step changed %d records", store.largest)
		}
	})
}

// What others write between two steps moves along. A path that they take in the new place
// ends the move, and nothing is lost.
func TestOthersWriteBetweenStepsOfAMove(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store, files := moveTree(t, s, tree.Feature{})
		full := checkWhole(t, files)
		write := func(path string) {
			t.Helper()
			if _, err := files.Append(t.Context(), path, "new"); err != nil {
				t.Fatal(err)
			}
		}
		store.stop = 1
		if err := files.Rename(t.Context(), "/many", "/place"); !errors.Is(err, errStopped) {
			t.Fatal(err)
		}
		write("/many/2/zz.md")
		write("/place/0/taken.md")
		write("/place/0/0003.md") // which is still to come
		store.stop = 0
		if err := files.Rename(t.Context(), "/many", "/place"); tree.ErrnoOf(err) != tree.EEXIST {
			t.Fatalf("a file went where another one is: %v", err)
		}
		if left := checkWhole(t, files); left.Files != full.Files+3 {
			t.Errorf("%+v; want %d files", left, full.Files+3)
		}
		if _, err := files.Delete(t.Context(), "/place/0/0003.md"); err != nil {
			t.Fatal(err)
		}
		if err := files.Rename(t.Context(), "/many", "/place"); err != nil {
			t.Fatal(err)
		}
		if left := checkWhole(t, files); left.Files != full.Files+2 || left.Dirs != full.Dirs {
			t.Errorf("%+v; want %d files in %d directories", left, full.Files+2, full.Dirs)
		}
		for path, want := range map[string]string{"/place/2/zz.md": "new", "/place/0/taken.md": "new", "/place/0/0003.md": "x"} {
			if text, err := files.Read(t.Context(), path); text != want || err != nil {
				t.Errorf("%s holds %q, %v; want %q", path, text, err, want)
			}
		}
	})
}

// What refuses a move refuses it before anything moves. Only the directory for which another
// one waits goes on there.
func TestMovesAreRefusedBeforeTheyBegin(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		_, files := moveTree(t, s, tree.Feature{MaxDirEntries: 600})
		long := "/many/-/" + strings.Repeat("d/", 27) + "deep.md" // it would move last
		more := []tree.FileContent{{Path: long, Content: "x"}, {Path: "/there/a.md", Content: "x"}}
		if _, err := files.WriteAll(t.Context(), more, nil); err != nil {
			t.Fatal(err)
		}
		full, before := checkWhole(t, files), identities(t, files, "/many")
		for to, want := range map[string]tree.Errno{
			"/a/b/c/d/e": tree.EINVAL, "/there": tree.EEXIST, "/beside.md": tree.EEXIST, "/beside.md/x": tree.ENOTDIR,
			"/many/1/x": tree.EINVAL, "/": tree.EEXIST,
		} {
			if err := files.Rename(t.Context(), "/many", to); tree.ErrnoOf(err) != want {
				t.Errorf("%s: %v; want %s", to, err, want)
			}
		}
		if left := checkWhole(t, files); left != full || !maps.Equal(identities(t, files, "/many"), before) {
			t.Errorf("%+v; want %+v", left, full)
		}
	})
}

// Directories that wait in the new place count against no limit: a full tree can be moved,
// though not into a full directory. At each moment a directory knows how many are in it, so
// that its limit holds.
func TestAFullTreeMoves(t *testing.T) {
	store, files := moveTree(t, locitest.OpenMemory(), tree.Feature{})
	limited := func(f tree.Feature) *tree.Tree {
		return newTree(t, locitest.NewEngine(t, store, loci.Options{Features: []loci.Feature{f}}), "")
	}
	for _, path := range []string{"/full/a.md", "/full/b.md", "/new/a.md"} {
		if _, err := files.Append(t.Context(), path, "x"); err != nil {
			t.Fatal(err)
		}
	}
	full := checkWhole(t, files)
	tight := limited(tree.Feature{MaxEntries: full.Files + full.Dirs, MaxDirEntries: 2})
	for _, from := range []string{"/many", "/beside.md"} {
		if err := tight.Rename(t.Context(), from, "/full/moved"); tree.ErrnoOf(err) != tree.ENOSPC {
			t.Errorf("%s: %v; want ENOSPC", from, err)
		}
	}
	store.stop, store.steps = 1, 0
	if err := tight.Rename(t.Context(), "/many", "/new/moved"); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	store.stop = 0
	checkCounts(t, files, limited, "/", "/new", "/new/moved", "/new/moved/2", "/many", "/many/0", "/many/1/deep/0")
	if err := tight.Rename(t.Context(), "/many", "/new/moved"); err != nil {
		t.Fatal(err)
	}
	if left := checkWhole(t, tight); left != full {
		t.Errorf("%+v; want %+v", left, full)
	}
	checkCounts(t, files, limited, "/", "/new", "/new/moved", "/new/moved/0", "/new/moved/1", "/new/moved/1/deep/4")
}

// checkCounts finds out by the limit of directories how many entries they take to be in them.
func checkCounts(t *testing.T, files *tree.Tree, limited func(tree.Feature) *tree.Tree, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		list, err := files.List(t.Context(), dir)
		if err != nil || len(list) == 0 {
			t.Fatal(dir, err)
		}
		for n, fits := range map[int]bool{len(list): false, len(list) + 1: true} {
			_, err := limited(tree.Feature{MaxDirEntries: int64(n)}).Append(t.Context(), dir+"/one-more.md", "x")
			if fits != (err == nil) {
				t.Errorf("%s has %d entries; one more where %d are allowed: %v", dir, len(list), n, err)
			}
			if _, err := files.Delete(t.Context(), dir+"/one-more.md"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// With an idempotency key a move is one change.
func TestMoveWithAKeyIsOneChange(t *testing.T) {
	store := &moving{Store: locitest.OpenMemory()}
	e := locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock()))
	wide(t, newTree(t, e, ""))
	once := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "t"),
		Namespace: loci.Namespace{"user", "ann"}, Actor: "a", IdempotencyKey: "once"})
	keyed, err := tree.Of(once, "", "")
	if err != nil {
		t.Fatal(err)
	}
	store.steps = 0
	for range 2 {
		if err := keyed.Rename(t.Context(), "/many", "/moved"); err != nil {
			t.Fatal(err)
		}
	}
	if store.steps != 1 {
		t.Errorf("the move took %d changes", store.steps)
	}
}

// However often a move is stopped, it leaves the paths that one change would.
func TestStoppedMovesLeaveWhatOneDoes(t *testing.T) {
	for stop := range 3 { // 0: never
		store, files := moveTree(t, locitest.OpenMemory(), tree.Feature{})
		want := []string{"to", "to/there", "beside.md"}
		for path := range identities(t, files, "/many") {
			want = append(want, "to/there"+path)
		}
		store.stop = stop
		for files.Rename(t.Context(), "/many", "/to/there") != nil {
			if store.steps > 50 {
				t.Fatal("the move does not end")
			}
			store.stop = store.steps + stop
		}
		got := slices.Collect(maps.Keys(identities(t, files, "/")))
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("stopped after each %d steps, there are %d paths of %d", stop, len(got), len(want))
		}
		checkWhole(t, files)
	}
}
