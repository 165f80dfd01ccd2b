package loci_test

import (
	"math"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"pgregory.net/rapid"
)

func TestPermanences(t *testing.T) {
	for name, want := range map[loci.Permanence]float64{
		loci.Permanent: 0,
		loci.Stable:    0.002,
		loci.Standard:  0.008,
		loci.Volatile:  0.03,
		loci.Ephemeral: 0.1,
	} {
		if got, err := name.Rate(); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	_, err := loci.Permanence("x").Rate()
	if want := "Invalid permanence: 'x'. Must be one of ['ephemeral', 'permanent', 'stable', 'standard', 'volatile']"; err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
	locitest.WantCode(t, err, loci.Invalid)
}

// TestBelowIsTheFirstMillisecond: the closed form and the formula agree on the
// millisecond, whatever the curve.
func TestBelowIsTheFirstMillisecond(t *testing.T) {
	rates := []float64{0.002, 0.008, 0.03, 0.1}
	rapid.Check(t, func(t *rapid.T) {
		d := loci.Decay{Confidence: rapid.Float64Range(0.05, 1).Draw(t, "confidence"), Rate: rapid.SampledFrom(rates).Draw(t, "rate"),
			From: time.UnixMilli(rapid.Int64Range(-1e12, 4e12).Draw(t, "from"))}
		for _, threshold := range []float64{loci.ActiveConfidence, loci.LiveConfidence, d.Confidence} {
			at := d.Below(threshold)
			if d.Confidence < threshold {
				if !at.Equal(d.From) {
					t.Fatalf("%+v is below %v from the start, not from %v", d, threshold, at)
				}
				continue
			}
			if before, there := d.At(at.Add(-time.Millisecond)), d.At(at); before < threshold || there >= threshold {
				t.Fatalf("%+v: %v a millisecond before %v, then %v; the threshold is %v", d, before, at, there, threshold)
			}
			days := at.Sub(d.From).Hours() / 24
			if exact := math.Log(d.Confidence/threshold) / d.Rate; math.Abs(days-exact) > 1e-6 {
				t.Fatalf("%+v is below %v after %v days; want %v", d, threshold, days, exact)
			}
		}
		if d.At(d.From.Add(-time.Hour)) != d.Confidence {
			t.Fatalf("a clock set back gives %v", d.At(d.From.Add(-time.Hour)))
		}
	})
	// Curves for which the closed form alone is a millisecond early, or late.
	for confidence, want := range map[float64]int64{
		0.714279212858346:  54991723988,
		0.2836542168293673: 15095746805,
		0.7462237239729959: 56881789349,
		0.5850800509515213: 46372232616,
	} {
		if got := (loci.Decay{
			Confidence: confidence,
			Rate:       0.002,
			From:       time.UnixMilli(1),
		}).Below(loci.ActiveConfidence).UnixMilli() - 1; got != want {
			t.Errorf("confidence %v is below 0.2 after %d ms; want %d", confidence, got, want)
		}
	}
	for _, never := range []loci.Decay{
		{},
		{Confidence: 0.2, From: time.Unix(1, 0)},
		{Confidence: 0.5, From: time.Unix(1, 0)},
	} {
		if at := never.Below(loci.ActiveConfidence); !at.IsZero() {
			t.Errorf("%+v is below the threshold at %v", never, at)
		}
	}
	if (loci.Decay{}).At(time.Now()) != 1 {
		t.Error("no curve does not count as certain")
	}
}
