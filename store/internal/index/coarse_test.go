package index

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// A search that reads sketches first has the same hits and scores as one of the same index on the
// heap, which has none.
func TestSketchesMakeNoDifference(t *testing.T) {
	t.Parallel()
	wide, here := loci.Space{Model: "m", Dims: 256}, loci.Namespace{"u"}
	key := Key{Namespace: here.Key(), Kind: loci.KindFact}
	random := rand.New(rand.NewPCG(5, 6))
	var topics [12][]float32
	near := func(topic int, distance float64) []float32 {
		v := make([]float32, wide.Dims)
		for i := range v {
			if topic >= 0 {
				v[i] = topics[topic][i]
			}
			v[i] += float32(random.NormFloat64() * distance)
		}
		return v
	}
	for i := range topics {
		topics[i] = near(-1, 1)
	}
	heap, shelved := New(wide), New(wide)
	shelved.sketchFrom, shelved.coarseAbove = 1000, 0
	indexes := []*Index{heap, shelved}
	for _, x := range indexes {
		x.AddShard(key)
	}
	const records = 3000
	for i := range records {
		r := record(i, here, fmt.Sprintf("word%d word%d", random.IntN(40), random.IntN(40)), "another passage")
		if i%30 == 0 {
			r.Tags = []string{"few"}
		}
		code := func() []byte { return vector.Quantize(near(random.IntN(len(topics)), 0.9)) }
		codes := [][]byte{code(), code()}
		for _, x := range indexes {
			x.Upsert(r, codes)
		}
		if i%1000 == 700 || i%1000 == 900 { // every other one is too small for sketches
			shelve(t, shelved, key)
		}
	}
	for i := range records / 10 {
		for _, x := range indexes {
			x.Remove(here.Key(), record(i*10, here).ID)
		}
	}
	sketched := 0
	for _, m := range shelved.shards[key].segments {
		if len(m.Sketch) > 0 {
			sketched++
		}
	}
	if sketched == 0 || sketched == len(shelved.shards[key].segments) {
		t.Fatalf("%d of %d segments have sketches", sketched, len(shelved.shards[key].segments))
	}
	for i := range 100 {
		p := loci.Probe{Vector: near(i%len(topics), 0.5), Space: wide}
		if i%2 == 0 {
			p.Text = fmt.Sprintf("word%d", random.IntN(40))
		}
		f := loci.Filter{Within: []loci.Namespace{here}}
		if i%5 == 0 {
			f.Tags = []string{"few"}
		}
		var got [2][]loci.Hit
		for j, x := range indexes {
			var err error
			if got[j], err = x.Match(p, f, 40, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Fatalf("query %d: on the heap\n%+v\nin segments\n%+v", i, got[0], got[1])
		}
	}
}
