package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// harmed is a store of 50 notes with a kept index in which a byte of each segment was changed before it was opened,
// and what it is to answer.
type harmed struct {
	keptStore
	want [][]loci.Hit
}

// eachDamage changes another byte each time, of the half of the segments that is looked at when it is read.
func eachDamage(t *testing.T, check func(t *testing.T, d harmed)) {
	for at := range 20 {
		t.Run(fmt.Sprintf("%d of 20", at), func(t *testing.T) {
			t.Parallel()
			s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
			s.fill(0, 50)
			d := harmed{want: s.answers()}
			path := closed(t, s)
			files := segments(t, path)
			if len(files) != 4 {
				t.Fatalf("%d segments", len(files))
			}
			for _, file := range files {
				turn(t, file, at)
			}
			d.keptStore = openKept(t, path)
			check(t, d)
		})
	}
}

// turn changes a byte of a file where it lies: the last, or one so many fortieths of its length before that.
func turn(t *testing.T, path string, at int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	place, b := info.Size()-1-info.Size()*int64(at)/40, make([]byte, 1)
	_, err = f.ReadAt(b, place)
	must(t, err)
	b[0] ^= 0x55
	_, err = f.WriteAt(b, place)
	must(t, err)
}

// What is damaged of a segment is not searched, whether that shows when it is opened or when it is read: the
// index is made again.
func TestNoDamageIsSearched(t *testing.T) {
	t.Parallel()
	eachDamage(t, func(t *testing.T, d harmed) {
		same(t, "damaged", d.answers(), d.want)
		same(t, "a second time", d.answers(), d.want)
	})
}

// A record of a damaged segment changes: the segment is read to take it out.
func TestDamageShowsInAChange(t *testing.T) {
	t.Parallel()
	eachDamage(t, func(t *testing.T, d harmed) {
		for n := range 50 {
			d.put(n, 2, fmt.Sprint("edited walrus number", n))
		}
		got := d.answers()
		same(t, "changed", got, fromHeap(t, closed(t, d.keptStore)))
	})
}

// What is erased leaves the folder, also from a segment that is damaged.
func TestAnEraseLeavesADamagedSegment(t *testing.T) {
	t.Parallel()
	eachDamage(t, func(t *testing.T, d harmed) {
		d.erase(13, 1)
		d.settle()
		if held := heldIn(t, d.path, "number13"); len(held) > 0 {
			t.Errorf("%q hold it", held)
		}
	})
}

// Once something was wrong with a segment, all of each is looked at when it is opened: else one that is
// damaged would be taken up, and let go of, with each search.
func TestADamagedSegmentIsNotTakenUpAgain(t *testing.T) {
	t.Parallel()
	s := openKept(t, filepath.Join(t.TempDir(), "x.db"))
	s.fill(0, 50)
	s.answers()
	path := closed(t, s)
	before := strings.Join(segments(t, path), " ")
	for _, file := range segments(t, path) {
		turn(t, file, 0) // of the vectors
	}
	s = openKept(t, path)
	s.answers()
	if after := strings.Join(segments(t, path), " "); after == before {
		t.Error("the segments are those that were damaged")
	}
	if n, loose := s.parts(); n == 0 || loose > 0 {
		t.Errorf("%d segments and %d notes on the heap", n, loose)
	}
}
