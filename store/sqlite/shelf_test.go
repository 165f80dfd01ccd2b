package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// keptStore is a store whose index is kept from 20 records on, in segments of 16.
type keptStore struct {
	*Store
	t    *testing.T
	path string
}

func openKept(t *testing.T, path string) keptStore {
	t.Helper()
	return keptStore{openShelving(t, path, 20, 16), t, path}
}

func openShelving(t *testing.T, path string, from, book int) *Store {
	t.Helper()
	s, err := Open(path, (&Options{Logger: slog.New(slog.DiscardHandler)}).Shelve(from, book))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var shelfSpace = loci.Space{Model: "m", Dims: 4}

const shelfKind = loci.Kind("fact")

func shelfPlace() loci.Namespace { return loci.Namespace{"u"} }

// put saves a version of note n.
func (s keptStore) put(n int, version int64, text string) {
	s.t.Helper()
	r := loci.Record{ID: loci.ID{1, byte(n >> 8), byte(n)}, Kind: shelfKind, Namespace: shelfPlace(), Version: version, Live: true,
		CreatedAt: time.UnixMilli(int64(n)).UTC(), Text: text, Passages: []loci.Span{{Start: 0, End: len(text)}},
		Sequence: fmt.Sprint("talk ", n%3), Position: int64(n), Tags: []string{fmt.Sprint("tag", n%2)}}
	row := []float32{float32(n%7) - 3, float32(n % 5), float32(version), 1}
	change := loci.Change{Put: []loci.Put{{Record: r, Vectors: []loci.Vectors{{Space: shelfSpace, Rows: [][]float32{row}}}}},
		Events: []loci.Event{{ID: loci.NewID(), Type: loci.EventCreated, Entity: r.ID, Namespace: r.Namespace}}}
	if err := s.Apply(s.t.Context(), testTenant, change); err != nil {
		s.t.Fatal(err)
	}
}

func (s keptStore) erase(n int, version int64) {
	s.t.Helper()
	id := loci.ID{1, byte(n >> 8), byte(n)}
	if err := s.Apply(s.t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: version}}}); err != nil {
		s.t.Fatal(err)
	}
}

// fill saves notes from one number to before another.
func (s keptStore) fill(from, to int) {
	for n := from; n < to; n++ {
		s.put(n, 1, fmt.Sprintf("walrus number%d in colour%d", n, n%4))
	}
}

// answers are what some searches find.
func (s keptStore) answers() (all [][]loci.Hit) {
	s.t.Helper()
	for _, text := range []string{"walrus", "number7 colour3", "colour*", `"walrus number12"`, "numbr7", "edited"} {
		for _, tags := range [][]string{nil, {"tag1"}} {
			p := loci.Probe{Text: text, Vector: []float32{0.5, 0.5, 0.5, 0.5}, Space: shelfSpace, Sequences: true, Texts: true}
			hits, err := s.Match(s.t.Context(), testTenant, p, loci.Filter{Within: []loci.Namespace{shelfPlace()}, Tags: tags}, 10)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, hits)
		}
	}
	return all
}

// parts says how many segments the index of the notes has, and how many notes are on the heap.
func (s keptStore) parts() (segments, loose int) {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	if err != nil {
		s.t.Fatal(err)
	}
	defer s.release(f)
	key := index.Key{Namespace: shelfPlace().Key(), Kind: shelfKind}
	f.search.mu.RLock()
	defer f.search.mu.RUnlock()
	return f.search.index.Shelved(key), f.search.index.Loose(key)
}

// again closes the store and opens it.
func (s keptStore) again() keptStore {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
	return openKept(s.t, s.path)
}

// segments lists the files of the folder.
func segments(t *testing.T, path string) []string {
	t.Helper()
	found, err := filepath.Glob(strings.TrimSuffix(path, ".db") + ".idx/*" + bookSuffix)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fromHeap is what a store answers that keeps nothing, on a copy of the file.
func fromHeap(t *testing.T, path string) [][]loci.Hit {
	t.Helper()
	copied := filepath.Join(t.TempDir(), "copy.db")
	copyFile(t, path, copied)
	s := keptStore{openShelving(t, copied, 1<<30, 1<<30), t, copied}
	defer func() { _ = s.Close() }()
	return s.answers()
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got, want [][]loci.Hit) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}

// The next process maps what the one before has made, and takes in what came since.
func TestTheIndexIsKept(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	first := s.answers()
	if n, loose := s.parts(); n != 4 || loose != 0 {
		t.Errorf("%d segments and %d notes on the heap, want 4 and 0", n, loose)
	}
	s = s.again()
	same(t, "opened again", s.answers(), first)
	if n, loose := s.parts(); n != 4 || loose != 0 || len(segments(t, s.path)) != 4 {
		t.Errorf("opened again: %d segments of %d files and %d notes on the heap", n, len(segments(t, s.path)), loose)
	}
	s.put(7, 2, "edited walrus number7")
	s.erase(12, 1)
	s.fill(50, 53)
	changed := s.answers()
	s = s.again()
	same(t, "changed", s.answers(), changed)
	if n, loose := s.parts(); n != 4 || loose != 4 {
		t.Errorf("changed: %d segments and %d notes on the heap, want 4 and 4", n, loose)
	}
	same(t, "from the records", s.answers(), fromHeap(t, closed(t, s)))
}

// closed closes a store and returns its path.
func closed(t *testing.T, s keptStore) string {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return s.path
}

// However often a process begins after a few changes, the segments stay few, and what they
// replace goes.
func TestKeptSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 40)
	s.answers()
	for round := range 8 {
		s.fill(40+12*round, 52+12*round)
		s.put(round, 2, "edited walrus")
		s = s.again()
		s.answers()
		s = s.again()
		s.answers()
	}
	n, loose := s.parts()
	if files := len(segments(t, s.path)); n > 16 || loose > 10 || files != n {
		t.Errorf("%d segments of %d files, %d notes on the heap", n, files, loose)
	}
	got := s.answers()
	same(t, "merged", got, fromHeap(t, closed(t, s)))
}

// Whatever is done to the folder, searches find the same.
func TestKeptIndexIsNotTrusted(t *testing.T) {
	t.Parallel()
	other := openKept(t, filepath.Join(t.TempDir(), "other.db"))
	other.fill(3, 53)
	other.answers()
	foreign := segments(t, closed(t, other))
	for name, harm := range map[string]func(t *testing.T, dir string, files []string){
		"deleted":     func(t *testing.T, dir string, _ []string) { must(t, os.RemoveAll(dir)) },
		"one deleted": func(t *testing.T, _ string, files []string) { must(t, os.Remove(files[1])) },
		"cut":         func(t *testing.T, _ string, files []string) { must(t, os.Truncate(files[0], 900)) },
		"empty":       func(t *testing.T, _ string, files []string) { must(t, os.Truncate(files[2], 0)) },
		"turned": func(t *testing.T, _ string, files []string) {
			data, err := os.ReadFile(files[0])
			must(t, err)
			data[len(data)/2] ^= 4
			must(t, os.WriteFile(files[0], data, 0o600))
		},
		"foreign":   func(t *testing.T, _ string, files []string) { copyFile(t, foreign[0], files[0]) },
		"exchanged": func(t *testing.T, _ string, files []string) { copyFile(t, files[1], files[0]) },
		"directory": func(t *testing.T, _ string, files []string) {
			must(t, os.Remove(files[0]))
			must(t, os.Mkdir(files[0], 0o700))
		},
		"file instead": func(t *testing.T, dir string, _ []string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, []byte("mine"), 0o600))
		},
		"link instead": func(t *testing.T, dir string, _ []string) {
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			must(t, os.Rename(dir, elsewhere))
			must(t, os.Symlink(elsewhere, dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
			s.fill(0, 50)
			want := s.answers()
			path := closed(t, s)
			files := segments(t, path)
			if len(files) != 4 {
				t.Fatalf("%d segments", len(files))
			}
			harm(t, strings.TrimSuffix(path, ".db")+".idx", files)
			s = openKept(t, path)
			same(t, "harmed", s.answers(), want)
			s.put(60, 1, "one more walrus")
			got := s.answers()
			same(t, "and changed", got, fromHeap(t, closed(t, s)))
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A folder where nothing can be kept is told of, and not followed to where it leads.
func TestAFolderThatIsNoneIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	dir, elsewhere := strings.TrimSuffix(path, ".db")+".idx", t.TempDir()
	must(t, os.Symlink(elsewhere, dir))
	s := openKept(t, path)
	s.fill(0, 50)
	s.answers()
	if n, loose := s.parts(); n != 0 || loose != 50 {
		t.Errorf("%d segments and %d notes on the heap", n, loose)
	}
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("where the link leads there is %v, %v", left, err)
	}
	told, err := s.Warnings(t.Context())
	if err != nil || len(told) != 1 || !strings.Contains(told[0], dir) {
		t.Errorf("warnings %q, %v", told, err)
	}
}

// A copy of the memory file that is put back is searched as it is, though its counter
// comes to where the segments of what it was before are.
func TestAnOlderFileIsPutBack(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 30)
	backup := filepath.Join(t.TempDir(), "backup.db")
	s = openKept(t, closed(t, s))
	copyFile(t, s.path, backup)
	s.fill(30, 50)
	s.answers()
	path := closed(t, s)
	copyFile(t, backup, path)
	s = openKept(t, path)
	for n := 30; n < 60; n++ {
		s.put(n, 1, fmt.Sprint("another walrus number", n))
	}
	got := s.answers()
	same(t, "put back", got, fromHeap(t, closed(t, s)))
}

// While another process writes to the folder this one searches from the heap.
func TestOneProcessKeepsTheIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openKept(t, path), openKept(t, path)
	s.fill(0, 50)
	f, err := other.acquire(t.Context(), testTenant)
	must(t, err)
	if !f.shelf.hold() {
		t.Fatal("the folder is not to be had")
	}
	want := s.answers()
	if n, loose := s.parts(); n != 0 || loose != 50 {
		t.Errorf("%d segments and %d notes on the heap", n, loose)
	}
	f.shelf.drop()
	other.release(f)
	same(t, "of the other", other.answers(), want)
	if n, _ := other.parts(); n != 4 {
		t.Errorf("%d segments when nobody else writes", n)
	}
}

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

// What is erased leaves the segments, earlier versions and all, without a search and
// while another process still searches them.
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

// A process that ends before it has taken what was erased out leaves that to the next one;
// until then it is told. So the scan notices a build that forgets it.
func TestUnfinishedTidyingGoesOn(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	s.settle()
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	f.shelf.tidyMu.Lock()
	f.shelf.stopped = true // no pass will start
	close(f.shelf.hurry)
	f.shelf.tidyMu.Unlock()
	s.release(f)
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

// Files that no manifest names, as a process leaves them that is killed while it writes,
// go when the file is opened; those of others stay.
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
}

// With a tenant goes its folder's content.
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

// TestEraseLeavesNoBytesInSegments saves, changes and erases notes at random, in processes
// that begin and end between, and scans every file for what the erased ones said.
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
	s = s.again() // in those that were made in their place
	same(t, "made again", s.answers(), want)
	if n, loose := s.parts(); n == 0 || loose > 0 {
		t.Errorf("%d segments and %d notes on the heap", n, loose)
	}
}

// A load that nobody waits for any more has made segments that no manifest names: an erase
// does not leave them as they are.
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
	case <-time.After(patience):
		t.Fatal("the third part is not read")
	}
	if len(heldIn(t, path, "number3")) == 0 {
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
	for end := time.Now().Add(patience); f.search.loading.busyLoads() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the load goes on")
		}
	}
	s.erase(3, 1)
	s.settle()
	if found := heldIn(t, path, "number3"); len(found) > 0 {
		t.Errorf("it is still in %q", found)
	}
}

// busyLoads is how many workers load.
func (l *loading) busyLoads() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.workers
}
