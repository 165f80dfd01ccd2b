package index

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A search that meets damage ends where it stands: what it worked in is half filled then, and no other search may
// work in that. So after each block was damaged in its turn, searches of what is whole find what they found before.
func TestDamageLeavesNothingToOtherSearches(t *testing.T) { // alone: others would take what searches work in
	space, here := loci.Space{Model: "m", Dims: 8}, loci.Namespace{"u"}
	key, origin := Key{Namespace: here.Key(), Kind: loci.KindFact}, OriginOf([16]byte{1}, loci.Space{Model: "m", Dims: 8})
	const each = 300
	book := func(first int) []byte {
		x := New(space)
		x.AddShard(key)
		for n := first; n < first+each; n++ {
			r := record(n, here, fmt.Sprintf("the %d. walrus of colour%d says word%d", n, n%4, n%50))
			r.Sequence, r.Position, r.Tags = fmt.Sprint("talk ", n%7), int64(n), []string{"here"}
			v := make([]float32, space.Dims)
			v[n%8], v[n%3] = 1, float32(n)
			x.Upsert(r, [][]byte{vector.Quantize(v)})
		}
		return x.Freeze(key, origin)
	}
	first, second := book(0), book(each)
	attach := func(books ...[]byte) *Index {
		x := New(space)
		x.AddShard(key)
		for _, b := range books {
			g, err := segment.Open(b, origin)
			if err != nil {
				t.Fatal(err)
			}
			x.Attach(key, g, nil, nil)
		}
		return x
	}
	search := func(x *Index) (all [][]loci.Hit) {
		for _, text := range []string{"walrus colour3 word7", "colour*", `"colour2 says"`, "walrrus"} {
			for _, skipFrom := range []int{1, skipFrom} {
				x.skipFrom = skipFrom
				p := loci.Probe{Text: text, Vector: []float32{1, 2, 3, 4, 5, 6, 7, 8}, Space: space, Sequences: true}
				hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 10, nil)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, hits)
			}
		}
		return all
	}
	whole := attach(first, second)
	want, seen := search(whole), 0
	for at := len(second) - 1; at > 0; at -= 1 << 10 { // it ends with a block
		damaged := append([]byte(nil), second...)
		damaged[at] ^= 0x10
		if _, err := segment.Open(damaged, origin); err != nil {
			break // what lies before the blocks
		}
		if seesDamage(t, attach(first, damaged), func(x *Index) { search(x) }) {
			seen++
		}
		if got := search(whole); !reflect.DeepEqual(got, want) {
			t.Fatalf("with the block of byte %d damaged elsewhere: got\n%+v\nwant\n%+v", at, got, want)
		}
	}
	if seen < 20 {
		t.Errorf("damage was seen %d times", seen)
	}
}

// A search that meets damage before it has begun holds nothing either: else the next change of what is gathered would
// wait for it for ever.
func TestDamageHoldsNoGathering(t *testing.T) {
	t.Parallel()
	x, _ := above(t, 300)
	kept, origin := Key{Namespace: loci.Namespace{"u", "kept"}.Key(), Kind: loci.KindFact}, OriginOf([16]byte{1}, space)
	from := New(space)
	from.AddShard(kept)
	r := record(1000, loci.Namespace{"u", "kept"}, "zebra")
	from.Upsert(r, codes(r, 1))
	data := from.Freeze(kept, origin)
	data[len(data)-1] ^= 1
	g, err := segment.Open(data, origin)
	if err != nil {
		t.Fatal(err)
	}
	x.AddShard(kept)
	x.Attach(kept, g, nil, nil)
	if !seesDamage(t, x, func(x *Index) {
		f := loci.Filter{Within: []loci.Namespace{{"u"}}, Tags: []string{"here"}}
		for range 3 { // the first search gathers
			if _, err := x.Match(loci.Probe{Text: "zebra"}, f, 10, nil); err != nil {
				t.Fatal(err)
			}
		}
	}) {
		t.Fatal("no damage was met")
	}
	if len(x.gatherings.list) == 0 {
		t.Fatal("nothing is gathered")
	}
	for _, g := range x.gatherings.list {
		if !g.mu.TryLock() {
			t.Fatal("a search that has ended holds a gathering")
		}
		g.mu.Unlock()
	}
}
