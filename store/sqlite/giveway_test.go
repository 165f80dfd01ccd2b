package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/internal/cores"
)

// Where processors are spared, both goroutines of a load give way, and so does the tidier, which takes erased
// memories out of the kept index; a search that follows the changes of others does not. Not
// parallel: it counts.
func TestWhatGivesWay(t *testing.T) {
	defer cores.Spare()()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := keptStore{openShelving(t, path, 50, 50), t, path}, keptStore{openShelving(t, path, 50, 50), t, path}
	expect := func(what string, want int64, do func()) {
		t.Helper()
		before := cores.GaveWay()
		do()
		if n := cores.GaveWay() - before; n != want {
			t.Errorf("%s: %d goroutines gave way; want %d", what, n, want)
		}
	}
	s.fill(0, 40)
	expect("a load", 2, func() { s.answers() })
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
	expect("a pass of the tidier", 1, func() {
		s.erase(9, 1)
		s.settle()
	})
	s = keptStore{openShelving(t, filepath.Join(t.TempDir(), "z.db"), 20, 50), t, ""}
	s.fill(0, 40)
	expect("a pass behind writes, with its load", 2, func() { s.passes() })
}
