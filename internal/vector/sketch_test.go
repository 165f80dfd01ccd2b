package vector

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The kernels must agree for every number of dimensions that has sketches, at the extremes, and
// write nothing beyond.
func TestProductKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for dims := 128; dims <= 1024; dims *= 2 {
		for offset := range 3 {
			query, codes := make([]int8, dims+offset)[offset:], make([]byte, 5*dims/4+offset)[offset:]
			for i := range query {
				if query[i] = int8(rng.Uint32()); offset == 2 {
					query[i] = -128
				}
			}
			for i := range codes {
				if codes[i] = byte(rng.Uint32()); offset == 2 {
					codes[i] = 0xff
				}
			}
			memory := []int32{0, 0, 0, 0, 0, 42}
			products(query, codes, memory[:5])
			for row := range 5 {
				var want int32
				for i, q := range query {
					want += int32(q) * int32(codes[row*dims/4+i%(dims/4)]>>(2*(i/(dims/4)))&3)
				}
				portable := []int32{0}
				productsPortable(query, codes[row*dims/4:], portable)
				if memory[row] != want || portable[0] != want {
					t.Fatalf("products of %d = %d, portable %d; want %d", dims, memory[row], portable[0], want)
				}
			}
			if memory[5] != 42 {
				t.Fatal("products write beyond their end")
			}
		}
	}
}

// clouds are rows of shapes that a fixed rotation may meet: all ways, round one point, along few
// axes, along one, of few values, equal ones, and nothing.
func clouds(rng *rand.Rand, dims int) map[string]func() []float32 {
	centre := unit(rng, dims)
	axis := func(v []float32, size float32) { v[rng.IntN(dims)] += size }
	return map[string]func() []float32{
		"random": func() []float32 { return unit(rng, dims) },
		"round a point": func() []float32 {
			v := unit(rng, dims)
			for i := range v {
				v[i] = v[i]/2 + centre[i]
			}
			return v
		},
		"few axes": func() []float32 {
			v := make([]float32, dims)
			for range 1 + rng.IntN(30) {
				axis(v, float32(rng.NormFloat64()))
			}
			return v
		},
		"three of ten axes": func() []float32 {
			v := make([]float32, dims)
			for range 3 {
				v[rng.IntN(10)] += float32(rng.NormFloat64())
			}
			return v
		},
		"words counted": func() []float32 {
			v := make([]float32, dims)
			for range 2 + rng.IntN(20) {
				axis(v, 1)
			}
			return v
		},
		"a few large dimensions": func() []float32 {
			v := unit(rng, dims)
			for i := range 4 {
				v[i] = 1 + v[i]
			}
			return v
		},
		"one axis": func() []float32 { v := make([]float32, dims); axis(v, 1); return v },
		"two values": func() []float32 {
			v := make([]float32, dims)
			for i := range v {
				v[i] = float32(rng.IntN(2)*2 - 1)
			}
			return v
		},
		"alike": func() []float32 { return slices.Clone(centre) },
		"zero":  func() []float32 { return make([]float32, dims) },
	}
}

// A search through sketches finds the rows that one without them finds among those that are seen,
// and all but a few of the best are.
func TestSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rows, most = 300, 40
	for _, dims := range []int{128, 256, 1024} {
		for name, next := range clouds(rng, dims) {
			plain := New(dims)
			for range rows {
				plain.Append(next())
			}
			sketched := Of(dims, plain.scales, plain.codes)
			if sketched.Use(plain.Sketch()); sketched.sketch == nil {
				t.Fatal("a matrix does not take its own sketch")
			}
			missed, asked := 0, 0
			for range 8 {
				q := NewQuery(next())
				all, _ := bestOf(plain, q, most)
				q.Coarsen()
				coarse, _ := bestOf(plain, q, most)
				quick, _ := bestOf(sketched, q, most)
				if !slices.Equal(coarse, quick) {
					t.Fatalf("%s, %d dimensions: rows %v without sketches, %v with them", name, dims, coarse, quick)
				}
				for _, row := range all {
					if asked++; !plain.Sees(q, row, plain.Score(q, row)) {
						missed++
					}
				}
			}
			if missed*100 > asked {
				t.Errorf("%s, %d dimensions: %d of %d best rows are not seen", name, dims, missed, asked)
			}
		}
	}
}

// Few rows beside the best need to be looked at: else sketches would only cost.
func TestSketchesSpare(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const rows = 2000
	m := New(256)
	for range rows {
		m.Append(unit(rng, 256))
	}
	m.Use(m.Sketch())
	looked := 0
	for range 10 {
		v := unit(rng, 256)
		near := 256 * rng.IntN(rows)
		for i := range v { // a query that has something near to it
			v[i] += float32(m.codes[near+i]) * m.scales[near/256]
		}
		q := NewQuery(v)
		best := slices.Max(scores(m, v))
		q.Coarsen()
		for row := range rows {
			var sums [1]int32
			products(q.coarse.codes, m.sketch.codes[64*row:64*(row+1)], sums[:])
			if q.coarse.sees(sums[0], m.sketch.of(row), float64(best)/2) {
				looked++
			}
		}
	}
	if looked > 10*rows/20 {
		t.Errorf("%d of %d rows are looked at", looked, 10*rows)
	}
	t.Logf("%d of %d rows are looked at", looked, 10*rows)
}

// bestOf is what an index does: the rows with the best scores, the first of equal ones, and how
// many were looked at.
func bestOf(m *Matrix, q *Query, most int) (rows []int, looked int) {
	type scored struct {
		row   int
		score float32
	}
	least, found := math.Inf(-1), []scored(nil)
	_ = m.Above(q, &least, func(row int, score float32) error {
		if looked++; !m.Sees(q, row, score) {
			return nil
		}
		found = append(found, scored{row, score})
		slices.SortStableFunc(found, func(a, b scored) int {
			switch {
			case a.score > b.score:
				return -1
			case a.score < b.score:
				return 1
			}
			return 0
		})
		if len(found) >= most {
			found = found[:most]
			least = float64(found[most-1].score)
		}
		return nil
	})
	for _, s := range found {
		rows = append(rows, s.row)
	}
	return rows, looked
}

// What is no sketch of the matrix is left alone.
func TestForeignSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	m := New(128)
	for range 10 {
		m.Append(unit(rng, 128))
	}
	good := m.Sketch()
	later := slices.Clone(good)
	later[0]++
	for name, b := range map[string][]byte{"none": nil, "short": good[:len(good)-1], "of another version": later,
		"long": append(slices.Clone(good), 0)} {
		if m.Use(b); m.sketch != nil {
			t.Errorf("a sketch that is %s was taken", name)
		}
	}
	odd := New(384)
	odd.Append(unit(rng, 384))
	if New(128).Sketch() != nil || odd.Sketch() != nil {
		t.Error("a sketch of nothing, or of dimensions that have none")
	}
}

// The bits of sketches lie in files: they change with their version alone.
func TestSketchesStay(t *testing.T) {
	m := New(128)
	v := make([]float32, 128)
	for i := range v {
		v[i] = float32(i*i%31) - 15
	}
	m.Append(v)
	b := m.Sketch()
	sum := uint64(14695981039346656037)
	for _, c := range b {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	if sum != 0xf84491b7163926df {
		t.Errorf("the sketch has the sum %#x: raise sketchVersion if that was meant", sum)
	}
}
