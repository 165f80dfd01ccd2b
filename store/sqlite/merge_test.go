package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A long log is merged into the file beside the writers; a short one stays, so that what is
// written again and again is merged once.
func TestLongLogIsMergedBesideTheWriters(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	state := func() (log, moved int64) {
		db, err := s.files[testTenant].cutter()
		if err == nil {
			log, moved, err = checkpoint(db, "NOOP")
		}
		if err != nil {
			t.Fatal(err)
		}
		return log, moved
	}
	save(t, s, "walrus")
	if err := s.files[testTenant].mergeLog(); err != nil {
		t.Fatal(err)
	}
	if log, moved := state(); log == 0 || moved != 0 {
		t.Errorf("of a short log of %d pages %d are merged", log, moved)
	}
	save(t, s, strings.Repeat("walrus ", 1<<20)) // 7 MiB: no commit merges that
	for begin := time.Now(); ; {
		log, moved := state()
		if log < mergeFrom || log > mergeLate {
			t.Fatalf("the log has %d pages: this test shows nothing", log)
		}
		if moved == log {
			break
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatalf("of a log of %d pages %d are merged", log, moved)
		}
	}
}

// Where little is free no more waits in the log than the room for it, however late the
// merger is: on a full disk the ballast must do for merging, or deletes have none.
func TestLogFitsIntoTheReserve(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	const free = ballastSize + ballastMargin
	s.ballast.free = func(string) (int64, bool) { return free, true }
	text, longest := strings.Repeat("walrus ", 2000), int64(0)
	for range 150 {
		save(t, s, text)
		db, err := s.files[testTenant].cutter()
		if err != nil {
			t.Fatal(err)
		}
		log, moved, err := checkpoint(db, "NOOP")
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, log-moved)
	}
	if longest < 200 || longest*pageSize > free/2+mergeReserve/4 {
		t.Errorf("%d pages waited in the log while %d bytes were free", longest, free)
	}
}

// Where enough is free nobody looks at the log, and where it cannot be read there is no room.
func TestRoomIsLookedForWhereLittleIsFree(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	db, err := f.cutter()
	if err == nil {
		err = db.Close() // a look at the log fails from here on
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		free        int64
		known, room bool
	}{{lowRoom, true, true}, {lowRoom - 1, true, false}, {0, true, false}, {0, false, true}} {
		s.ballast.free = func(string) (int64, bool) { return c.free, c.known }
		if room := f.mergeForRoom(); room != c.room {
			t.Errorf("of %d bytes, known %t: room %t", c.free, c.known, room)
		}
	}
}
