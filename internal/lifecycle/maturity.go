package lifecycle

import (
	"cmp"
	"strings"
	"time"
)

// The steps of a rule, from a new one to one that is a warning against itself.
const (
	Candidate   = "candidate"
	Established = "established"
	Proven      = "proven"
	AntiPattern = "anti_pattern"
)

// What a rule must show to rise, or to become an anti-pattern.
const (
	establishedSuccesses = 5
	establishedScore     = 0.6
	provenSuccesses      = 15
	provenScore          = 0.8
	provenAge            = 30 * 24 * time.Hour
	invertedHarms        = 3
	invertedScore        = 0.3
)

// Marks are how often a rule was said to help and to do harm.
type Marks struct{ Successes, Harms int64 }

// Effectiveness is successes / (successes + 4·harms + 0.01), so 0 to 1. One harm weighs as
// much as four successes; the last term keeps a new rule at 0.
func (m Marks) Effectiveness() float64 {
	s := float64(m.Successes)
	return s / (s + 4*float64(m.Harms) + 0.01)
}

// Risen is the step that a rule of some age reaches after a success. A call climbs one step
// at most, so that every step is an event of its own.
func Risen[S ~string](from S, m Marks, age time.Duration) S {
	score := m.Effectiveness()
	switch {
	case from == Candidate && m.Successes >= establishedSuccesses && score >= establishedScore:
		return Established
	case from == Established && m.Successes >= provenSuccesses && score >= provenScore && age >= provenAge:
		return Proven
	}
	return from
}

// Fallen is the step that a rule falls to after a harm, one at most.
func Fallen[S ~string](from S, m Marks) S {
	score := m.Effectiveness()
	switch {
	case from == Established && score < establishedScore:
		return Candidate
	case from == Proven && score < provenScore:
		return Established
	}
	return from
}

// Inverts reports whether a rule becomes an anti-pattern. One that is already stays so.
func Inverts[S ~string](from S, m Marks) bool {
	return from != AntiPattern && m.Harms >= invertedHarms && m.Effectiveness() < invertedScore
}

// Warning is the text of an anti-pattern: what the rule said, and as many of its newest
// reasons as fit into most bytes. Without room for any it names none, and may be longer.
func Warning(original string, reasons []string, most int) string {
	for ; ; reasons = reasons[1:] {
		because := cmp.Or(strings.Join(reasons, "; "), "repeated failures")
		text := "ANTI-PATTERN: Do NOT " + original + ". This caused problems because: " + because
		if len(text) <= most || len(reasons) == 0 {
			return text
		}
	}
}
