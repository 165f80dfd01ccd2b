package index

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/segment"
)

// Damage of a segment is seen before what is damaged is used: by a search for what is in all rows and texts, by
// their vectors with a sketch and without, and when segments are merged. One byte is turned at a time, so that
// each section has its turn.
func TestDamageIsSeenBeforeUse(t *testing.T) {
	t.Parallel()
	wide, here := loci.Space{Model: "m", Dims: 128}, loci.Namespace{"u"}
	key, random := Key{Namespace: here.Key(), Kind: loci.KindFact}, rand.New(rand.NewPCG(5, 6))
	x := New(wide)
	x.AddShard(key)
	x.sketchFrom = 1
	v := make([]float32, wide.Dims)
	for i := range 40 {
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		r := record(i, here, fmt.Sprintf("a walrus number%d", i))
		r.Tags = []string{"here"}
		x.Upsert(r, [][]byte{vector.Quantize(v)})
	}
	origin := OriginOf([16]byte{1}, wide)
	whole := x.Freeze(key, origin)
	attach := func(b []byte) (*Index, *segment.Segment) {
		g, err := segment.Open(b, origin)
		if err != nil {
			return nil, nil
		}
		y := New(wide)
		y.AddShard(key)
		y.Attach(key, g, nil, nil)
		return y, g
	}
	search := func(limit int, tags []string, p loci.Probe) func(y *Index) {
		return func(y *Index) {
			y.coarseAbove = 0
			f := loci.Filter{Within: []loci.Namespace{here}, Tags: tags}
			if _, err := y.Match(p, f, limit, nil); err != nil {
				t.Error(err)
			}
		}
	}
	_, g := attach(whole)
	sections := map[string][]byte{"codes": signed(g.Codes), "sketch": g.Sketch}
	for _, c := range []struct {
		what string
		use  func(y *Index)
		sees []string
	}{
		{"vectors", search(40, []string{"here"}, loci.Probe{Vector: v, Space: wide}), []string{"codes"}},
		{"sketch", search(1, nil, loci.Probe{Vector: v, Space: wide}), []string{"sketch", "codes"}},
		{"merge", func(y *Index) { y.Thaw(key, 0) }, []string{"codes"}},
	} {
		if y, _ := attach(whole); seesDamage(t, y, c.use) {
			t.Fatalf("%s: damage is seen where there is none", c.what)
		}
		for _, name := range c.sees {
			at := offset(whole, sections[name])
			for i := 1; i < len(sections[name]); i += 97 { // behind the version of a sketch
				b := append([]byte(nil), whole...)
				b[at+i] ^= 0x10
				y, _ := attach(b)
				if y == nil {
					t.Fatalf("%s: not opened with byte %d of the %s turned", c.what, i, name)
				}
				if !seesDamage(t, y, c.use) {
					t.Errorf("%s: byte %d of the %s is damaged, and that is not seen", c.what, i, name)
				}
			}
		}
	}
}

// offset is where a part of some bytes begins.
func offset(whole, part []byte) int {
	for i := range whole {
		if &whole[i] == &part[0] {
			return i
		}
	}
	return -1
}

func seesDamage(t *testing.T, x *Index, use func(*Index)) (seen bool) {
	t.Helper()
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, seen = p.(*segment.DamageError); !seen {
			t.Error(p)
		}
	}()
	use(x)
	return false
}
