package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// heldIn lists the files of the folder that hold a text.
func heldIn(t *testing.T, path, text string) (found []string) {
	t.Helper()
	for _, file := range segments(t, path) {
		data, err := os.ReadFile(file)
		must(t, err)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, file)
		}
	}
	return found
}

// settle waits until a store has nothing to tidy.
func (s keptStore) settle() {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	must(s.t, err)
	defer s.release(f)
	must(s.t, f.awaitTidy(s.t.Context()))
}

// untidied acquires the file of a store in which no pass will start.
func (s keptStore) untidied() *file {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	must(s.t, err)
	f.shelf.tidyMu.Lock()
	defer f.shelf.tidyMu.Unlock()
	f.shelf.stopped = true
	close(f.shelf.hurry)
	return f
}

// Erased text leaves the segments, earlier versions and all, without a search and while another
// process still searches them.
func TestEraseLeavesTheKeptIndex(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.put(3, 2, "secretive walrus")
	s.answers()
	s = s.again()
	other := openKept(t, s.path)
	other.answers()
	s.put(3, 3, "edited walrus")
	for _, text := range []string{"secretive", "number9"} {
		if len(heldIn(t, s.path, text)) == 0 {
			t.Fatalf("%q is in %q", text, heldIn(t, s.path, text))
		}
	}
	s.erase(3, 3)
	s.erase(9, 1)
	s.settle()
	for _, text := range []string{"secretive", "number9"} {
		if found := heldIn(t, s.path, text); len(found) > 0 {
			t.Errorf("%q is still in %q", text, found)
		}
	}
	got := other.answers()
	same(t, "of the other", got, s.answers())
	must(t, other.Close())
	if told, err := s.Warnings(t.Context()); err != nil || len(told) > 0 {
		t.Errorf("warnings %q, %v", told, err)
	}
	s = s.again()
	same(t, "opened again", s.answers(), got)
	if n, loose := s.parts(); n < 3 || loose > 8 {
		t.Errorf("opened again: %d segments, %d notes on the heap", n, loose)
	}
	same(t, "from the records", got, fromHeap(t, closed(t, s)))
}

// A process that ends before it has taken erased text out of the segments leaves that to the
// next one; until then a warning says so. So the scan notices a build that forgets it.
func TestUnfinishedTidyingGoesOn(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	s.settle()
	s.release(s.untidied())
	s.erase(9, 1)
	if told, err := s.Warnings(t.Context()); err != nil || len(told) != 1 || !strings.Contains(told[0], "erased") {
		t.Errorf("warnings %q, %v", told, err)
	}
	path := closed(t, s)
	if len(heldIn(t, path, "number9")) != 1 {
		t.Fatal("the scan finds nothing that it should")
	}
	s = openKept(t, path)
	if _, err := s.Warnings(t.Context()); err != nil { // opens the file
		t.Fatal(err)
	}
	s.settle()
	if found := heldIn(t, path, "number9"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// What a shard's segments held of erased text is gone once the shard is done, although a pass may
// end in a fault of another shard before it looks for files that nothing names.
func TestEachShardIsTidiedByItself(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	s.settle()
	f := s.untidied()
	defer s.release(f)
	s.erase(9, 1)
	all, key, err := f.manifests(t.Context())
	must(t, err)
	if len(all) != 1 || len(heldIn(t, s.path, "number9")) != 1 {
		t.Fatalf("%d shards; want erased text in one", len(all))
	}
	must(t, f.tidyShard(t.Context(), &all[0], key))
	if found := heldIn(t, s.path, "number9"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// When the file is opened, segments that no manifest names go, as a process leaves them that is
// killed while it writes. Other files stay.
func TestStraySegmentsGo(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	path := closed(t, s)
	files := segments(t, path)
	dir := filepath.Dir(files[0])
	copyFile(t, files[0], filepath.Join(dir, "0123"+bookSuffix))
	copyFile(t, files[0], filepath.Join(dir, "mine.txt"))
	s = openKept(t, path)
	s.answers()
	s.settle()
	if got := segments(t, path); !reflect.DeepEqual(got, files) {
		t.Errorf("files %q, want %q", got, files)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine.txt")); err != nil {
		t.Error(err)
	}
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	if n := f.shelf.holders; n != 0 {
		t.Errorf("the folder is held %d times by nobody, and no other process can use it", n)
	}
}

// The files of a tenant's index go with the tenant.
func TestEraseTenantLeavesNoSegments(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	must(t, s.EraseTenant(t.Context(), testTenant))
	s.settle()
	if got := segments(t, s.path); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
	if hits := s.answers(); len(hits[0]) > 0 {
		t.Errorf("found: %+v", hits[0])
	}
	s.fill(0, 50)
	got := s.answers()
	same(t, "filled again", got, fromHeap(t, closed(t, s)))
}

// A mapped segment outlives its file, and goes when nothing refers to it.
func TestSegmentsAreReadAfterTheyAreRemoved(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	want := s.answers()
	must(t, os.RemoveAll(strings.TrimSuffix(s.path, ".db")+".idx"))
	for range 3 {
		runtime.GC()
		same(t, "removed", s.answers(), want)
	}
}

// TestEraseLeavesNoBytesInSegments saves, changes and erases notes at random, in processes that
// begin and end in between, and scans every file for what the erased notes said.
func TestEraseLeavesNoBytesInSegments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 8))
	dir := t.TempDir()
	s := openKept(t, filepath.Join(dir, "x.db"))
	type note struct {
		n, version int
		said       []string
	}
	var live []note
	var gone [][]byte
	put := func(o *note) {
		word := canary(t)
		o.version++
		o.said = append(o.said, word)
		s.put(o.n, int64(o.version), "walrus "+word)
	}
	for step := range 600 {
		switch n := random.IntN(20); {
		case n < 12 || len(live) < 25:
			o := note{n: step}
			put(&o)
			live = append(live, o)
		case n < 15:
			put(&live[random.IntN(len(live))])
		case n < 19:
			i := random.IntN(len(live))
			s.erase(live[i].n, int64(live[i].version))
			for _, word := range live[i].said {
				gone = append(gone, []byte(word))
			}
			live = append(live[:i], live[i+1:]...)
		default:
			s.answers()
			s = s.again()
			s.answers()
		}
	}
	s.settle()
	if len(segments(t, s.path)) < 4 || len(gone) < 50 {
		t.Fatalf("%d segments and %d words that are gone: nothing is shown", len(segments(t, s.path)), len(gone))
	}
	got := s.answers()
	want := fromHeap(t, closed(t, s))
	same(t, "erased", got, want)
	if found := filesWith(t, dir, gone); len(found) > 0 {
		t.Errorf("of %d erased words %d are left, such as %s", len(gone), len(found), found[0])
	}
}

// Somebody cuts the files while they are searched.
func TestSegmentsAreCutWhileTheyAreMapped(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	want := s.answers()
	for _, file := range segments(t, s.path) {
		must(t, os.Truncate(file, 0))
	}
	same(t, "cut", s.answers(), want)
	s = s.again() // in the segments that replaced them
	same(t, "made again", s.answers(), want)
	if n, loose := s.parts(); n == 0 || loose > 0 {
		t.Errorf("%d segments and %d notes on the heap", n, loose)
	}
}

// A load that no search waits for has made segments: an erase reaches those, too.
func TestEraseReachesWhatIsHalfLoaded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openKept(t, path)
	s.fill(0, 50)
	s = openKept(t, closed(t, s))
	parts, third, goOn := 0, make(chan struct{}), make(chan struct{})
	s.reading = func(index.Key) {
		if parts++; parts == 3 {
			close(third)
			<-goOn
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	searched := make(chan error, 1)
	go func() {
		_, err := s.Match(ctx, testTenant, loci.Probe{Text: "walrus"}, loci.Filter{Within: []loci.Namespace{shelfPlace()}}, 10)
		searched <- err
	}()
	select {
	case <-third:
	case <-time.After(longest):
		t.Fatal("the third part is not read")
	}
	if len(heldIn(t, path, "number13")) == 0 {
		t.Fatal("nothing is made yet")
	}
	cancel()
	if err := <-searched; err == nil {
		t.Fatal("the search did not end")
	}
	close(goOn)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	f.search.loading.Crew.Wait()
	s.erase(13, 1)
	s.settle()
	if found := heldIn(t, path, "number13"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// A segment that cannot be read may hold erased text: it goes, with the rest of its shard.
func TestDamagedSegmentsGoWithWhatIsErased(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	s.settle()
	files := segments(t, s.path)
	s = openKept(t, closed(t, s))
	if len(heldIn(t, s.path, "number9")) != 1 {
		t.Fatal("the scan finds nothing that it should")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		data[0] ^= 4
		must(t, os.WriteFile(file, data, 0o600))
	}
	s.erase(9, 1)
	s.settle()
	if left := segments(t, s.path); len(left) > 0 {
		t.Errorf("there are still %q", left)
	}
	got := s.answers()
	same(t, "from the records", got, fromHeap(t, closed(t, s)))
}

// Where another process holds the folder the tidier looks again soon, else it waits for more to do.
func TestTheTidierComesBackSoon(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errMoved, errors.New("a fault")} {
		if d := tidyPauseAfter(err); d != tidyPause {
			t.Errorf("behind %v it waits for %v", err, d)
		}
	}
	if d := tidyPauseAfter(fmt.Errorf("look: %w", errHeld)); d != tidyRetry || tidyRetry*2 > tidyPause {
		t.Errorf("behind a folder that is held it waits for %v", d)
	}
}

// What no manifest names goes behind a load, without an erase, while the process goes on: a load leaves
// what it replaced.
func TestReplacedSegmentsGo(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 40)
	s.answers()
	s.loaded()
	s.fill(40, 60)
	s = s.again()
	s.settle() // the pass that opening begins
	replaced := segments(t, s.path)[0] + ".segm"
	copyFile(t, segments(t, s.path)[0], replaced)
	s.answers()
	for begin := time.Now(); slices.Contains(segments(t, s.path), replaced); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > longest {
			t.Fatal("it is still there")
		}
	}
}

// While another process holds the folder, erased text stays in its segments; when it lets go the text
// leaves, without another erase.
func TestTidyingWaitsForTheFolder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openKept(t, path)
	s.fill(0, 50)
	s.answers()
	s.loaded()
	s.settle()
	other := openKept(t, path)
	holder, err := other.acquire(t.Context(), testTenant)
	must(t, err)
	defer other.release(holder)
	other.settle() // the pass that opening begins
	if !holder.shelf.hold() || len(heldIn(t, path, "number9")) == 0 {
		t.Fatal("the folder is taken by another process, or lacks the text")
	}
	s.erase(9, 1)
	time.Sleep(tidyPause + tidyRetry)
	if len(heldIn(t, path, "number9")) == 0 {
		t.Fatal("nobody waited: this test shows nothing")
	}
	holder.shelf.drop()
	s.settle()
	if found := heldIn(t, path, "number9"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// What was thrown away and is there all the same, since it cannot be removed, counts as a stray.
func TestWhatIsThrownAwayIsAStray(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := "0123" + bookSuffix
	must(t, os.MkdirAll(filepath.Join(dir, name, "inside"), 0o700)) // to remove it fails
	s := &shelf{dir: dir, fresh: map[string]bool{name: true}}
	look := func(want ...string) {
		t.Helper()
		if got, err := s.settled(); err != nil || !slices.Equal(got, want) {
			t.Errorf("segments %q, %v; want %q", got, err, want)
		}
	}
	look() // it is about to be named
	s.discard(name)
	look(name)
}

// Segments that are made and named while strays are looked for are none.
func TestWhatIsNamedMeanwhileIsNoStray(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	f := s.untidied()
	defer s.release(f)
	stray := "0123" + bookSuffix
	must(t, os.MkdirAll(f.shelf.dir, 0o700))
	must(t, os.WriteFile(filepath.Join(f.shelf.dir, stray), nil, 0o600))
	f.shelf.between = func() { s.answers(); s.loaded() }
	got, err := f.strays(t.Context())
	if err != nil || !slices.Equal(got, []string{stray}) {
		t.Errorf("strays %q, %v; want the one that nobody named", got, err)
	}
	if named := s.named().Segments; len(named) != 4 {
		t.Errorf("%d segments were named meanwhile, want 4: the test shows nothing", len(named))
	}
}
