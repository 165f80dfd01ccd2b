package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// held is how much memory is in use.
func held() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// An index says about how many bytes it takes, and none once all records have left.
func TestBytesAreWhatAnIndexTakes(t *testing.T) {
	wide, here := loci.Space{Model: "m", Dims: 256}, loci.Namespace{"u"}
	for name, c := range map[string]struct {
		kind  loci.Kind
		space loci.Space
		talks int
	}{
		"facts": {kind: loci.KindFact}, "with vectors": {kind: loci.KindFact, space: wide},
		"messages": {kind: "message", talks: 50},
	} {
		random := rand.New(rand.NewPCG(1, 2))
		before := held()
		x := New(c.space)
		x.AddShard(Key{Namespace: here.Key(), Kind: c.kind})
		var ids []loci.ID
		for i := range 20_000 {
			r := record(i, here, prose(random))
			r.Kind, r.Attributes = c.kind, fmt.Appendf(nil, `{"source":"message %d"}`, i)
			if c.talks > 0 {
				r.Sequence, r.Position = fmt.Sprint("talk ", i/c.talks), int64(i)
			}
			var codes [][]byte
			if c.space.Dims > 0 {
				codes = [][]byte{vector.Quantize(make([]float32, c.space.Dims))}
			}
			x.Upsert(r, codes)
			ids = append(ids, r.ID)
		}
		took := held() - before
		if said := x.Bytes(); float64(said) < 0.75*float64(took) || float64(said) > 1.4*float64(took) {
			t.Errorf("%s: the index takes %d bytes and says %d", name, took, said)
		}
		one := x.Detach(Key{Namespace: here.Key(), Kind: c.kind})
		if x.Bytes() != 0 || one.Bytes() == 0 {
			t.Errorf("%s: a shard that was detached is counted", name)
		}
		x.Adopt(one)
		full := x.Bytes()
		for _, id := range ids {
			x.Remove(here.Key(), id)
		}
		if left := x.Bytes(); left > full/10 || one.Bytes() != 0 {
			t.Errorf("%s: %d bytes are counted when all has left, of %d", name, left, full)
		}
	}
}
