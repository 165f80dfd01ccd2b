package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A code is the nearest multiple of the scale, and of two the even one.
func TestCodesAreRoundedToEven(t *testing.T) {
	slow := func(x, scale float32) int8 {
		return int8(min(127, max(-127, math.RoundToEven(float64(x)/float64(scale)))))
	}
	for half := -300; half <= 300; half++ { // halves, and beyond both ends
		for _, scale := range []float32{1, 0.25, 3, 1e-30, 1e30} {
			x := float32(half) / 2 * scale
			for _, x := range []float32{x, math.Nextafter32(x, 1e38), math.Nextafter32(x, -1e38)} {
				if got, want := code(x, scale), slow(x, scale); got != want {
					t.Errorf("%v in steps of %v is %d; want %d", x, scale, got, want)
				}
			}
		}
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100_000 {
		scale := rng.Float32()
		if x := (rng.Float32() - 0.5) * 254 * scale; scale > 0 && code(x, scale) != slow(x, scale) {
			t.Fatalf("%v in steps of %v is %d; want %d", x, scale, code(x, scale), slow(x, scale))
		}
	}
}

// A vector is quantised as its components are one by one, however small or great they are.
func TestVectorsAreQuantisedByCode(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 3000 {
		v := make([]float32, 1+rng.IntN(40))
		size := float32(math.Exp(float64(rng.IntN(176)) - 104)) // from what is hardly told from zero on
		for i := range v {
			v[i] = (rng.Float32() - 0.5) * size
		}
		switch round % 50 {
		case 0:
			v[0] = float32(math.NaN())
		case 1:
			v[0] = float32(math.Inf(-1))
		case 2:
			v[0] = -math.MaxFloat32
		case 3: // its scale is rounded down: there are more than 127 steps
			v[0] = 189 * math.SmallestNonzeroFloat32
			clear(v[1:])
		}
		blob, scale := Quantize(v), scaleOf(v)
		for i, c := range blob[scaleBytes:] {
			if want := code(v[i], scale); int8(c) != want {
				t.Fatalf("%v of %v has the code %d; want %d", v[i], v, int8(c), want)
			}
		}
		if unusable := round%50 < 2; unusable != (scale == 0) && size > 1e-40 {
			t.Fatalf("%v has the scale %v", v, scale)
		}
	}
}
