package sqlite

import (
	"path/filepath"
	"testing"
)

// One process closes the file while another one has it open, and leaves a mark of rest. The next write of the other one
// takes that away, in the middle of the log, and a process that goes on from there sees what was written since.
func TestAMarkOfRestGoesWithTheNextWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s, other := openFile(t, path), openFile(t, path)
	save(t, other, "walrus")
	save(t, s, "walrus")
	must(t, s.Close())
	if m, ok := says(t, other); !ok || !m.Rest {
		t.Fatalf("it says %+v, %v", m, ok)
	}
	save(t, other, "another walrus")
	if m, ok := says(t, other); !ok || m.Rest || m.Frames == 0 {
		t.Errorf("it says %+v, %v", m, ok)
	}
	must(t, other.files[testTenant].write(t.Context(), func(x *tx) error {
		return x.exec("UPDATE record SET heading = zeroblob(300) WHERE n % 2 = 1")
	}))
	for _, path := range []string{path, copyFiles(t, path)} {
		if known, pages := suspects(t, openFile(t, path)); !known || pages.Len() < 20 {
			t.Errorf("known %v, %d pages", known, pages.Len())
		}
	}
}

// A commit that begins the log again, since all of it is in the file, is followed like any other.
func TestALogThatBeginsAgainIsFollowed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	eraseOne(t, s, save(t, s, "walrus"))
	f := s.files[testTenant]
	db, err := f.cutter()
	must(t, err)
	for range 3 {
		save(t, s, "before")
		if log, moved, err := checkpoint(db, "PASSIVE"); err != nil && !isBusy(err) || log != moved {
			t.Fatalf("%d of %d frames are in the file: %v", moved, log, err)
		}
		before := f.touched.seen.Log()
		must(t, f.write(t.Context(), func(x *tx) error {
			return x.exec("UPDATE record SET heading = zeroblob(coalesce(octet_length(heading), 0) + 200) WHERE n % 2 = 1")
		}))
		known, pages := suspects(t, s)
		if !known || pages.Len() < 20 || f.touched.seen.Log() == before {
			t.Errorf("known %v, %d pages, the same log: %v", known, pages.Len(), f.touched.seen.Log() == before)
		}
	}
}

// Pages that a transaction wiped have nothing to wipe, unless it went on to write.
func TestWhatAWipingWroteNeedsNoSecondLook(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	save(t, s, "walrus")
	f := s.files[testTenant]
	grow := func(x *tx) error {
		return x.exec("UPDATE record SET heading = zeroblob(coalesce(octet_length(heading), 0) + 200) WHERE n % 2 = 1")
	}
	must(t, f.write(t.Context(), grow))
	must(t, f.wipe(t.Context()))
	if n := f.touched.pages.Len(); n > 20 {
		t.Errorf("after a wiping %d pages may have something to wipe", n)
	}
	must(t, f.write(t.Context(), grow))
	var x *tx
	must(t, f.write(t.Context(), func(own *tx) error { x = own; return nil }))
	wipe := &job{done: make(chan error, 1), erases: true, first: true, run: func(x *tx) error {
		_, err := x.wipeSlice(true, lookSlice)
		return err
	}}
	_, err := f.commit(x, []*job{wipe, {done: make(chan error, 1), run: grow}}) // as the writer does, who waits
	must(t, err)
	for _, page := range f.touched.wiped {
		if !f.touched.pages.Has(page) {
			t.Errorf("page %d was wiped, and written again by another job of the transaction: nobody looks at it", page)
		}
	}
	if len(f.touched.wiped) == 0 {
		t.Error("nothing was wiped: the test shows nothing")
	}
	suspects(t, s)
}
