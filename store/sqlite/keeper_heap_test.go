package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// loose is how many notes the index of the process has on the heap, and how many segments.
func (s keptStore) loose() (notes, segments int) {
	s.t.Helper()
	f, of := s.opened(), s.shard()
	f.search.mu.RLock()
	defer f.search.mu.RUnlock()
	return f.search.index.Loose(of.key), f.search.index.Shelved(of.key)
}

// pass runs one, and waits for it.
func (s keptStore) pass() {
	s.t.Helper()
	f := s.opened()
	f.startKeeper(false)
	f.keeper.mu.Lock()
	done := f.keeper.done
	f.keeper.mu.Unlock()
	<-done
	f.keeper.mu.Lock()
	defer f.keeper.mu.Unlock()
	must(s.t, f.keeper.err)
}

// What came to the index of a process does not stay on the heap for as long as the process lives: a pass behind writes
// puts it where the next process finds it, and the index has that, too.
func TestAPassTakesWhatCameOffTheHeap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what         string
		come, others int // those of another process wait for the next search
		loose        int
	}{{"a few", 6, 0, 7}, {"half a segment", 7, 0, 0}, {"as much as is kept", 19, 0, 0}, {"much", 60, 0, 0}, {"more", 60, 2, 0}} {
		s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
		s.fill(0, 1)
		s.answers()
		s.fill(1, 1+c.come)
		s.answers()
		other := openKept(t, s.path)
		other.fill(1+c.come, 1+c.come+c.others)
		closed(t, other)
		s.pass()
		var got [][]loci.Hit
		if n := s.reads(func() { got = s.answers() }); n != 0 {
			t.Errorf("%s: a search behind the pass read %d records", c.what, n)
		}
		if notes, segments := s.loose(); notes != c.loose || (segments > 0) != (notes == 0) {
			t.Errorf("%s: %d notes on the heap, %d segments; want %d", c.what, notes, segments, c.loose)
		}
		same(t, c.what, got, fromHeap(t, closed(t, s)))
	}
}

// large saves eleven notes of a megabyte each, and searches after each.
func (s keptStore) large() {
	s.t.Helper()
	var text strings.Builder
	for n := 1; n < 12; n++ {
		text.Reset()
		for i := 0; text.Len() < 1<<20; i++ {
			fmt.Fprintf(&text, "walrus%d of %d ", i, n)
		}
		s.put(n, 1, text.String())
		s.answers()
	}
}

// began has a channel that a pass closes when it begins to read.
func (s keptStore) began() <-chan struct{} {
	s.t.Helper()
	var once sync.Once
	began := make(chan struct{})
	s.opened().keeper.part = func(index.Key) { once.Do(func() { close(began) }) }
	return began
}

// expectBegun waits for that.
func expectBegun(t *testing.T, began <-chan struct{}) {
	t.Helper()
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Error("no pass began, though much came")
	}
}

// patient opens a store in which no pass comes by a pause.
func patient(t *testing.T, book int) keptStore {
	t.Helper()
	o := new(Options).Shelve(20, book)
	o.keepPause = time.Hour
	return openKeptWith(t, filepath.Join(t.TempDir(), "x.db"), o)
}

// A few large notes take as much memory as many small ones.
func TestAPassTakesLargeNotesOffTheHeap(t *testing.T) {
	t.Parallel()
	s := patient(t, 100)
	s.fill(0, 1)
	s.answers()
	began := s.began()
	s.large()
	expectBegun(t, began)
	if s.pass(); s.named().Segments == nil {
		t.Fatal("nothing was kept")
	}
	if notes, segments := s.loose(); notes != 0 || segments == 0 {
		t.Errorf("%d large notes are on the heap, %d segments", notes, segments)
	}
}

// What others keep is taken up in the place of the heap, too, though nothing is due.
func TestAPassTakesUpWhatOthersKeep(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 1)
	s.answers()
	other := openKept(t, s.path)
	other.fill(1, 60)
	must(t, other.KeepIndex(t.Context(), testTenant))
	before := s.answers()
	if notes, _ := s.loose(); notes != 60 {
		t.Fatalf("%d notes on the heap: the test shows nothing", notes)
	}
	if n := s.reads(func() { s.pass() }); n != 0 {
		t.Errorf("%d records were read that another process has kept", n)
	}
	if notes, segments := s.loose(); notes != 0 || segments == 0 {
		t.Errorf("%d notes on the heap, %d segments", notes, segments)
	}
	same(t, "taken up", s.answers(), before)
}

// However much the process itself writes without a search, its index takes it in and is not far behind.
func TestAPassTakesWhatTheProcessWrote(t *testing.T) {
	t.Parallel()
	s := openKeptWith(t, filepath.Join(t.TempDir(), "x.db"), new(Options).Shelve(20, 4000))
	s.fill(0, 1)
	s.answers()
	for from := 1; from < 3*maxFollowed; {
		var all loci.Change
		for range 300 {
			one := putOf(from, 1, fmt.Sprint("walrus number", from))
			all.Put, all.Events, from = append(all.Put, one.Put...), append(all.Events, one.Events...), from+1
		}
		must(t, s.Apply(t.Context(), testTenant, all))
	}
	s.pass()
	s.answers()
	if notes, segments := s.loose(); notes > maxFollowed || segments == 0 {
		t.Errorf("%d notes on the heap, %d segments", notes, segments)
	}
}

// Where others wrote so much that a search would leave a shard to a load, a pass leaves the index as it is.
func TestAPassLeavesAnIndexFarBehind(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 1)
	s.answers()
	s.fill(1, 15) // no pass comes by itself
	s.answers()
	other := openKept(t, s.path)
	var all loci.Change
	for n := 15; n < 17+maxFollowed; n++ {
		one := putOf(n, 1, fmt.Sprint("walrus number", n))
		all.Put, all.Events = append(all.Put, one.Put...), append(all.Events, one.Events...)
	}
	must(t, other.Apply(t.Context(), testTenant, all))
	closed(t, other)
	s.pass()
	if notes, segments := s.loose(); notes != 15 || segments != 0 {
		t.Errorf("%d notes on the heap, %d segments; want the 15 of before", notes, segments)
	}
	same(t, "far behind", s.answers(), fromHeap(t, closed(t, s)))
}

// A pass that began before all was erased brings none of it back.
func TestAPassBringsNothingErasedBack(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 10)
	s.answers()
	f, of := s.opened(), s.shard()
	one := &load{key: of.key, namespace: of.namespace, index: index.New(shelfSpace), apart: true}
	one.index.AddShard(one.key)
	defer one.release(&f.search)
	must(t, f.readApart(t.Context(), one))
	must(t, s.EraseTenant(t.Context(), testTenant))
	s.fill(20, 22)
	before := s.answers()
	must(t, f.renew(t.Context(), one))
	same(t, "behind it", s.answers(), before)
	if notes, _ := s.loose(); notes != 2 {
		t.Errorf("the index has %d notes, want 2", notes)
	}
}

// Where the index of the process takes in what is written, a pass does not wait until nobody writes.
func TestAPassDoesNotWaitWhereTheHeapGrows(t *testing.T) {
	t.Parallel()
	for _, searched := range []bool{false, true} {
		s := patient(t, 30)
		s.fill(0, 1)
		if searched {
			s.answers()
		}
		began := s.began()
		s.fill(1, 29)
		if !s.waits() {
			t.Fatal("a pass does not wait, though little came")
		}
		if searched {
			s.answers()
		}
		if s.fill(29, 31); searched {
			expectBegun(t, began)
		} else if !s.waits() {
			t.Error("a pass does not wait, though nothing is on the heap")
		}
	}
}

// waits reports whether a pass is to come when nothing is written any more.
func (s keptStore) waits() bool {
	s.t.Helper()
	k := &s.opened().keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.timer != nil
}

// Whatever is saved is found at once, whether a pass changes the index meanwhile or not.
func TestSearchesBesidePasses(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 40)
	s.answers()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if err := s.KeepIndex(t.Context(), testTenant); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	in := loci.Filter{Within: []loci.Namespace{shelfPlace()}}
	versions := map[int]int64{}
	for n := range 40 {
		versions[n] = 1
	}
	for n := 40; n < 400; n++ {
		number := n
		if n%3 == 0 {
			number = n % 40
		}
		versions[number]++
		s.put(number, versions[number], fmt.Sprint("walrus unique", n))
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: fmt.Sprint("unique", n)}, in, 5)
		must(t, err)
		if len(hits) == 0 || hits[0].ID != (loci.ID{1, byte(number >> 8), byte(number)}) {
			t.Fatalf("note %d is not found: %d hits", n, len(hits))
		}
	}
	close(stop)
	<-stopped
	same(t, "in the end", s.answers(), fromHeap(t, closed(t, s)))
}
