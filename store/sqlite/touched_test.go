package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
)

// tracked asks the writer which pages are followed.
func tracked(t *testing.T, s *Store) (whole bool, pages int) {
	t.Helper()
	f := s.files[testTenant]
	if err := f.write(t.Context(), func(*tx) error {
		whole, pages = f.touched.whole, len(f.touched.pages)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return whole, pages
}

func eraseOne(t *testing.T, s *Store, id loci.ID) {
	t.Helper()
	if err := s.Apply(t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}}); err != nil {
		t.Fatal(err)
	}
	<-s.files[testTenant].scrub.done
}

// An erase looks at the pages written since the erase before it, not at the whole file, however
// often this process cuts the log.
func TestErasesFollowPages(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	var ids []loci.ID
	for n := range 1500 {
		ids = append(ids, save(t, s, fmt.Sprint("a note of some length, so that there are pages: ", n)))
	}
	eraseOne(t, s, ids[0])
	for _, id := range ids[1:6] {
		whole, pages := tracked(t, s)
		if !whole || pages > 60 {
			t.Fatalf("after an erase: followed %v, %d pages to look at", whole, pages)
		}
		eraseOne(t, s, id)
	}
	save(t, s, "one more")
	if _, pages := tracked(t, s); pages == 0 {
		t.Error("what was written since is not followed")
	}
}

// When another process writes to the file, the next erase looks at all of it again.
func TestOthersWritesAreNoticed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	first, second := save(t, s, "first"), save(t, s, "second")
	eraseOne(t, s, first)
	if whole, _ := tracked(t, s); !whole {
		t.Fatal("nothing is followed")
	}
	save(t, other, "third")
	if whole, _ := tracked(t, s); whole {
		t.Error("another process wrote, and what it wrote is taken for known")
	}
	eraseOne(t, s, second)
	if whole, _ := tracked(t, s); !whole {
		t.Error("nothing is followed any more")
	}
}

// Nothing that was erased stays while another process writes to the same file.
func TestEraseBesideOthersLeavesNoBytes(t *testing.T) {
	t.Parallel()
	for seed := range seeds(2) {
		dir := t.TempDir()
		s, other := openFile(t, filepath.Join(dir, "x.db")), openFile(t, filepath.Join(dir, "x.db"))
		save(t, s, "makes the file")
		stop := make(chan struct{})
		var writing sync.WaitGroup
		writing.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					save(t, other, fmt.Sprint("beside it ", n))
				}
			}
		})
		gone, labels := eraseRun(t, s, seed+100)
		close(stop)
		writing.Wait()
		f := s.files[testTenant]
		f.startScrub()
		<-f.scrub.done
		if found := filesWith(t, dir, append(gone, labels...)); len(found) > 0 {
			t.Errorf("seed %d: %d erased byte strings are still on disk, such as %s", seed, len(found), found[0])
		}
	}
}

// unwipedPages are the pages that have something to wipe, as SQLite has them.
func unwipedPages(t *testing.T, s *Store) (all int64, unwiped map[int64]struct{}) {
	t.Helper()
	unwiped = map[int64]struct{}{}
	if err := s.files[testTenant].write(t.Context(), func(tx *tx) error {
		if err := tx.row("SELECT page_count FROM pragma_page_count", nil, &all); err != nil {
			return err
		}
		for n := int64(1); n <= all; n++ {
			var data []byte
			if err := tx.row("SELECT data FROM sqlite_dbpage WHERE pgno = ?", []any{n}, &data); err != nil {
				return err
			}
			if needsWipe(n, data) {
				unwiped[n] = struct{}{}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all, unwiped
}

// Those pages are followed that have something to wipe, and no others: whatever is written, and however often the log
// begins again at its start, with old frames behind the new ones.
func TestPagesThatNeedNoWipingAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	eraseOne(t, s, save(t, s, "first"))
	f := s.files[testTenant]
	most, again, before := 0, 0, int64(0)
	for n := range 900 {
		switch {
		case n%50 == 25: // then the next commit begins the log again
			db, err := f.cutter()
			must(t, err)
			if _, _, err := checkpoint(db, "PASSIVE"); err != nil && !isBusy(err) { // the merger may be at it
				t.Fatal(err)
			}
		case n%100 == 50:
			save(t, s, strings.Repeat("filler ", 100_000))
		case n%300 == 299:
			must(t, f.cutLog(t.Context()))
		default:
			save(t, s, fmt.Sprint("a note of some length, so that there are pages: ", n))
		}
		info, err := os.Stat(f.path + "-wal")
		must(t, err)
		if info.Size() == before {
			again++
		}
		if before = info.Size(); n%90 != 0 {
			continue
		}
		_, want := unwipedPages(t, s)
		if got := f.touched.pages; !f.touched.whole || !maps.Equal(got, want) {
			t.Fatalf("after %d notes it follows %d pages (whole: %v); %d have something to wipe", n, len(got), f.touched.whole, len(want))
		}
		most = max(most, len(want))
	}
	if most < 5 || again < 3 {
		t.Errorf("at most %d pages had something to wipe, and %d commits had room in the log", most, again)
	}
}

// A process that erases for the first time asks SQLite for the pages that have something to wipe. The others it sees in
// the file, those of the log in the log, and it sees what SQLite has.
func TestPagesOfTheWholeFileAreSeenInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	id := save(t, s, "first")
	for n := range 2000 {
		save(t, s, fmt.Sprint("a note of some length, so that there are pages: ", n))
	}
	must(t, s.Close())
	s = openFile(t, path)
	save(t, s, "opens the file")
	f := s.files[testTenant]
	must(t, f.cutLog(t.Context()))
	all, unwiped := unwipedPages(t, s)
	seen := map[int64]struct{}{}
	if err := f.write(t.Context(), func(tx *tx) error {
		for first := int64(1); first <= all; first += readPages {
			var list []byte
			if err := tx.row("SELECT "+unwipedFunction+"(?, ?)", []any{first, readPages}, &list); err != nil || list == nil {
				return fmt.Errorf("%d pages from %d: %v", readPages, first, err)
			}
			for ; len(list) > 0; list = list[2:] {
				seen[first+int64(binary.BigEndian.Uint16(list))] = struct{}{}
			}
		}
		for _, bad := range [][2]int64{{0, 1}, {1, 0}, {1, readPages + 1}, {-5, 7}} {
			var list []byte
			if err := tx.row("SELECT "+unwipedFunction+"(?, ?)", []any{bad[0], bad[1]}, &list); err != nil || list != nil {
				t.Errorf("%v: %x, %v", bad, list, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(unwiped) < 20 || !maps.Equal(seen, unwiped) {
		t.Errorf("%d pages of the file have something to wipe; SQLite says %d", len(seen), len(unwiped))
	}
	for n := range 100 {
		save(t, s, fmt.Sprint("in the log: ", n))
	}
	_, unwiped = unwipedPages(t, s)
	eraseOne(t, s, id)
	if asked := f.touched.asked; asked < int64(len(unwiped)) || asked > 2*int64(len(unwiped)) {
		t.Errorf("SQLite was asked for %d pages of %d; %d had something to wipe", asked, all, len(unwiped))
	}
	if _, left := unwipedPages(t, s); len(left) > 0 {
		t.Errorf("%d pages have something to wipe afterwards", len(left))
	}
}

// A log is read as far as its last whole commit, and what is behind that again next time. A log that cannot be
// read is no empty one.
func TestLogsAreReadToTheLastCommit(t *testing.T) {
	t.Parallel()
	log, err := os.Create(filepath.Join(t.TempDir(), "x-wal"))
	if err != nil {
		t.Fatal(err)
	}
	p := touched{log: log, pages: map[int64]struct{}{}}
	if err := p.harvest(); err != nil {
		t.Errorf("an empty log: %v", err)
	}
	var written []byte
	frame := func(page uint32, clean bool, size uint32) { // size: of the file, where the frame ends a commit
		data := treePage(13, 0, 3, 900)
		if clean {
			clear(data[14:900])
		}
		written = binary.BigEndian.AppendUint32(written, page)
		written = binary.BigEndian.AppendUint32(written, size)
		written = append(append(written, "saltsalt........"...), data...)
	}
	written = append(written, "magic...\x00\x00\x04\x00....saltsalt........"...)
	type write struct {
		page  uint32
		clean bool
		size  uint32
	}
	for i, c := range []struct {
		writes []write
		frames int64
		pages  []int64
	}{
		{nil, 0, nil},
		{[]write{{7, false, 0}, {5, false, 0}, {9, true, 9}}, 3, []int64{5, 7}},
		{[]write{{5, true, 0}, {3, false, 0}}, 3, []int64{5, 7}}, // the commit is still to come
		{[]write{{2, true, 9}}, 6, []int64{3, 7}},
		{[]write{{7, true, 0}, {7, false, 9}, {3, false, 0}, {3, true, 9}}, 10, []int64{7}},
		{slices.Repeat([]write{{4, false, 9}}, 3*readFrames), 10 + 3*readFrames, []int64{4, 7}},
	} {
		for _, w := range c.writes {
			frame(w.page, w.clean, w.size)
		}
		if _, err := log.WriteAt(written, 0); err != nil {
			t.Fatal(err)
		}
		err := p.harvest()
		got := slices.Sorted(maps.Keys(p.pages))
		if err != nil || p.place.frames != c.frames || !slices.Equal(got, c.pages) {
			t.Errorf("%d: %d frames, pages %v, %v; want %d and %v", i, p.place.frames, got, err, c.frames, c.pages)
		}
	}
	if err := log.Truncate(logHeader / 2); err != nil {
		t.Fatal(err)
	}
	if err := p.harvest(); err == nil {
		t.Error("half a header is a log that was cut")
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.harvest(); err == nil {
		t.Error("a log that cannot be read is one that was cut")
	}
}

// Each process follows a file under a name of its own.
func TestFollowersAreToldApart(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	eraseOne(t, s, save(t, s, "walrus"))
	if token := s.files[testTenant].touched.token; len(token) != 16 || bytes.Equal(token, make([]byte, 16)) {
		t.Errorf("it follows as %x", token)
	}
}
