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
