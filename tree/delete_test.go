package tree_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tree"
)

// stepped is a store that counts the changes that erase, and the records of the largest one. It
// stops after some of them.
type stepped struct {
	loci.Store
	steps, largest int
	stop           int // after so many; 0: never
	last           int // of those that erase, how many wait for the wiping
	longer         int // and of these, for what others left, too
	settled        int // changes that only wait for it
	during         func()
}

var errStopped = errors.New("the process ended")

func (s *stepped) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if len(c.Erase) > 0 {
		if s.steps++; s.stop > 0 && s.steps > s.stop {
			return errStopped
		}
		s.largest = max(s.largest, len(c.Erase))
		if !c.More {
			s.last++
		}
		if c.Last {
			s.longer++
		}
		if s.during != nil {
			s.during()
		}
	}
	if c.Settled && c.Empty() {
		s.settled++
	}
	return s.Store.Apply(ctx, t, c)
}

// wide fills a tree with directories of files, one of them nested, and one file beside.
func wide(t *testing.T, files *tree.Tree) {
	t.Helper()
	all := []tree.FileContent{{Path: "/beside.md", Content: "stays"}}
	for i := range 1000 {
		path := fmt.Sprintf("/many/%d/%04d.md", i%3, i)
		if i%2 == 0 { // more than a step takes
			path = fmt.Sprintf("/many/1/deep/%d/%04d.md", i%5, i)
		}
		all = append(all, tree.FileContent{Path: path, Content: "x"})
	}
	if _, err := files.WriteAll(t.Context(), all, nil); err != nil {
		t.Fatal(err)
	}
}

// checkWhole compares the totals of a tree with what is in it.
func checkWhole(t *testing.T, files *tree.Tree) (left tree.Counts) {
	t.Helper()
	err := files.Walk(t.Context(), "/", func(info tree.FileInfo) bool {
		if info.Dir {
			left.Dirs++
		} else {
			left.Files++
		}
		above, err := files.Stat(t.Context(), info.Path[:max(1, len(info.Path)-len(info.Name)-1)])
		if err != nil || !above.Dir {
			t.Errorf("%s is in no directory: %v", info.Path, err)
		}
		return true
	})
	counts, bytes, totalsErr := files.Totals(t.Context())
	if err = errors.Join(err, totalsErr); err != nil {
		t.Fatal(err)
	}
	if counts != left {
		t.Errorf("the tree says %+v and holds %+v, %d bytes", counts, left, bytes)
	}
	return left
}

// A large directory is deleted in steps of bounded size. Stopped at any of them the tree
// is whole, and the delete goes on when it is asked for again.
func TestLargeDirectoryIsDeletedInSteps(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &stepped{Store: s}
		files := newTree(t, locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock())), "")
		wide(t, files)
		full := checkWhole(t, files)
		gone := tree.Counts{}
		for stop := 1; stop <= 2; stop++ {
			store.stop, store.steps = 1, 0
			n, err := files.Delete(t.Context(), "/many")
			if !errors.Is(err, errStopped) {
				t.Fatalf("the delete was not stopped: %+v, %v", n, err)
			}
			gone.Files, gone.Dirs = gone.Files+n.Files, gone.Dirs+n.Dirs
			left := checkWhole(t, files)
			if store.last > 0 {
				t.Error("a step says that it is the last one")
			}
			if left.Files+gone.Files != full.Files || left.Dirs+gone.Dirs != full.Dirs || n.Files == 0 {
				t.Errorf("after %+v of %+v, %+v is left", gone, full, left)
			}
		}
		store.stop = 0
		rest, err := files.Delete(t.Context(), "/many")
		if err != nil || rest.Files+gone.Files != 1000 || rest.Dirs+gone.Dirs != full.Dirs {
			t.Errorf("the rest was %+v, after %+v of %+v: %v", rest, gone, full, err)
		}
		if store.last != 1 || store.longer != 1 {
			t.Errorf("%d steps of the delete wait for the wiping, %d for that of all; want the last one", store.last, store.longer)
		}
		if _, err := files.Delete(t.Context(), "/beside.md"); err != nil || store.longer != 1 {
			t.Errorf("a delete in one step waits for the wiping of many: %v", err)
		}
		if left := checkWhole(t, files); left != (tree.Counts{}) {
			t.Errorf("%+v is left", left)
		}
		if store.largest > 1500 {
			t.Errorf("a step erased %d records", store.largest)
		}
	})
}

// A delete in steps takes along what only kept versions of a file have.
func TestStepsTakeKeptVersionsAlong(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		files := newTree(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "")
		wide(t, files)
		blocks := func() int64 {
			f := loci.Filter{Within: []loci.Namespace{{}}, Kinds: []loci.Kind{tree.KindBlock}, NotLive: true}
			counts, err := s.Count(t.Context(), locitest.Tenant(t, "t"), f)
			if err != nil {
				t.Fatal(err)
			}
			return counts.Records
		}
		rewritten := int64(0)
		for i := 1; i < 1000; i += 36 { // some in each step
			path := fmt.Sprintf("/many/%d/%04d.md", i%3, i)
			if _, err := files.Write(t.Context(), path, "something else", nil); err != nil {
				t.Fatal(err)
			}
			rewritten++
		}
		if n := blocks(); n != 1001+rewritten {
			t.Fatalf("there are %d blocks: this test shows nothing", n)
		}
		if _, err := files.Delete(t.Context(), "/many"); err != nil {
			t.Fatal(err)
		}
		if n := blocks(); n != 1 { // that of the file beside
			t.Errorf("%d blocks are left", n)
		}
	})
}

// With an idempotency key a delete goes in steps, too. Its reply is kept with the last one: a repeated delete does not
// touch what has come in between, and one that was stopped goes on.
func TestRepeatedDeleteTouchesNothingNew(t *testing.T) {
	locitest.Unshared(t)
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &stepped{Store: s, stop: 1}
		e := locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock()))
		files := newTree(t, e, "")
		wide(t, files)
		once := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "t"),
			Namespace: loci.Namespace{"user", "ann"}, Actor: "a", IdempotencyKey: "once"})
		keyed, err := tree.Of(once, "", "")
		if err != nil {
			t.Fatal(err)
		}
		gone, err := keyed.Delete(t.Context(), "/many")
		if !errors.Is(err, errStopped) || gone.Files == 0 || gone.Files > 192 {
			t.Fatalf("the delete was not stopped: %+v, %v", gone, err)
		}
		store.stop = 0
		first, err := keyed.Delete(t.Context(), "/many")
		if err != nil || first.Files+gone.Files != 1000 {
			t.Fatal(first, err)
		}
		if store.largest > 1500 || store.last != 1 || store.longer != 1 {
			t.Errorf("steps of up to %d; %d wait for the wiping, %d for that of all", store.largest, store.last, store.longer)
		}
		wide(t, files)
		again, err := keyed.Delete(t.Context(), "/many")
		if err != nil || again != first {
			t.Errorf("repeated: %+v, %v; want %+v", again, err, first)
		}
		if left := checkWhole(t, files); left.Files != 1001 {
			t.Errorf("%+v is left of what came in between", left)
		}
	})
}

// Who waits for its turn in a tree has it between two steps of a delete.
func TestOthersWriteBetweenSteps(t *testing.T) {
	store := &stepped{Store: locitest.OpenMemory()}
	files := newTree(t, locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock())), "")
	wide(t, files)
	begun, done := make(chan struct{}), make(chan int, 1)
	var steps atomic.Int32
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		<-begun
		if _, err := files.Write(t.Context(), "/new.md", "x", nil); err != nil {
			t.Error(err)
		}
		done <- int(steps.Load())
	}()
	store.during = func() { // long enough for the other to stand in the queue, in one of five steps
		steps.Add(1)
		if begin(); len(done) == 0 {
			time.Sleep(20 * time.Millisecond)
		}
	}
	if _, err := files.Delete(t.Context(), "/many"); err != nil {
		t.Fatal(err)
	}
	if after := <-done; after == int(steps.Load()) {
		t.Errorf("the other waited for all %d steps", after)
	}
}

// A step makes room in its directory for what it erased.
func TestStepsMakeRoomInTheDirectory(t *testing.T) {
	store := &stepped{Store: locitest.OpenMemory()}
	files := newTree(t, locitest.NewEngine(t, store, loci.Options{
		Features: []loci.Feature{tree.Feature{MaxDirEntries: 600}},
	}), "")
	fill := func(name string, n int) error {
		var all []tree.FileContent
		for i := range n {
			all = append(all, tree.FileContent{Path: fmt.Sprintf("/flat/%s%d", name, i), Content: "x"})
		}
		_, err := files.WriteAll(t.Context(), all, nil)
		return err
	}
	if err := fill("old", 600); err != nil {
		t.Fatal(err)
	}
	store.stop = 1
	n, err := files.Delete(t.Context(), "/flat")
	if !errors.Is(err, errStopped) {
		t.Fatal(n, err)
	}
	store.stop = 0
	if err := fill("new", int(n.Files)); err != nil || n.Files == 0 {
		t.Errorf("%d files in the place of those that are gone: %v", n.Files, err)
	}
	if err := fill("more", 1); err == nil {
		t.Error("the directory has more files than it may")
	}
}

// A delete that finds nothing, since another one was quicker, says that all is gone. So it waits
// until it is: that of a path, of a file that is in the way, and of an empty tree.
func TestDeleteOfNothingWaitsForOthers(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &stepped{Store: s}
		files := newTree(t, locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock())), "")
		wide(t, files)
		for i, path := range []string{"/missing", "/beside.md/missing", "/"} {
			if path == "/" {
				if _, err := files.Delete(t.Context(), "/"); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := files.Delete(t.Context(), path); err != nil || n != (tree.Counts{}) || store.settled != i+1 {
				t.Errorf("a delete of %s: %+v, %v, %d have waited; want %d", path, n, err, store.settled, i+1)
			}
		}
	})
}
