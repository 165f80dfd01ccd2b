package index

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// A request is compared with wishes up to a number of them: what it takes does not grow with a memory.
func TestARequestLooksAtSoManyWishes(t *testing.T) {
	t.Parallel()
	space, here := loci.Space{Model: "m", Dims: 4}, loci.Namespace{"u"}
	x := New(space)
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	near, far := vector.Quantize([]float32{1, 0, 0, 0}), vector.Quantize([]float32{0, 1, 0, 0})
	for i := range 2*mostWishes + 100 {
		x.Upsert(record(i, here, fmt.Sprintf("walrus number%d", i)), [][]byte{near})
	}
	finds := func() (n int) {
		p := loci.Probe{Text: "Recommend something", Vector: []float32{1, 0, 0, 0}, Space: space, Sequences: true}
		hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 5, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if h.Wanted {
				n++
			}
		}
		return n
	}
	for i := range mostWishes + 1 {
		if i == mostWishes && finds() == 0 {
			t.Errorf("a request finds none of %d wishes", i)
		}
		x.Upsert(record(1_000_000+i, here, "I prefer it so"), [][]byte{far})
	}
	if n := finds(); n > 0 {
		t.Errorf("a request looks at more than %d wishes: %d are found", mostWishes, n)
	}
}
