package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
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
		x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
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

// BenchmarkMatchAbove searches above namespaces of one note each, and one namespace that has
// all of these.
func BenchmarkMatchAbove(b *testing.B) {
	wide := loci.Space{Model: "m", Dims: 256}
	above := loci.Namespace{"u"}
	const notes = 100_000
	for _, spread := range []int{1, notes} {
		random := rand.New(rand.NewPCG(1, 2))
		word := func() string { return fmt.Sprintf("word%d", int(5000*random.Float64()*random.Float64())) }
		v := make([]float32, wide.Dims)
		fill := func() {
			for i := range v {
				v[i] = float32(random.NormFloat64()) / 16
			}
		}
		x := New(wide)
		for i := range notes {
			here := above.Child(fmt.Sprintf("n%d", i%spread))
			if key := (Key{Namespace: here.Key(), Kind: loci.KindFact}); !x.HasShard(key) {
				x.AddShard(key)
			}
			var words []string
			for range 20 {
				words = append(words, word())
			}
			fill()
			x.Upsert(record(i, here, strings.Join(words, " ")), [][]byte{vector.Quantize(v)})
		}
		fill()
		p := loci.Probe{Text: word() + " " + word() + " " + word(), Vector: v, Space: wide}
		b.Run(fmt.Sprintf("%d namespaces", spread), func(b *testing.B) {
			for range notes/gatheredAtOnce + 1 { // until all are gathered
				if _, err := x.Match(p, loci.Filter{Within: []loci.Namespace{above}}, 40, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Match(p, loci.Filter{Within: []loci.Namespace{above}}, 40, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBuild takes notes of English prose into an index, and measures the
// memory that one needs.
func BenchmarkBuild(b *testing.B) {
	here := loci.Namespace{"u"}
	random := rand.New(rand.NewPCG(1, 2))
	var notes []*loci.Record
	for i := range 10_000 {
		notes = append(notes, record(i, here, prose(random)))
	}
	b.ReportAllocs()
	var bytes float64
	for b.Loop() {
		before := heap()
		x := New(loci.Space{})
		x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
		for _, r := range notes {
			x.Upsert(r, nil)
		}
		bytes = float64(heap()) - float64(before)
		if x.Passages() != len(notes) {
			b.Fatal("passages are missing")
		}
	}
	b.ReportMetric(bytes/float64(len(notes)), "B/note")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(notes)), "ns/note")
}

// prose is a note of about twenty words, half of them stop words.
func prose(random *rand.Rand) string {
	stop := strings.Fields("the a of to and in I was with for that my it on")
	var words []string
	for range 10 {
		words = append(words, stop[random.IntN(len(stop))],
			fmt.Sprintf("%c%s", 'a'+random.IntN(26), strings.Repeat("el", 1+int(12*random.Float64()*random.Float64()))))
	}
	return strings.Join(words, " ") + "."
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkSyntax searches 100,000 notes for a phrase and for a beginning.
func BenchmarkSyntax(b *testing.B) {
	here := loci.Namespace{"u"}
	random := rand.New(rand.NewPCG(1, 2))
	x := New(loci.Space{})
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	for i := range 100_000 {
		x.Upsert(record(i, here, prose(random)), nil)
	}
	for _, query := range []string{`belel celel`, `"the belel of"`, `"of the"`, `be*`, `"of belel" ce*`} {
		b.Run(query, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := x.Match(loci.Probe{Text: query}, loci.Filter{Within: []loci.Namespace{here}}, 40, nil)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
