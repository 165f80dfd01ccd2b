package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// BenchmarkMatch searches namespaces of notes of twenty words out of 5,000, with
// vectors of 256 dimensions.
func BenchmarkMatch(b *testing.B) {
	wide := loci.Space{Model: "m", Dims: 256}
	here := loci.Namespace{"u"}
	for _, n := range []int{1_000, 10_000, 100_000} {
		random := rand.New(rand.NewPCG(1, 2))
		word := func() string { return fmt.Sprintf("word%d", int(5000*random.Float64()*random.Float64())) }
		v := make([]float32, wide.Dims)
		fill := func() {
			for i := range v {
				v[i] = float32(random.NormFloat64()) / 16
			}
		}
		x := New(wide)
		x.AddShard(here.Key())
		for i := range n {
			var words []string
			for range 20 {
				words = append(words, word())
			}
			r := record(i, here, strings.Join(words, " "))
			fill()
			x.Upsert(r, [][]byte{vector.Quantize(v)})
		}
		fill()
		text := word() + " " + word() + " " + word()
		for name, p := range map[string]loci.Probe{"words": {Text: text}, "hybrid": {Text: text, Vector: v, Space: wide}} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 40, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
