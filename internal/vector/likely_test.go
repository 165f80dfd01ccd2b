package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What a first look in float32 passes over, a look in float64 does, too: at any scale, where the two
// are nearly equal, and where numbers are too great or too small for a float32.
func TestAFirstLookPassesOverNothing(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	some := func(x float64) float64 { return x * (1 + rng.Float64()) }
	for range 20_000 {
		size, far := math.Pow(10, float64(rng.IntN(80)-40)), 1.0
		if rng.IntN(2) == 0 { // rows as large as the query is small
			far = 1 / size
		}
		worth := some(1e-5 * size)
		f := firstOf(worth)
		rows := 1 + rng.IntN(blockRows)
		sums, scales := make([]int32, rows), make([]float32, rows)
		for i := range sums {
			sums[i] = int32(rng.IntN(80_000) - 40_000)
			if scales[i] = float32(some(far)); rng.IntN(40) == 0 {
				scales[i] = 0
			}
		}
		score := func(i int) float64 { return float64(sums[i]) * worth * float64(scales[i]) }
		i := rng.IntN(rows) // what one row has is what must be reached, or a little more or less
		least := score(i) * (1 + 1e-7*float64(rng.IntN(3)-1))
		bits := f.likely(sums, scales, least)
		for i := range sums {
			if bits&(1<<i) == 0 && score(i) >= least {
				t.Fatalf("row %d of %d is passed over: %v of %v", i, rows, score(i), least)
			}
		}
		if rows < blockRows && bits>>rows != 0 {
			t.Fatalf("there are bits for more than %d rows", rows)
		}
	}
}
