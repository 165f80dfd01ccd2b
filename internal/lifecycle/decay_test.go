package lifecycle

import (
	"math"
	"testing"
)

func TestLeft(t *testing.T) {
	const day = 24 * 60 * 60 * 1000
	for _, c := range []struct {
		confidence, rate float64
		ms               int64
		want             float64
	}{
		{1, 0.1, 0, 1}, {1, 0.1, -day, 1}, {0.5, 0, 1000 * day, 0.5}, {1, 0.1, 10 * day, 1 / math.E},
	} {
		if got := Left(c.confidence, c.rate, c.ms); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestFirstBelowIsExact: not a millisecond earlier or later than the curve says.
func TestFirstBelowIsExact(t *testing.T) {
	for _, rate := range []float64{0.002, 0.008, 0.03, 0.1, 3000} {
		for _, confidence := range []float64{0.05, 0.2, 0.31, 0.9, 1} {
			ms := FirstBelow(confidence, rate, 0.05)
			if Left(confidence, rate, ms) >= 0.05 || ms > 0 && Left(confidence, rate, ms-1) < 0.05 {
				t.Errorf("%v at %v: %d ms", confidence, rate, ms)
			}
		}
	}
}
