package index

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// BenchmarkConversations searches 100,000 messages of conversations of a hundred each, by
// words, by vectors and by what stands beside a match. cpu-ns is the time of the processor: the
// other time also counts what else the machine does.
func BenchmarkConversations(b *testing.B) {
	wide, here := loci.Space{Model: "m", Dims: 256}, loci.Namespace{"u"}
	random := rand.New(rand.NewPCG(1, 2))
	x, v := New(wide), make([]float32, wide.Dims)
	x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
	fill := func() {
		for i := range v {
			v[i] = float32(random.NormFloat64()) / 16
		}
	}
	for i := range 100_000 {
		r := record(i, here, prose(random))
		r.Sequence, r.Position = fmt.Sprint("talk ", i/100), int64(i)
		fill()
		x.Upsert(r, [][]byte{vector.Quantize(v)})
	}
	fill()
	p := conversation(loci.Probe{Text: "where did the belel celel delel elel felelel go", Vector: v, Space: wide})
	b.ReportAllocs()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := x.Match(p, loci.Filter{Within: []loci.Namespace{here}}, 40, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(after.Utime.Nano()-before.Utime.Nano())/float64(b.N), "cpu-ns/op")
}

// conversation asks with what sequences say.
func conversation(p loci.Probe) loci.Probe {
	p.Sequences = true
	return p
}
