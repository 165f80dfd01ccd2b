package vector

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// mixPlainly makes the transform round by round, as it is defined.
func mixPlainly[T int32 | float64](y []T) {
	for half := 1; half < len(y); half *= 2 {
		for at := 0; at < len(y); at += 2 * half {
			for i := at; i < at+half; i++ {
				y[i], y[i+half] = y[i]+y[i+half], y[i]-y[i+half]
			}
		}
	}
}

// Mixing two rounds at once gives the same bits as one after the other, also where their number is odd.
func TestMixIsThatOfTheRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for dims := 4; dims <= mostDims; dims *= 2 {
		whole, broken := make([]int32, dims), make([]float64, dims)
		for i := range dims {
			whole[i], broken[i] = int32(rng.IntN(255)-127), rng.NormFloat64()
		}
		wholly, brokenly := slices.Clone(whole), slices.Clone(broken)
		mix(whole)
		mix(broken)
		mixPlainly(wholly)
		mixPlainly(brokenly)
		if !slices.Equal(whole, wholly) || !slices.Equal(broken, brokenly) {
			t.Errorf("%d dimensions are mixed otherwise", dims)
		}
	}
	for i, s := range signs() {
		if s != sign(i) {
			t.Fatalf("the sign of dimension %d is %d", i, s)
		}
	}
}

// A sketch has the codes of each row where a search looks for them.
func TestSketchHasCodesInTheirPlaces(t *testing.T) {
	for _, dims := range []int{128, 256, 512, 1024} {
		rng := rand.New(rand.NewPCG(9, uint64(dims)))
		m := New(dims)
		for range blockRows + 9 {
			row := make([]float32, dims)
			for i := range row {
				row[i] = float32(rng.NormFloat64()) + 0.5
			}
			m.Append(row)
		}
		b := m.Sketch()
		mean := make([]float64, dims)
		for i := range mean {
			mean[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[sketchHead+4*i:])))
		}
		r, size := newRotation(dims), sketchBlock(dims)
		for row := range m.Len() {
			codes, have := make([]byte, dims), make([]byte, dims)
			r.sketch(m.row(row), m.scales[row], mean, codes)
			block := b[sketchHead+4*dims+row/blockRows*size:][:size]
			for dim := range have {
				place, shift := placeOf(dim)
				have[dim] = block[place+row%blockRows] >> shift & 3
			}
			if !bytes.Equal(have, codes) {
				t.Fatalf("%d dimensions: the codes of row %d are others", dims, row)
			}
		}
	}
}
