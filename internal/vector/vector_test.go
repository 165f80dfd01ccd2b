package vector

import (
	"encoding/binary"
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
	out := make([]float32, m.Len())
	var greatest float64
	for range 10 {
		query := unit(rng, dims)
		m.Scores(query, out)
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
		var out [1]float32
		m.Scores(a, out[:])
		q, r, root := float64(scaleOf(a)), float64(scaleOf(b)), math.Sqrt(float64(dims))
		bound := root/2*(q+r+root*q*r/2) + 1e-6
		if diff := math.Abs(float64(out[0]) - exact(a, b)); diff > bound {
			t.Fatalf("error %v; bound %v", diff, bound)
		}
	})
}

func TestBlobRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32(), 1, 64).Draw(t, "v")
		blob := Quantize(v)
		scale, codes, err := Split(blob, len(v))
		if err != nil || len(codes) != len(v) {
			t.Fatalf("Split: %d codes, %v", len(codes), err)
		}
		back, err := Dequantize(blob)
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
		out := make([]float32, 2)
		m.Scores(v, out)
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
			out := []float32{9, 9}
			m.Scores(v, out)
			if out[0] != 0 || out[1] != 0 {
				t.Errorf("scores of an unusable query: %v", out)
			}
			m.Scores([]float32{1, 2, 3}, out)
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
		out := []float32{9}
		if m.Scores([]float32{1, 1}, out); out[0] != 0 {
			t.Errorf("a row with a scale that is %s scores %v", name, out[0])
		}
	}
	for _, blob := range [][]byte{nil, {1, 2, 3}, good[:5]} {
		if _, _, err := Split(blob, 2); err == nil {
			t.Errorf("Split accepts %v for 2 dimensions", blob)
		}
	}
	if _, err := Dequantize([]byte{1}); err == nil {
		t.Error("Dequantize accepts a blob without a whole scale")
	}
}

func TestWrongDimensionsPanic(t *testing.T) {
	m := New(4)
	for name, call := range map[string]func(){
		"New(0)":          func() { New(0) },
		"New(4097)":       func() { New(MaxDims + 1) },
		"Append":          func() { m.Append(make([]float32, 3)) },
		"AppendQuantized": func() { m.AppendQuantized(1, make([]byte, 5)) },
		"Scores":          func() { m.Scores(make([]float32, 5), nil) },
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

func TestScoresOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	m := New(48)
	for range 100 {
		m.Append(unit(rng, 48))
	}
	query, all := unit(rng, 48), make([]float32, 100)
	m.Scores(query, all)
	rows, some := []int32{99, 3, 3, 50}, make([]float32, 4)
	m.ScoresOf(query, rows, some)
	for i, row := range rows {
		if some[i] != all[row] {
			t.Errorf("row %d scores %v alone and %v among all", row, some[i], all[row])
		}
	}
	if n := testing.AllocsPerRun(10, func() { m.Scores(query, all); m.ScoresOf(query, rows, some) }); n != 0 {
		t.Errorf("scoring allocates %v times", n)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(Quantize([]float32{1, -2, 3}), []byte{1, 2, 3})
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, blob, query []byte) {
		v, err := Dequantize(blob)
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
		var out [1]float32
		if m.Scores(q, out[:]); out[0] != out[0] {
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

func BenchmarkScores100k(b *testing.B) {
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
	query, out := unit(rng, 256), make([]float32, m.Len())
	b.ReportAllocs()
	for b.Loop() {
		m.Scores(query, out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Len()), "ns/row")
}
