package index

import (
	"testing"

	"github.com/loci-memory/loci"
)

// A hit names the two before it and the two after it in its conversation, the nearest beside it, wherever
// they lie: here every other one is in a segment.
func TestNeighboursAreTheNearest(t *testing.T) {
	t.Parallel()
	here := loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	x := New(loci.Space{})
	x.AddShard(key)
	add := func(position int) {
		text := "harbour"
		if position == 5 {
			text = "walrus"
		}
		r := record(position, here, text)
		r.Sequence, r.Position = "talk", int64(position)
		x.Upsert(r, nil)
	}
	for _, first := range []int{1, 0} {
		for position := first; position < 10; position += 2 {
			add(position)
		}
		if first == 1 {
			shelve(t, x, key)
		}
	}
	hits, err := x.Match(conversation(loci.Probe{Text: "walrus"}), loci.Filter{Within: []loci.Namespace{here}}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if h.KeywordRank != 1 {
			continue
		}
		for i, position := range []int{3, 4, 6, 7} {
			if want := record(position, here).ID; h.Neighbours[i] != want {
				t.Errorf("neighbour %d is %v; want %v", i, h.Neighbours[i], want)
			}
		}
		return
	}
	t.Errorf("the hit is not among %+v", hits)
}
