package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
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
	if err := s.Apply(s.t.Context(), testTenant, putOf(n, version, text)); err != nil {
		s.t.Fatal(err)
	}
}

// putOf is the change that saves a version of note n.
func putOf(n int, version int64, text string) loci.Change {
	r := loci.Record{
		ID:        loci.ID{1, byte(n >> 8), byte(n)},
		Kind:      shelfKind,
		Namespace: shelfPlace(),
		Version:   version,
		Live:      true,
		CreatedAt: time.UnixMilli(int64(n)).UTC(),
		Text:      text,
		Passages:  []loci.Span{{Start: 0, End: len(text)}},
		Sequence:  fmt.Sprint("talk ", n%3),
		Position:  int64(n),
		Tags:      []string{fmt.Sprint("tag", n%2)},
	}
	row := []float32{float32(n%7) - 3, float32(n % 5), float32(version), 1}
	return loci.Change{
		Put:    []loci.Put{{Record: r, Vectors: []loci.Vectors{{Space: shelfSpace, Rows: [][]float32{row}}}}},
		Events: []loci.Event{{ID: loci.NewID(), Type: loci.EventCreated, Entity: r.ID, Namespace: r.Namespace}},
	}
}

func (s keptStore) erase(n int, version int64) {
	s.t.Helper()
	id := loci.ID{1, byte(n >> 8), byte(n)}
	err := s.Apply(s.t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: version}}})
	if err != nil {
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
func (s keptStore) answers() [][]loci.Hit {
	s.t.Helper()
	return answersOf(s.t, s)
}

// answersOf are those of any store.
func answersOf(t *testing.T, s loci.Store) (all [][]loci.Hit) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	for _, text := range []string{"walrus", "number7 colour3", "colour*", `"walrus number12"`, "numbr7", "edited"} {
		for _, tags := range [][]string{nil, {"tag1"}} {
			p := loci.Probe{
				Text:      text,
				Vector:    []float32{0.5, 0.5, 0.5, 0.5},
				Space:     shelfSpace,
				Sequences: true,
				Texts:     true,
			}
			hits, err := s.Match(ctx, testTenant, p, loci.Filter{
				Within: []loci.Namespace{shelfPlace()},
				Tags:   tags,
			}, 10)
			if err != nil {
				t.Fatal(err)
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

// fromHeap is what a store answers that keeps no index, on a copy of the file.
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

// The next process maps what the one before has made, and adds what came since.
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

// A process that searches by words alone at first takes up what is kept of the active space, and
// leaves it to those who search by vectors, too.
func TestWordsAloneKeepTheIndex(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	want := s.answers()
	kept := segments(t, s.path)
	s = s.again()
	in := loci.Filter{Within: []loci.Namespace{shelfPlace()}}
	hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, in, 10)
	if err != nil || len(hits) != 10 {
		t.Fatalf("%d hits, %v", len(hits), err)
	}
	if n, loose := s.parts(); n != 4 || loose != 0 {
		t.Errorf("%d segments and %d notes on the heap, want 4 and 0", n, loose)
	}
	same(t, "by vectors, too", s.answers(), want)
	if now := segments(t, s.path); !reflect.DeepEqual(now, kept) {
		t.Errorf("segments %q, before %q", now, kept)
	}
}

// However often a process begins after a few changes, the segments stay few, and replaced ones
// are removed.
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

// Searches find the same, whatever is done to the folder.
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

// A folder that cannot be used is reported, and a link in its place is not followed.
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

// A copy of the memory file that is put back is searched as it is, even when its counter
// reaches the value at which the segments of the other file were made.
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

// Segments leave room on the disk for a ballast and for four times what they take.
func TestSegmentsLeaveRoom(t *testing.T) {
	t.Parallel()
	data, free := []byte("no segment, but as long as one"), int64(0)
	s := &shelf{dir: t.TempDir(), fresh: map[string]bool{}, free: func(string) (int64, bool) { return free, true }}
	for spare, full := range map[int64]bool{-1: true, 0: false} {
		free = ballastSize + ballastMargin + 4*int64(len(data)) + spare
		_, _, err := s.put(data, segment.Origin{})
		if err == nil || strings.Contains(err.Error(), "too little room") != full {
			t.Errorf("with %+d bytes to spare: %v", spare, err)
		}
	}
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
		t.Fatal("the folder is taken by another process")
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
