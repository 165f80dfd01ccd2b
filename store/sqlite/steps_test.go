package sqlite

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
)

// stepsBegun opens a store in which one step of several erased a text, and nothing is wiped
// before pause.
func stepsBegun(t *testing.T, dir string, pause time.Duration) (s *Store, later loci.ID, text [][]byte) {
	t.Helper()
	s = openFile(t, filepath.Join(dir, "x.db"))
	first, last := canary(t), canary(t)
	gone := save(t, s, first)
	later = save(t, s, last)
	f := s.files[testTenant]
	f.scrub.mu.Lock()
	f.scrub.pause = pause
	f.scrub.mu.Unlock()
	step := loci.Change{Erase: []loci.Erase{{ID: gone, Version: 1}}, More: true}
	if err := s.Apply(t.Context(), testTenant, step); err != nil {
		t.Fatal(err)
	}
	f.scrub.mu.Lock()
	defer f.scrub.mu.Unlock()
	if pause == time.Hour && (f.scrub.running || f.scrub.later == nil) {
		t.Error("a step began to wipe at once")
	}
	return s, later, [][]byte{[]byte(first), []byte(last)}
}

// A step of an erase in several is not held up by wiping; the last one waits for all.
func TestLastStepWaitsForTheWipingOfAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, later, text := stepsBegun(t, dir, time.Hour)
	if len(filesWith(t, dir, text[:1])) == 0 {
		t.Fatal("what the first step erased is wiped: this test shows nothing")
	}
	f := s.files[testTenant]
	f.scrub.mu.Lock()
	f.scrub.alone = 0 // an erase that stands alone does not wait
	f.scrub.mu.Unlock()
	last := loci.Change{Erase: []loci.Erase{{ID: later, Version: 1}}, Last: true}
	if err := s.Apply(t.Context(), testTenant, last); err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, text); len(found) > 0 {
		t.Errorf("after the last step there is %s", found)
	}
}

// An erase that stands alone waits as long as it may, and the last step of many longer.
func TestLastStepWaitsLonger(t *testing.T) {
	t.Parallel()
	for last, wait := range map[bool]time.Duration{false: scrubPatience, true: stepsPatience} {
		synctest.Test(t, func(t *testing.T) {
			f, begun := &file{}, time.Now()
			f.scrub.done, f.scrub.alone = make(chan struct{}), scrubPatience
			if err := f.awaitScrub(t.Context(), last); err != nil || time.Since(begun) != wait {
				t.Errorf("last: %v: it waited for %v, want %v; %v", last, time.Since(begun), wait, err)
			}
		})
	}
}

// The kept index is made again without what steps erased when the last of them is done, or whoever waits for
// what others erased: a pass costs what the index holds, so none begins in the middle.
func TestStepsAreTidiedTogether(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(loci.ID) loci.Change{
		"the last one erases": func(id loci.ID) loci.Change {
			return loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}, Last: true}
		},
		"the last one waits": func(loci.ID) loci.Change { return loci.Change{Settled: true, Last: true} },
	} {
		s, later, _ := stepsBegun(t, t.TempDir(), time.Hour)
		tidier := &s.files[testTenant].shelf.tidier
		asked := func() <-chan struct{} { // another one for each time that somebody asks
			tidier.tidyMu.Lock()
			defer tidier.tidyMu.Unlock()
			return tidier.done
		}
		before := asked()
		select {
		case <-before:
		default:
			t.Errorf("%s: a step began to tidy", name)
		}
		if err := s.Apply(t.Context(), testTenant, last(later)); err != nil {
			t.Fatal(err)
		}
		if asked() == before {
			t.Errorf("%s: nobody tidies", name)
		}
	}
}

// Where no last step comes, what was erased is wiped soon.
func TestStepsWithoutALastOneAreWiped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _, text := stepsBegun(t, dir, time.Millisecond)
	pending := int64(1)
	for begin := time.Now(); pending != 0 && time.Since(begin) < 20*time.Second; {
		if err := s.files[testTenant].readRow(t.Context(), "SELECT value FROM meta WHERE key = 'scrub'", nil, &pending); err != nil {
			t.Fatal(err)
		}
	}
	if found := filesWith(t, dir, text[:1]); pending != 0 || len(found) > 0 {
		t.Errorf("nothing wiped it: %d, %s", pending, found)
	}
}

// A store that is closed between two steps wipes first.
func TestCloseBetweenStepsWipes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _, text := stepsBegun(t, dir, time.Hour)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openDB(filepath.Join(dir, "x.db"), readerPragmas)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var pending int64
	if err := db.QueryRowContext(t.Context(), "SELECT value FROM meta WHERE key = 'scrub'").Scan(&pending); err != nil {
		t.Fatal(err)
	}
	if found := filesWith(t, dir, text[:1]); pending != 0 || len(found) > 0 {
		t.Errorf("after closing there is %d, %s", pending, found)
	}
}

// After a process that ended between two steps, the next one to open the file wipes.
func TestCrashBetweenStepsIsWipedLater(t *testing.T) {
	t.Parallel()
	dir, left := t.TempDir(), t.TempDir()
	_, _, text := stepsBegun(t, dir, time.Hour)
	for _, name := range []string{"x.db", "x.db-wal"} { // as it lies there
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(left, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(filesWith(t, left, text[:1])) == 0 {
		t.Fatal("what the first step erased is wiped: this test shows nothing")
	}
	s := openFile(t, filepath.Join(left, "x.db"))
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.awaitScrub(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	s.release(f)
	if found := filesWith(t, left, text[:1]); len(found) > 0 {
		t.Errorf("after opening again there is %s", found)
	}
}
