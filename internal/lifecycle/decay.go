// Package lifecycle is the arithmetic of what becomes of memories: how confidence falls with time, and how well a rule
// did, so that it rises, falls or becomes a warning. It is pure: it says which step follows, and the caller writes it down.
package lifecycle

import (
	"math"
	"time"
)

const day = 24 * 60 * 60 * 1000 // in milliseconds

// A Curve is how the confidence in something falls. The zero Curve is none: what has it
// counts as 1.0 for ever.
type Curve struct {
	Confidence float64   // at From and before, 0.05 to 1
	Rate       float64   // a day
	From       time.Time // when it was last confirmed; whole milliseconds
}

// IsZero reports whether there is no curve.
func (c Curve) IsZero() bool { return c == Curve{} }

// At returns the effective confidence at a moment:
// Confidence · exp(−Rate · days since From). A moment before From, as a clock that
// was set back gives, counts as From.
func (c Curve) At(t time.Time) float64 {
	if c.IsZero() {
		return 1
	}
	return Left(c.Confidence, c.Rate, t.UnixMilli()-c.From.UnixMilli())
}

// Below returns the first millisecond at which the effective confidence is below a
// threshold; the zero time: it never is.
func (c Curve) Below(threshold float64) time.Time {
	switch {
	case c.IsZero() || c.Confidence >= threshold && c.Rate == 0:
		return time.Time{}
	case c.Confidence < threshold:
		return c.From
	}
	ms := FirstBelow(c.Confidence, c.Rate, threshold)
	return c.From.Add(time.Duration(ms) * time.Millisecond)
}

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

// Later returns the later of two moments: a clock that was set back takes nothing back.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
