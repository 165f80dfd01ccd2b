package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// opened is the file of the notes.
func (s keptStore) opened() *file {
	s.t.Helper()
	f, err := s.acquire(s.t.Context(), testTenant)
	must(s.t, err)
	s.release(f)
	return f
}

// passes has the pass run that a write has asked for. It reports whether one was asked for.
func (s keptStore) passes() bool {
	s.t.Helper()
	f := s.opened()
	f.keeper.mu.Lock()
	asked := f.keeper.timer != nil
	f.keeper.mu.Unlock()
	if asked {
		f.startKeeper(false)
		f.keeper.mu.Lock()
		done := f.keeper.done
		f.keeper.mu.Unlock()
		<-done
	}
	return asked
}

// reads is how many records are read into indexes meanwhile.
func (s keptStore) reads(do func()) int64 {
	s.t.Helper()
	f := s.opened()
	before := f.indexed.Load()
	do()
	return f.indexed.Load() - before
}

// What is written is kept behind the answer, though nobody searches: the first search reads no record of it, neither in
// this process nor in the next one.
func TestTheIndexIsKeptBehindWrites(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 19)
	if s.passes() {
		t.Error("a pass is asked for behind less than is kept")
	}
	s.fill(19, 50)
	if !s.passes() {
		t.Fatal("no pass is asked for")
	}
	if n := len(segments(t, s.path)); n != 4 {
		t.Errorf("%d segments, want 4", n)
	}
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
	s = s.again()
	if n := s.reads(func() { same(t, "next process", s.answers(), fromHeap(t, s.path)) }); n != 0 {
		t.Errorf("the first search of the next process read %d records", n)
	}
}

// A process that writes a little and ends leaves it to those that come: they look at what all have written.
func TestTheIndexOfOthersIsKept(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	for n := range 5 {
		s.fill(10*n, 10*n+10)
		if s.passes() {
			t.Error("a pass is asked for behind a few writes")
		}
		s = s.again()
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
	if n := s.reads(func() { must(t, s.KeepIndex(t.Context(), testTenant)) }); n != 0 {
		t.Errorf("a second pass read %d records", n)
	}
}

// What comes to a shard that is kept is kept, too, once it is much. Until then nothing is made again.
func TestWhatComesIsKeptBehindWrites(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	must(t, s.KeepIndex(t.Context(), testTenant))
	kept := segments(t, s.path)
	s.fill(50, 59)
	must(t, s.KeepIndex(t.Context(), testTenant))
	if now := segments(t, s.path); fmt.Sprint(now) != fmt.Sprint(kept) {
		t.Errorf("%v were made again behind 9 writes", now)
	}
	s.fill(59, 60)
	must(t, s.KeepIndex(t.Context(), testTenant))
	s.erase(55, 1)
	s = s.again()
	if n := s.reads(func() { same(t, "after a restart", s.answers(), fromHeap(t, s.path)) }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
}

// What the index of the process has is left to the upkeep: its searches need nothing else, and to make it again would
// cost as much as to make it.
func TestWhatIsSearchedIsKeptByTheUpkeep(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 1)
	s.answers()
	s.fill(1, 50)
	if n := s.reads(func() { s.passes() }); n != 0 {
		t.Errorf("a pass behind writes read %d records that the index has", n)
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	s = s.again()
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search of the next process read %d records", n)
	}
}

// A few large notes have as many words as many small ones.
func TestTheIndexOfLargeNotesIsKept(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	var text strings.Builder
	for n := range 6 {
		text.Reset()
		for i := 0; text.Len() < keptBytes/5; i++ {
			fmt.Fprintf(&text, "walrus%d of %d ", i, n)
		}
		s.put(n, 1, text.String())
	}
	if !s.passes() {
		t.Fatal("no pass is asked for")
	}
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
	s.put(6, 1, text.String())
	for n := 7; n < 12; n++ {
		s.put(n, 1, text.String())
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	s = s.again()
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search of the next process read %d records", n)
	}
}

// A load puts what it has on the heap into a segment when it takes much memory, however few records it has.
func TestALoadHoldsLittleOfLargeNotes(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 15)
	f, of := s.opened(), s.shard()
	one := &load{key: of.key, namespace: of.namespace, index: index.New(shelfSpace)}
	one.index.AddShard(one.key)
	defer one.release(&f.search)
	must(t, f.readApart(t.Context(), one))
	one.whole = false // as if there were more
	for _, c := range []struct {
		most            int64
		segments, loose int
	}{{bookBytes, 0, 15}, {1, 1, 0}} {
		f.shelf.most = c.most
		f.shelve(one)
		n, loose := one.index.Shelved(one.key), one.index.Loose(one.key)
		if n != c.segments || loose != c.loose {
			t.Errorf("of %d bytes: %d segments and %d loose, want %d and %d", c.most, n, loose, c.segments, c.loose)
		}
	}
}

// shard is that of the notes.
func (s keptStore) shard() (b behindShard) {
	s.t.Helper()
	f := s.opened()
	b.kind, b.key = shelfKind, index.Key{Namespace: shelfPlace().Key(), Kind: shelfKind}
	must(s.t, f.readRow(s.t.Context(), "SELECT n FROM namespace WHERE key = ?", []any{[]byte(b.key.Namespace)}, &b.namespace))
	return b
}

// A pass leaves a file to a search that loads, and comes again.
func TestAPassLeavesTheFileToASearch(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	f, parts := s.opened(), 0
	found := make(chan [][]loci.Hit, 1)
	f.keeper.part = func(index.Key) {
		if parts++; parts == 2 {
			go func() { found <- s.answers() }()
			for !f.keeper.left.Load() && len(found) == 0 {
				runtime.Gosched()
			}
		}
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	if parts != 2 {
		t.Errorf("the pass read %d parts, though a search came with the second one", parts)
	}
	beside := <-found
	if f.search.loading.Crew.Wait(); !s.passes() {
		t.Error("the pass does not come again")
	}
	must(t, s.KeepIndex(t.Context(), testTenant)) // either of the two may have named its segments first
	s = s.again()
	same(t, "beside a pass", beside, fromHeap(t, s.path))
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
}

// A store that closes ends a pass at its next part. The next process goes on where it was, and nothing lies about.
func TestAPassThatEndsIsGoneOnWith(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	f, parts, closed := s.opened(), 0, make(chan error, 1)
	f.keeper.part = func(index.Key) {
		if parts++; parts == 4 {
			go func() { closed <- s.Close() }()
			<-f.keeper.ctx.Done()
		}
	}
	f.startKeeper(false)
	must(t, <-closed)
	if parts != 4 {
		t.Errorf("the pass read %d parts, though the store closed with the fourth one", parts)
	}
	s = openKept(t, s.path)
	if upto, named := s.begun(); upto == 0 || named == 0 {
		t.Errorf("nothing is kept of a pass that ended: record %d, %d segments", upto, named)
	}
	if n := s.reads(func() { must(t, s.KeepIndex(t.Context(), testTenant)) }); n == 0 || n > 60 {
		t.Errorf("the next process read %d records, want what was left of 100", n)
	}
	if n := s.reads(func() { same(t, "gone on", s.answers(), fromHeap(t, s.path)) }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
	var names int
	all, _, err := s.opened().manifests(t.Context())
	must(t, err)
	for i := range all {
		names += len(all[i].names())
	}
	must(t, s.opened().awaitTidy(t.Context()))
	if n := len(segments(t, s.path)); n != names {
		t.Errorf("%d segments lie in the folder, and %d are named", n, names)
	}
}

// A pass makes nobody's index go, and gives its room back to those who search.
func TestAPassTakesRoomThatNobodyNeeds(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	f := s.opened()
	other := new(searchIndex)
	s.budget.limit = 4000
	s.budget.add(other, 3000)
	parts := 0
	f.keeper.part = func(index.Key) { parts++ }
	must(t, s.KeepIndex(t.Context(), testTenant))
	if parts != 1 {
		t.Errorf("the pass read %d parts, though there is room for one", parts)
	}
	if held := s.budget.held[other]; held != 3000 {
		t.Errorf("another index has %d bytes beside a pass, want 3000", held)
	}
	if n := s.Work().IndexBytes; n != 3000 {
		t.Errorf("%d bytes are held behind a pass, want 3000", n)
	}
	f.keeper.looked = 0
	s.budget.add(other, -3000)
	s.budget.limit = 1 << 20
	parts = 0
	f.keeper.part = func(index.Key) {
		if parts++; parts == 2 {
			s.budget.claims(1 << 20) // as whoever lacks room
		}
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	if parts != 2 {
		t.Errorf("the pass read %d parts, though room was short at the second one", parts)
	}
}

// While a file is written to, the pass waits, but not for ever.
func TestWritesPutOffThePass(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	f := s.opened()
	s.fill(0, 25)
	k := &f.keeper
	k.mu.Lock()
	first, latest := k.timer, k.latest
	k.mu.Unlock()
	s.fill(25, 30)
	k.mu.Lock()
	defer k.mu.Unlock()
	if first == nil || k.timer != first || k.latest != latest {
		t.Error("a pass that waits is another one behind each write")
	}
	if !first.Stop() {
		t.Error("the pass began while the file was written to")
	}
}

// Who gives up waiting for a pass does not end it.
func TestGivingUpLeavesThePass(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	f := s.opened()
	ctx, cancel := context.WithCancel(t.Context())
	f.keeper.part = func(index.Key) { cancel() }
	if err := s.KeepIndex(ctx, testTenant); err != nil {
		wantCode(t, err, loci.Unavailable)
	}
	must(t, s.KeepIndex(t.Context(), testTenant))
	if n := s.reads(func() { s.answers() }); n != 0 {
		t.Errorf("the first search read %d records", n)
	}
}

// Where the folder takes no more, a pass ends, and what it has read goes.
func TestAPassEndsWhereTheDiskIsFull(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	f, parts := s.opened(), 0
	f.shelf.free = func(string) (int64, bool) { return 0, true }
	f.keeper.part = func(index.Key) { parts++ }
	must(t, s.KeepIndex(t.Context(), testTenant))
	if parts != 1 || s.Work().IndexBytes != 0 {
		t.Errorf("%d parts are read and %d bytes held though there is no room for one", parts, s.Work().IndexBytes)
	}
	if len(s.answers()) == 0 || len(segments(t, s.path)) != 0 {
		t.Error("searches need no room")
	}
}
