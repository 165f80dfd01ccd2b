package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
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

// Pages are followed even when the log begins again at its start, with old frames behind the
// new ones.
func TestPagesAreFollowedWhenTheLogBeginsAgain(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	eraseOne(t, s, save(t, s, "first"))
	log := func() int64 {
		t.Helper()
		info, err := os.Stat(s.files[testTenant].path + "-wal")
		must(t, err)
		return info.Size()
	}
	for before := int64(-1); log() > before; { // until it no longer grows
		before = log()
		save(t, s, strings.Repeat("filler ", 100_000))
	}
	_, before := tracked(t, s)
	for range 3 {
		save(t, s, strings.Repeat("filler ", 100_000))
	}
	if whole, pages := tracked(t, s); !whole || pages < before+3*100 {
		t.Errorf("followed %v, %d pages to look at; before three large notes there were %d", whole, pages, before)
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
	frames := func(ends ...uint32) { // of pages of 8 bytes, each with the size of the file that it ends a commit with
		for _, size := range ends {
			written = binary.BigEndian.AppendUint32(written, uint32(len(written)))
			written = binary.BigEndian.AppendUint32(written, size)
			written = append(written, "saltsalt........pageof08"...)
		}
		if _, err := log.WriteAt(written, 0); err != nil {
			t.Fatal(err)
		}
	}
	written = append(written, "magic...\x00\x00\x00\x08....saltsalt........"...)
	for _, c := range []struct {
		ends   []uint32
		frames int64
		pages  int
	}{{nil, 0, 0}, {[]uint32{0, 5}, 2, 2}, {[]uint32{0}, 2, 3}, {[]uint32{6}, 4, 4}} {
		frames(c.ends...)
		if err := p.harvest(); err != nil || p.place.frames != c.frames || len(p.pages) != c.pages {
			t.Errorf("after %v: %d frames, %d pages, %v; want %d and %d", c.ends, p.place.frames, len(p.pages), err, c.frames, c.pages)
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
