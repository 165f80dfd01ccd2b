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
