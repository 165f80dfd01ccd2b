package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/cores"
)

// Where processors are spared, both goroutines of a load give way, and so does the tidier, which takes erased
// memories out of the kept index; a search that follows the changes of others does not. Not
// parallel: it counts.
func TestWhatGivesWay(t *testing.T) {
	defer cores.Spare()()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := keptStore{openShelving(t, path, 50, 50), t, path}, keptStore{openShelving(t, path, 50, 50), t, path}
	expect := func(what string, want, most int64, do func()) {
		t.Helper()
		before := cores.GaveWay()
		do()
		for range 2000 { // what was done may have left a goroutine that has yet to begin
			if cores.GaveWay()-before >= want {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if n := cores.GaveWay() - before; n < want || n > most {
			t.Errorf("%s: %d goroutines gave way; want %d to %d", what, n, want, most)
		}
	}
	s.fill(0, 40)
	expect("a load", 2, 2, func() { s.answers() })
	least := int64(1)
	for n := 0; n < 5 && least > 0; n++ { // a tidier of another test may be late
		before := cores.GaveWay()
		other.fill(40+n, 41+n)
		s.answers()
		least = min(least, cores.GaveWay()-before)
	}
	if least > 0 {
		t.Error("a search that follows gives way")
	}
	s = openKept(t, filepath.Join(t.TempDir(), "y.db"))
	s.fill(0, 50)
	s.answers()
	s.settle()
	s.passes() // as it would by itself
	s.settle() // a pass of the tidier that is under way would do more, and begin no other
	expect("a pass of the tidier", 1, 2, func() {
		s.erase(9, 1)
		s.settle()
	})
	s = keptStore{openShelving(t, filepath.Join(t.TempDir(), "z.db"), 20, 50), t, ""}
	s.fill(0, 40)
	expect("a pass behind writes, with its load and the tidier", 2, 3, func() { s.passes() })
}
