package index

import (
	"math"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/segment"
)

// numbersFound are the numbers that a search for a word tells, by id.
func numbersFound(t *testing.T, x *Index, word string) map[loci.ID]uint32 {
	t.Helper()
	told := map[loci.ID]uint32{}
	all := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := x.MatchNumbered(loci.Probe{Text: word}, all, 10, nil, func(hits []loci.Hit, of func(i int) uint32) {
		for i := range hits {
			told[hits[i].ID] = of(i)
		}
	})
	if err != nil || len(hits) != len(told) {
		t.Fatalf("%d hits, %d numbers: %v", len(hits), len(told), err)
	}
	return told
}

// A search tells the number of each record that it finds, wherever the index has it: on the heap, in a segment, and
// taken back from there. What does not fit, and what nobody has said, is 0.
func TestSearchesTellNumbers(t *testing.T) {
	place := loci.Namespace{"u"}
	x := New(loci.Space{})
	key := KeyOf(record(1, place, "apple"))
	x.AddShard(key)
	want := map[loci.ID]uint32{}
	for id, n := range map[int]int64{1: 7, 2: math.MaxUint32, 3: math.MaxUint32 + 6, 4: -1, 5: 0} {
		r := record(id, place, "apple")
		x.UpsertNumbered(r, nil, n)
		want[r.ID] = 0
		if n > 0 && n <= math.MaxUint32 {
			want[r.ID] = uint32(n)
		}
	}
	plain := record(6, place, "apple")
	x.Upsert(plain, nil)
	want[plain.ID] = 0
	see := func(where string) {
		t.Helper()
		got := numbersFound(t, x, "apple")
		for id, n := range want {
			if got[id] != n || len(got) != len(want) {
				t.Errorf("%s: record %v has number %d, want %d", where, id, got[id], n)
			}
		}
	}
	see("on the heap")
	origin := OriginOf([16]byte{1}, loci.Space{})
	g, err := segment.Open(x.Freeze(key, origin), origin)
	if err != nil {
		t.Fatal(err)
	}
	x.Shelve(key, g, nil)
	see("in a segment")
	x.Thaw(key, 0)
	see("taken back")
	moved := record(1, place, "apple")
	x.UpsertNumbered(moved, nil, 8)
	want[moved.ID] = 8
	see("stored again")
}
