package lifecycle

import (
	"math"
	"testing"
	"time"
)

const month = 30 * 24 * time.Hour

// TestEffectiveness: one harm weighs as much as four successes, and a new rule has none.
func TestEffectiveness(t *testing.T) {
	for marks, want := range map[Marks]float64{
		{}:                        0,
		{Harms: 3}:                0,
		{Successes: 1}:            1 / 1.01,
		{Successes: 4, Harms: 1}:  4 / 8.01,
		{Successes: 17, Harms: 1}: 17 / 21.01,
	} {
		if got := marks.Effectiveness(); math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: %v; want %v", marks, got, want)
		}
	}
}

// TestRisen takes each bound and what is just below it.
func TestRisen(t *testing.T) {
	for _, c := range []struct {
		from      string
		successes int64
		harms     int64
		age       time.Duration
		want      string
	}{
		{Candidate, 4, 0, 0, Candidate},
		{Candidate, 5, 0, 0, Established},
		{Candidate, 5, 1, 0, Candidate}, // 5/9.01 < 0.6
		{Candidate, 7, 1, 0, Established},
		{Candidate, 15, 0, month, Established}, // one step
		{Established, 14, 0, month, Established},
		{Established, 15, 0, month - 1, Established},
		{Established, 15, 0, month, Proven},
		{Established, 16, 1, month, Established}, // 16/20.01 < 0.8
		{Established, 17, 1, month, Proven},
		{Proven, 100, 0, month, Proven},
		{AntiPattern, 100, 0, month, AntiPattern},
	} {
		if got := Risen(c.from, Marks{c.successes, c.harms}, c.age); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestFallen(t *testing.T) {
	for _, c := range []struct {
		from             string
		successes, harms int64
		want             string
	}{
		{Established, 7, 1, Established},
		{Established, 5, 1, Candidate},
		{Proven, 17, 1, Proven},
		{Proven, 16, 1, Established},
		{Proven, 0, 9, Established}, // one step
		{Candidate, 0, 9, Candidate},
		{AntiPattern, 0, 9, AntiPattern},
	} {
		if got := Fallen(c.from, Marks{c.successes, c.harms}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestInverts(t *testing.T) {
	for _, c := range []struct {
		from             string
		successes, harms int64
		want             bool
	}{
		{Candidate, 0, 2, false},
		{Candidate, 0, 3, true},
		{Proven, 5, 3, true},
		{Proven, 6, 3, false}, // 6/18.01 ≥ 0.3
		{AntiPattern, 0, 3, false},
	} {
		if got := Inverts(c.from, Marks{c.successes, c.harms}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWarning: the newest reasons stay when not all fit.
func TestWarning(t *testing.T) {
	const all = "ANTI-PATTERN: Do NOT shout. This caused problems because: it was rude; it was late"
	const newest = "ANTI-PATTERN: Do NOT shout. This caused problems because: it was late"
	const none = "ANTI-PATTERN: Do NOT shout. This caused problems because: repeated failures"
	for most, want := range map[int]string{
		len(all):        all,
		len(all) - 1:    newest,
		len(newest):     newest,
		len(newest) - 1: none,
		0:               none,
	} {
		if got := Warning("shout", []string{"it was rude", "it was late"}, most); got != want {
			t.Errorf("in %d bytes: %q", most, got)
		}
	}
	if got := Warning("shout", nil, 1000); got != none {
		t.Errorf("without a reason: %q", got)
	}
}
