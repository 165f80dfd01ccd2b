package sqlite

import (
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/gaps"
)

// suspects asks the writer which pages may have something to wipe, and looks at all pages for what it does not know of.
func suspects(t *testing.T, s *Store) (known bool, pages gaps.Set) {
	t.Helper()
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	must(t, f.write(t.Context(), func(tx *tx) error {
		known, pages = f.touched.known, f.touched.pages.Copy()
		if !known {
			return nil
		}
		var all int64
		if err := tx.row("SELECT page_count FROM pragma_page_count", nil, &all); err != nil {
			return err
		}
		for n := int64(1); n <= all; n++ {
			var data []byte
			if err := tx.row("SELECT data FROM sqlite_dbpage WHERE pgno = ?", []any{n}, &data); err != nil {
				return err
			}
			if needsWipe(n, data) && !pages.Has(uint32(n)) {
				t.Errorf("page %d of %d has something to wipe, and it is not known", n, all)
			}
		}
		return nil
	}))
	return known, pages
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
		known, pages := suspects(t, s)
		if !known || pages.Len() > 60 {
			t.Fatalf("after an erase: known %v, %d pages to look at", known, pages.Len())
		}
		eraseOne(t, s, id)
	}
	save(t, s, "one more")
	if _, pages := suspects(t, s); pages.Len() == 0 {
		t.Error("what was written since is not followed")
	}
}

// Nothing that was erased stays while another process writes to the same file, and keeps an index of it.
func TestEraseBesideOthersLeavesNoBytes(t *testing.T) {
	t.Parallel()
	for seed := range seeds(2) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.db")
		s, other := openShelving(t, path, 20, 16), openShelving(t, path, 20, 16)
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
				if n%50 == 49 {
					must(t, other.KeepIndex(t.Context(), testTenant))
				}
			}
		})
		gone, labels := eraseRun(t, s, seed+100)
		close(stop)
		writing.Wait()
		for _, one := range []*Store{s, other} { // no pass behind writes is left to come
			must(t, one.KeepIndex(t.Context(), testTenant))
		}
		for _, one := range []*Store{s, other} {
			f := one.files[testTenant]
			f.tidyAfter(0)
			must(t, f.awaitTidy(t.Context()))
			f.startScrub()
			<-f.scrub.done
		}
		if len(segments(t, path)) == 0 {
			t.Error("no index was kept")
		}
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
	must(t, f.truncateLog(t.Context()))
	all, unwiped := unwipedPages(t, s)
	seen := map[int64]struct{}{}
	if err := f.write(t.Context(), func(tx *tx) error {
		for first := int64(1); first <= all; first += readPages {
			var list []byte
			if err := tx.row("SELECT "+unwipedFunction+"(?, ?)", []any{first, readPages}, &list); err != nil || list == nil {
				return fmt.Errorf("%d pages from %d: %v", readPages, first, err)
			}
			for list = list[1:]; len(list) > 0; list = list[2:] {
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
