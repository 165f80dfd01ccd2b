package vector

import (
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// The kernels must agree for every number of dimensions that has sketches, at the extremes, and
// write nothing beyond.
func TestSketchKernelsAgree(t *testing.T) {
	const blocksOf = 7
	rng := rand.New(rand.NewPCG(11, 12))
	for dims := 128; dims <= 1024; dims *= 2 {
		some := 0
		for round := range 40 {
			m := New(dims)
			for range blocksOf * blockRows {
				m.Append(unit(rng, dims))
			}
			m.Use(m.Sketch())
			blocks := slices.Clone(m.sketch.blocks)
			query := unit(rng, dims)
			switch round % 4 {
			case 1: // all at once
				for i := range query {
					query[i] = float32(rng.IntN(2)*2-1) / 16
				}
			case 2: // nothing is what a query seldom meets
				for i := range blocks {
					if i%sketchBlock(dims) < sketchBlock(dims)-said {
						blocks[i] = byte(rng.IntN(2)) * 0xff
					}
				}
			}
			q := NewQuery(query)
			q.Coarsen()
			var a asking
			m.lookAtSketch()
			q.turned.ask(m.sketch, q.scale, &a)
			a.aim(float64(a.bounds.spread*numberAt(blocks, dims, rng.IntN(64), 2)) * rng.Float64() * 1.5)
			plain := make([]uint64, blocksOf)
			mayReachPortable(blocks, dims, &a, plain)
			eachKernel(func(name string) {
				for n := 1; n <= len(plain); n++ { // kernels take several blocks at once
					quick := make([]uint64, n+1)
					quick[n] = 42
					mayReach(blocks, dims, &a, quick[:n])
					if !slices.Equal(quick[:n], plain[:n]) || quick[n] != 42 {
						t.Fatalf("%s, %d dimensions: %x, portable %x", name, dims, quick, plain[:n])
					}
				}
			})
			for _, mask := range plain {
				some += bits.OnesCount64(mask)
			}
		}
		if all := 40 * blocksOf * blockRows; some < all/50 || some > all*49/50 {
			t.Errorf("%d dimensions: %d of %d rows may reach what they must", dims, some, all)
		}
	}
}

// What a released query worked in serves another one, of fewer or more dimensions, which finds the same; it serves one at a
// time, however often it is released.
func TestReleasedQueriesServeOthers(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for round := range 12 {
		dims := []int{1024, 128, 512, 256}[round%4]
		m := New(dims)
		for range 3 * blockRows {
			m.Append(unit(rng, dims))
		}
		m.Use(m.Sketch())
		v := unit(rng, dims)
		found := func(q *Query) (rows []int) {
			least := 1.5 / math.Sqrt(float64(dims))
			visit := func(row int, _ float32) error {
				rows = append(rows, row)
				return nil
			}
			if err := m.Above(q, &least, visit); err != nil {
				t.Fatal(err)
			}
			return rows
		}
		q, other := NewQuery(v), NewQuery(unit(rng, dims))
		q.Coarsen()
		other.Coarsen()
		if q.turned == other.turned {
			t.Fatal("two queries work in the same memory")
		}
		if got, want := found(q), found(NewQuery(v)); !slices.Equal(got, want) || len(want) == 0 {
			t.Fatalf("round %d: rows %v, want %v", round, got, want)
		}
		q.Release()
		q.Release()
		other.Release()
	}
}

// numberAt is what a sketch says of a row of the first block beside its codes.
func numberAt(blocks []byte, dims, row, which int) float32 {
	at := sketchBlock(dims) - said + 4*(which*blockRows+row)
	return math.Float32frombits(binary.LittleEndian.Uint32(blocks[at:]))
}

// The products of rows that are listed are those of the rows, in any order, and one more than once.
func TestListedProducts(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for _, dims := range []int{16, 256, 300} {
		m := New(dims)
		for range 40 {
			m.Append(unit(rng, dims))
		}
		for n := range 12 {
			list, sums := make([]int32, n), make([]int32, n+1)
			for i := range list {
				list[i] = int32(rng.IntN(40))
			}
			q := NewQuery(unit(rng, dims))
			sums[n] = 42
			dotsAt(q.codes, m.codes, list, sums[:n])
			for i, row := range list {
				if want := dotPortable(q.codes, m.row(int(row))); sums[i] != want {
					t.Fatalf("%d dimensions, row %d: %d; want %d", dims, row, sums[i], want)
				}
			}
			if sums[n] != 42 {
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

// inOrder goes through a map by its keys, so that each takes the same random numbers whenever the test runs.
func inOrder[T any](m map[string]T) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}

// A search through sketches finds what one without them finds.
func TestSketches(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const rows, most = 300, 40
	for _, dims := range []int{128, 256, 1024} {
		for name, next := range inOrder(clouds(rng, dims)) {
			plain := New(dims)
			for range rows {
				plain.Append(next())
			}
			sketched := Of(dims, plain.scales, plain.codes)
			if sketched.Use(plain.Sketch()); sketched.sketch == nil {
				t.Fatal("a matrix does not take its own sketch")
			}
			for range 8 {
				q := NewQuery(next())
				all, _ := bestOf(plain, q, most)
				q.Coarsen()
				if quick, _ := bestOf(sketched, q, most); !slices.Equal(all, quick) {
					t.Fatalf("%s, %d dimensions: rows %v without sketches, %v with them", name, dims, all, quick)
				}
			}
		}
	}
}

// What a sketch says of a product is off by a normal error: else six spreads would not be enough where of a
// hundred thousand errors some are more than four.
func TestErrorsOfSketchesAreNormal(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const rows = 1000
	for _, dims := range []int{128, 256} {
		for name, next := range inOrder(clouds(rng, dims)) {
			m := New(dims)
			for range rows {
				m.Append(next())
			}
			m.Use(m.Sketch())
			m.lookAtSketch()
			all, many, worst := 0, 0, 0.0
			for range 100 {
				q := NewQuery(next())
				if q.Coarsen(); q.turned == nil {
					continue
				}
				var a asking
				q.turned.ask(m.sketch, q.scale, &a)
				for row := range rows {
					off, spread := errorOf(m, q, &a, row)
					if math.IsInf(spread, 1) || spread < 1e-6 {
						continue
					}
					if all++; off > 3*spread {
						many++
					}
					worst = max(worst, off/spread)
				}
			}
			said := fmt.Sprintf("%s, %d dimensions: of %d errors %d are more than 3 spreads, the greatest is %.2f",
				name, dims, all, many, worst)
			if t.Log(said); worst > 5 || many*1000 > all*3 {
				t.Error(said)
			}
		}
	}
}

// errorOf is by how much more a row scores than its sketch says, and the spread of that.
func errorOf(m *Matrix, q *Query, a *asking, row int) (off, spread float64) {
	block := m.sketch.blocks[row/blockRows*sketchBlock(m.dims):]
	sum, at := 0, row%blockRows
	for dim := range m.dims {
		place, shift := placeOf(dim)
		sum += int(q.turned.codes[dim]) * (2*int(block[place+at]>>shift&3) - 3)
	}
	factor, along := numberAt(block, m.dims, at, 0), numberAt(block, m.dims, at, 1)
	says := float64(sum)*float64(a.bounds.worth)/2*float64(factor) + float64(a.bounds.along)*float64(along)
	spread = float64(numberAt(block, m.dims, at, 2)) * float64(a.bounds.spread) / sketchSpread
	return float64(m.Score(q, row)) - says, spread
}

// Few rows beside the best need to be looked at: else sketches would only cost. So it is also where rows lie
// close together.
func TestSketchesSpare(t *testing.T) {
	const rows = 2000
	for _, name := range []string{"random", "round a point"} {
		rng := rand.New(rand.NewPCG(17, 18))
		next := clouds(rng, 256)[name]
		plain := New(256)
		for range rows {
			plain.Append(next())
		}
		m, looked := Of(256, plain.scales, plain.codes), 0
		m.Use(plain.Sketch())
		m.Look(looker{&looked})
		for range 10 {
			v := next()
			near := 256 * rng.IntN(rows)
			for i := range v { // a query that has something near to it
				v[i] += float32(m.codes[near+i]) * m.scales[near/256]
			}
			q := NewQuery(v)
			scores := scores(plain, v)
			slices.Sort(scores)
			best, middle := scores[rows-1], scores[rows/2]
			q.Coarsen()
			least := float64(middle + (best-middle)*2/3)
			if err := m.Above(q, &least, func(int, float32) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if looked > 10*rows/12 {
			t.Errorf("%s: %d of %d rows are looked at", name, looked, 10*rows)
		}
		t.Logf("%s: %d of %d rows are looked at", name, looked, 10*rows)
	}
}

// looker counts the rows that are looked at.
type looker struct{ looked *int }

func (looker) Check([]byte) {}

func (l looker) CheckEach(_ []byte, _ int, rows []int32) { *l.looked += len(rows) }

// bestOf is what an index does: the rows with the best scores, the first of equal ones, and how
// many were looked at.
func bestOf(m *Matrix, q *Query, most int) (rows []int, looked int) {
	type scored struct {
		row   int
		score float32
	}
	least, found := math.Inf(-1), []scored(nil)
	_ = m.Above(q, &least, func(row int, score float32) error {
		looked++
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
	if sum != 0x67e3a4a3ec95c300 {
		t.Errorf("the sketch has the sum %#x: raise sketchVersion if that was meant", sum)
	}
}
