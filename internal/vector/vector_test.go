package vector

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func unit(rng *rand.Rand, dims int) []float32 {
	v := make([]float32, dims)
	var sum float64
	for i := range v {
		x := rng.NormFloat64()
		v[i] = float32(x)
		sum += x * x
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func exact(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// The kernels must agree with the definition for every length, with rows and
// queries that start at any address, and at the extremes of a byte.
func TestDotKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	extremes := []int8{-128, -127, -1, 0, 1, 127}
	for n := 0; n <= 600; n++ {
		for offset := range 3 {
			query, row := make([]int16, n+offset)[offset:], make([]int8, n+offset)[offset:]
			for i := range row {
				query[i], row[i] = int16(int8(rng.Uint32())), int8(rng.Uint32())
				if offset == 2 {
					query[i], row[i] = int16(extremes[rng.IntN(6)]), extremes[rng.IntN(6)]
				}
			}
			var want int32
			for i, q := range query {
				want += int32(q) * int32(row[i])
			}
			if got := dot(query, row); got != want {
				t.Fatalf("dot of %d at offset %d = %d; want %d", n, offset, got, want)
			}
			if got := dotPortable(query, row); got != want {
				t.Fatalf("dotPortable of %d at offset %d = %d; want %d", n, offset, got, want)
			}
		}
	}
}

// Rows of some lengths are taken several at a time: each has its own sum, and nothing beyond is written.
func TestDotsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, dims := range []int{16, 255, 256, 257, 384} {
		for count := range 14 {
			query, rows := make([]int16, dims+1)[1:], make([]int8, dims*count+1)[1:]
			for i := range query {
				query[i] = int16(rng.IntN(255) - 127)
			}
			for i := range rows {
				rows[i] = int8(rng.Uint32())
			}
			if count%2 == 1 { // the greatest sums there are, of either sign
				for i := range query {
					query[i] = int16(127 - 254*rng.IntN(2))
				}
				for i := range rows {
					rows[i] = []int8{-128, 127}[rng.IntN(2)]
					if count > 4 {
						rows[i] = -128
					}
				}
			}
			got, want := make([]int32, count+1), make([]int32, count+1)
			got[count], want[count] = 42, 42
			dots(query, rows, got[:count])
			dotsPortable(query, rows, want[:count])
			if !slices.Equal(got, want) {
				t.Fatalf("%d rows of %d: %v; want %v", count, dims, got, want)
			}
		}
	}
}

// A scan visits the rows that reach a score, and no others: one that is equal to it, too, however large the numbers are.
func TestAboveVisitsWhatReaches(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(23, 24))
	for range 300 {
		dims, size := []int{1, 16, 256}[rng.IntN(3)], math.Pow(10, float64(rng.IntN(70)-35))
		m, codes := New(dims), make([]byte, dims)
		for range 1 + rng.IntN(150) {
			for i := range codes {
				codes[i] = byte(rng.Uint32())
			}
			m.AppendQuantized(float32(size*rng.Float64()), codes)
		}
		query := unit(rng, dims)
		for i := range query {
			query[i] *= float32(math.Pow(10, float64(rng.IntN(3)-1)) / min(1, size))
		}
		q := NewQuery(query)
		least := float64(m.Score(q, rng.IntN(m.Len()))) * (1 + 1e-7*float64(rng.IntN(3)-1))
		var got, want []int
		if err := m.Above(q, &least, func(row int, score float32) error {
			if score != m.Score(q, row) {
				t.Fatalf("row %d has the score %v; want %v", row, score, m.Score(q, row))
			}
			got = append(got, row)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for row := range m.Len() {
			if float64(m.Score(q, row)) >= least {
				want = append(want, row)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d dimensions, a size of %v, at least %v: rows %v; want %v", dims, size, least, got, want)
		}
	}
}

func TestDotDoesNotOverflow(t *testing.T) {
	query, row := make([]int16, 131071), make([]int8, 131071)
	for i := range row {
		query[i], row[i] = -128, -128
	}
	const want = 131071 * 128 * 128
	if got := dot(query, row); got != want {
		t.Errorf("dot = %d; want %d", got, want)
	}
	if got := dotPortable(query, row); got != want {
		t.Errorf("dotPortable = %d; want %d", got, want)
	}
}

func TestQuantizationError(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const dims = 256
	m := New(dims)
	var vectors [][]float32
	for range 2000 {
		vectors = append(vectors, unit(rng, dims))
		m.Append(vectors[len(vectors)-1])
	}
	var greatest float64
	for range 10 {
		query := unit(rng, dims)
		out := scores(m, query)
		for i, v := range vectors {
			greatest = max(greatest, math.Abs(float64(out[i])-exact(query, v)))
		}
	}
	t.Logf("greatest error of a cosine: %.5f", greatest)
	if greatest >= 0.004 {
		t.Errorf("greatest error of a cosine is %v; the documentation promises less than 0.004", greatest)
	}
}

func TestErrorBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		dims := rapid.IntRange(1, 300).Draw(t, "dims")
		sparse := rapid.IntRange(0, dims-1).Draw(t, "zeros")
		a, b := unit(rng, dims), unit(rng, dims)
		clear(b[:sparse])
		m := New(dims)
		m.Append(b)
		out := scores(m, a)
		q, r, root := float64(scaleOf(a)), float64(scaleOf(b)), math.Sqrt(float64(dims))
		bound := root/2*(q+r+root*q*r/2) + 1e-6
		if diff := math.Abs(float64(out[0]) - exact(a, b)); diff > bound {
			t.Fatalf("error %v; bound %v", diff, bound)
		}
	})
}

// dequantize returns the vector of a blob, each component off by at most half of the blob's scale.
func dequantize(blob []byte) ([]float32, error) {
	scale, codes, err := Split(blob, max(0, len(blob)-scaleBytes))
	if err != nil {
		return nil, err
	}
	v := make([]float32, len(codes))
	for i, c := range codes {
		// Rounding up the scale of the greatest float32 must not give an infinity.
		x := float64(scale) * float64(int8(c))
		v[i] = float32(max(-math.MaxFloat32, min(math.MaxFloat32, x)))
	}
	return v, nil
}

func TestBlobRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32(), 1, 64).Draw(t, "v")
		blob := Quantize(v)
		scale, codes, err := Split(blob, len(v))
		if err != nil || len(codes) != len(v) {
			t.Fatalf("Split: %d codes, %v", len(codes), err)
		}
		back, err := dequantize(blob)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range v {
			// A scale among the subnormals is itself off by half a step.
			limit := float64(scale)*0.5001 + 64*math.SmallestNonzeroFloat32
			if diff := math.Abs(float64(back[i]) - float64(x)); diff > limit {
				t.Fatalf("component %v came back as %v, scale %v", x, back[i], scale)
			}
		}
		m := New(len(v))
		m.Append(v)
		m.AppendQuantized(scale, codes)
		out := scores(m, v)
		if out[0] != out[1] {
			t.Fatalf("appended and quantised rows score %v and %v", out[0], out[1])
		}
	})
}

func TestUnusableVectors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, v := range map[string][]float32{
		"zero": {0, 0, 0}, "NaN": {1, nan, 0}, "infinity": {inf, 1, 1}, "minus infinity": {1, -inf, 1},
		"below any scale": {math.SmallestNonzeroFloat32, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if blob := Quantize(v); !slices.Equal(blob, make([]byte, 7)) {
				t.Errorf("Quantize = %v; want zeros", blob)
			}
			m := New(3)
			m.Append(v)
			m.Append([]float32{1, 2, 3})
			out := scores(m, v)
			if out[0] != 0 || out[1] != 0 {
				t.Errorf("scores of an unusable query: %v", out)
			}
			out = scores(m, []float32{1, 2, 3})
			if out[0] != 0 || out[1] < 13.5 {
				t.Errorf("scores = %v; want 0 and about 14", out)
			}
		})
	}
}

func TestDamagedBlobs(t *testing.T) {
	good := Quantize([]float32{1, 2})
	for name, bits := range map[string]uint32{
		"NaN": math.Float32bits(float32(math.NaN())), "infinity": math.Float32bits(float32(math.Inf(1))), "negative": math.Float32bits(-1),
	} {
		blob := slices.Clone(good)
		binary.LittleEndian.PutUint32(blob, bits)
		if _, _, err := Split(blob, 2); err == nil {
			t.Errorf("Split accepts a scale that is %s", name)
		}
		m := New(2)
		m.AppendQuantized(math.Float32frombits(bits), blob[4:])
		if out := scores(m, []float32{1, 1}); out[0] != 0 {
			t.Errorf("a row with a scale that is %s scores %v", name, out[0])
		}
	}
	for _, blob := range [][]byte{nil, {1}, {1, 2, 3}, good[:5]} {
		if _, _, err := Split(blob, 2); err == nil {
			t.Errorf("Split accepts %v for 2 dimensions", blob)
		}
	}
}

func TestWrongDimensionsPanic(t *testing.T) {
	m := New(4)
	for name, call := range map[string]func(){
		"New(0)":          func() { New(0) },
		"New(4097)":       func() { New(MaxDims + 1) },
		"Append":          func() { m.Append(make([]float32, 3)) },
		"AppendQuantized": func() { m.AppendQuantized(1, make([]byte, 5)) },
		"Score":           func() { m.Score(NewQuery(make([]float32, 5)), 0) },
		"Above":           func() { scores(m, make([]float32, 5)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", name)
				}
			}()
			call()
		}()
	}
}

func TestCompact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keep := rapid.SliceOfN(rapid.Bool(), 0, 50).Draw(t, "keep")
		m, want := New(17), New(17)
		rng := rand.New(rand.NewPCG(5, 6))
		for _, k := range keep {
			v := unit(rng, 17)
			m.Append(v)
			if k {
				want.Append(v)
			}
		}
		moved := m.Compact(func(row int) bool { return keep[row] })
		next := int32(0)
		for row, k := range keep {
			if k && moved[row] != next || !k && moved[row] != -1 {
				t.Fatalf("moved = %v for %v", moved, keep)
			}
			if k {
				next++
			}
		}
		if !slices.Equal(m.codes, want.codes) || !slices.Equal(m.scales, want.scales) {
			t.Fatal("the rows that stay are not those that were kept")
		}
	})
}

// A scan visits the rows that reach the least score, in order, however that is raised
// meanwhile, and gives the bits of the definition.
func TestAbove(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, dims := range []int{1, 16, 48, 50, 256} {
		m := New(dims)
		for range 3*blockRows + 5 {
			m.Append(unit(rng, dims))
		}
		v := unit(rng, dims)
		q, all := NewQuery(v), scores(m, v)
		least, reached := math.Inf(-1), math.Inf(-1)
		var visited, want []int
		for row, score := range all {
			if got := m.Score(q, row); got != score {
				t.Fatalf("row %d scores %v alone and %v among all", row, got, score)
			}
			if float64(score) >= reached {
				want, reached = append(want, row), float64(score)
			}
		}
		if err := m.Above(q, &least, func(row int, score float32) error {
			visited, least = append(visited, row), float64(score)
			return nil
		}); err != nil || !slices.Equal(visited, want) {
			t.Errorf("of %d dimensions rows %v are visited, %v; want %v", dims, visited, err, want)
		}
		least = math.Inf(-1)
		failure, n := errors.New("enough"), 0
		if err := m.Above(q, &least, func(int, float32) error { n++; return failure }); err != failure || n != 1 {
			t.Errorf("a visit that fails: %v after %d rows", err, n)
		}
	}
}

// scores are those of all rows.
func scores(m *Matrix, v []float32) (out []float32) {
	least := math.Inf(-1)
	_ = m.Above(NewQuery(v), &least, func(_ int, score float32) error {
		out = append(out, score)
		return nil
	})
	return out
}

func FuzzSplit(f *testing.F) {
	f.Add(Quantize([]float32{1, -2, 3}), []byte{1, 2, 3})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, blob, query []byte) {
		v, err := dequantize(blob)
		if err != nil || len(v) == 0 || len(v) > MaxDims {
			return
		}
		m := New(len(v))
		scale, codes, err := Split(blob, len(v))
		if err != nil {
			t.Fatal(err)
		}
		m.AppendQuantized(scale, codes)
		q := make([]float32, len(v))
		for i := range min(len(query)/4, len(q)) {
			q[i] = math.Float32frombits(binary.LittleEndian.Uint32(query[4*i:]))
		}
		if score := m.Score(NewQuery(q), 0); score != score {
			t.Fatal("a score is NaN")
		}
	})
}

func BenchmarkDot256(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	query, row := make([]int16, 256), make([]int8, 256)
	for i := range row {
		query[i], row[i] = int16(int8(rng.Uint32())), int8(rng.Uint32())
	}
	var sink int32
	b.Run("best", func(b *testing.B) {
		for b.Loop() {
			sink += dot(query, row)
		}
	})
	b.Run("portable", func(b *testing.B) {
		for b.Loop() {
			sink += dotPortable(query, row)
		}
	})
}

func BenchmarkAbove100k(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := New(256)
	m.Grow(100_000)
	codes := make([]byte, 256)
	for range 100_000 {
		for i := range codes {
			codes[i] = byte(rng.Uint32())
		}
		m.AppendQuantized(0.001, codes)
	}
	query, least := NewQuery(unit(rng, 256)), 10.0
	b.ReportAllocs()
	for b.Loop() {
		if err := m.Above(query, &least, func(int, float32) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Len()), "ns/row")
}
