package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/store/internal/index"
)

// named is what the manifest of the notes says.
func (s keptStore) named() (m manifest) {
	s.t.Helper()
	f := s.opened()
	must(s.t, f.readRows(s.t.Context(), "SELECT key, value FROM meta WHERE "+manifestKeys, nil, func(rows *sql.Rows) (bool, error) {
		var key string
		var value []byte
		err := rows.Scan(&key, &value)
		m = readManifest(key, value)
		return true, err
	}))
	return m
}

// expectPlain requires that the segments of the notes hold so many records, that none is large, and how many entries
// of them do not count any more.
func (s keptStore) expectPlain(records, gone int) {
	s.t.Helper()
	entries, dead := 0, 0
	for _, k := range s.named().Segments {
		if entries, dead = entries+k.Entries, dead+len(k.Gone); k.Entries > 32 {
			s.t.Errorf("a segment has %d entries, in place of 16, or 32 with what is merged", k.Entries)
		}
		if k.Entries == len(k.Gone) {
			s.t.Errorf("a segment is kept of which nothing is left")
		}
	}
	if dead != gone || entries-dead != records {
		s.t.Errorf("of %d entries %d are gone; want %d that are not, and %d", entries, dead, records, gone)
	}
}

// A load beside writes reads each record once: neither what came behind it nor what came before is put into segments
// twice, and nothing waits on the heap until it has read all.
func TestALoadBesideWritesReadsARecordOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"a pass", "a search"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
			s.fill(0, 100)
			other := openKept(t, closed(t, s))
			s = openKept(t, s.path)
			come, edited := 100, 0
			write := func(index.Key) {
				if come < 196 {
					other.fill(come, come+8)
					other.put(edited, 2, fmt.Sprint("edited walrus number", edited))
					come, edited = come+8, edited+1
				}
			}
			var read int64
			if way == "a search" {
				s.reading = write
				read = s.reads(func() { s.answers(); s.loaded() })
			} else {
				s.opened().keeper.part = write
				read = s.reads(func() { must(t, s.KeepIndex(t.Context(), testTenant)) })
			}
			if come < 196 || read > int64(come+edited) {
				t.Errorf("%d records were read, of %d, and %d edited", read, come, edited)
			}
			dead := 0
			for _, k := range s.named().Segments {
				if dead += len(k.Gone); k.Entries > 32 {
					t.Errorf("a segment has %d entries", k.Entries)
				}
			}
			if dead > edited {
				t.Errorf("%d entries are gone; %d were edited", dead, edited)
			}
			closed(t, other)
			s = s.again()
			same(t, "next process", s.answers(), fromHeap(t, closed(t, s)))
		})
	}
}

// An index that is far behind is brought to the file in parts, whether much came or much has changed, and what it had
// of that goes.
func TestAnIndexFarBehindFollowsInParts(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 100)
	must(t, s.KeepIndex(t.Context(), testTenant))
	s.expectPlain(100, 0)
	for n := range 96 {
		s.put(n, 2, fmt.Sprint("edited walrus number", n))
	}
	s.fill(100, 300)
	s = s.again()
	read := s.reads(func() { must(t, s.KeepIndex(t.Context(), testTenant)) })
	if read != 296 {
		t.Errorf("%d records were read; want those that changed or came, 296", read)
	}
	s.expectPlain(300, 0)
	s.settle()
	if n := len(segments(t, s.path)); n != len(s.named().Segments) {
		t.Errorf("%d files of %d segments", n, len(s.named().Segments))
	}
	s = s.again()
	same(t, "next process", s.answers(), fromHeap(t, s.path))
}

// Segments of which little is left are merged by a pass, though nothing came.
func TestAPassMergesWhatIsMostlyGone(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 160)
	must(t, s.KeepIndex(t.Context(), testTenant))
	for n := range 160 {
		if n%16 < 11 {
			s.put(n, 2, fmt.Sprint("edited walrus number", n))
		}
	}
	s = s.again()
	s.answers() // which merges as much as one that waits is to wait for
	s.loaded()
	wasted := func() (n int) {
		for _, k := range s.named().Segments {
			if len(k.Gone) > k.Entries/2 {
				n++
			}
		}
		return n
	}
	if wasted() == 0 {
		t.Fatal("nothing was left to merge: the test shows nothing")
	}
	s = s.again()
	for before := wasted(); before > 0; before = wasted() {
		must(t, s.KeepIndex(t.Context(), testTenant))
		if wasted() >= before {
			t.Fatalf("%d segments are mostly gone, behind a pass as before", before)
		}
		s = s.again()
	}
	s.settle()
	same(t, "merged", s.answers(), fromHeap(t, closed(t, s)))
}

// How many entries a segment has is not said in manifests of older builds. A pass writes it down where some are gone,
// once.
func TestAPassLooksAtManifestsOfOlderBuilds(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 64)
	must(t, s.KeepIndex(t.Context(), testTenant))
	for n := range 3 {
		s.put(n, 2, fmt.Sprint("edited walrus number", n))
	}
	s.fill(64, 74)
	must(t, s.KeepIndex(t.Context(), testTenant))
	f, m := s.opened(), s.named()
	older := m
	older.Segments = slices.Clone(m.Segments)
	for i := range older.Segments {
		older.Segments[i].Entries = 0
	}
	must(t, f.putManifest(t.Context(), &m, &older))
	for range 2 {
		s = s.again()
		must(t, s.KeepIndex(t.Context(), testTenant))
		s.expectPlain(74, 3)
		if older = s.named(); string(older.raw) != string(m.raw) {
			t.Errorf("the manifest is\n%s, and was\n%s", older.raw, m.raw)
		}
	}
}

// A part of what changed has no more text than a part of what is read.
func TestChangesOfLargeNotesAreTakenInParts(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 12)
	f, of := s.opened(), s.shard()
	one := &load{key: of.key, namespace: of.namespace, index: index.New(shelfSpace)}
	one.index.AddShard(one.key)
	defer one.release(&f.search)
	must(t, f.readApart(t.Context(), one))
	large := strings.Repeat("walrus ", loadBytes/5/len("walrus "))
	for n := range 12 {
		s.put(n, 2, large)
	}
	turns := 0
	for one.whole = false; !one.whole; turns++ {
		must(t, f.readApart(t.Context(), one))
	}
	if turns != 2 {
		t.Errorf("12 notes of a fifth of a part each were taken in by %d turns; want 2", turns)
	}
	if n := one.index.Records(one.key); n != 12 {
		t.Errorf("the index has %d records", n)
	}
}

// A shard that is taken out of the index to be brought up to the file reads only what changed.
func TestWhatIsBroughtUpReadsWhatChanged(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 15)
	s.answers()
	f, of := s.opened(), s.shard()
	f.search.mu.Lock()
	f.search.detach(of.key)
	f.search.mu.Unlock()
	openKept(t, s.path).fill(15, 18)
	if n := s.reads(func() { s.answers() }); n != 3 {
		t.Errorf("%d records were read, want the 3 that came", n)
	}
}

// A segment that is too large to be merged is not said to be wasted, however much of it is gone.
func TestWastedSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gone, entries int
		want          bool
	}{
		{0, 0, false}, {0, 20, false}, {10, 20, false}, {11, 20, true}, {20, 20, true}, {5, 0, true},
		{68, 100, true}, {67, 100, false},
	} {
		if got := (kept{Gone: make([]uint32, c.gone), Entries: c.entries}).wasted(16); got != c.want {
			t.Errorf("%d of %d gone: %v", c.gone, c.entries, got)
		}
	}
}
