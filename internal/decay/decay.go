// Package decay is the arithmetic of confidence that falls with time.
package decay

import (
	"math"
	"time"
)

const day = 24 * 60 * 60 * 1000 // in milliseconds

// Left is the confidence left after some milliseconds at a decay rate a day.
func Left(confidence, rate float64, milliseconds int64) float64 {
	return confidence * math.Exp(-rate*float64(max(0, milliseconds))/day)
}

// FirstBelow is the number of milliseconds after which the confidence is below a
// threshold for the first time, for one that starts at the threshold or above and falls.
func FirstBelow(confidence, rate, threshold float64) int64 {
	// The closed form is off by rounding at most, so the formula itself decides.
	ms := int64(math.Ceil(math.Log(confidence/threshold) / rate * day))
	for Left(confidence, rate, ms-1) < threshold {
		ms--
	}
	for Left(confidence, rate, ms) >= threshold {
		ms++
	}
	return ms
}

// Halved is 1 at a moment and halves with every halfLife after. The zero moment gives 0.
func Halved(moment, now time.Time, halfLife time.Duration) float64 {
	if moment.IsZero() {
		return 0
	}
	return math.Exp(-math.Ln2 * float64(max(0, now.UnixMilli()-moment.UnixMilli())) / float64(halfLife.Milliseconds()))
}
