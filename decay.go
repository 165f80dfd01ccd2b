package loci

import (
	"time"

	"github.com/loci-memory/loci/internal/label"
	"github.com/loci-memory/loci/internal/lifecycle"
)

// Thresholds of effective confidence, both inclusive: from ActiveConfidence on a
// memory is active, from LiveConfidence on it is fading, below that it is expired.
const (
	ActiveConfidence = 0.2
	LiveConfidence   = 0.05
)

// A Permanence says how fast the confidence in a memory falls when nobody confirms it.
type Permanence string

// The permanences there are, with the share lost a day.
const (
	Permanent Permanence = "permanent" // 0
	Stable    Permanence = "stable"    // 0.002
	Standard  Permanence = "standard"  // 0.008
	Volatile  Permanence = "volatile"  // 0.03
	Ephemeral Permanence = "ephemeral" // 0.1
)

var decayRates = map[Permanence]float64{Permanent: 0, Stable: 0.002, Standard: 0.008, Volatile: 0.03, Ephemeral: 0.1}

// Rate returns the decay rate a day of a permanence; an unknown one is Invalid.
func (p Permanence) Rate() (float64, error) {
	if rate, ok := decayRates[p]; ok {
		return rate, nil
	}
	return 0, OneOf("permanence", string(p), Ephemeral, Permanent, Stable, Standard, Volatile)
}

// OneOf refuses a word that a field does not take, and says which it takes; want is sorted.
func OneOf[T ~string](field, have string, want ...T) error {
	return Errorf(Invalid, "Invalid %s: '%s'. Must be one of [%s]", field, ClipLabel(have), label.Quoted(want))
}

// A Decay is the curve that the confidence in a record follows: see [lifecycle.Curve]. The
// zero Decay is no curve: such a record counts as 1.0 for ever.
type Decay = lifecycle.Curve

// EffectiveConfidence is the confidence left after some milliseconds at a decay rate a day. Stores that filter by
// confidence use this function and no other, so that all of them agree to the millisecond.
func EffectiveConfidence(confidence, rate float64, milliseconds int64) float64 {
	return lifecycle.Left(confidence, rate, milliseconds)
}

// Validity says whether a memory holds.
type Validity string

// The states of a fact. Active and fading ones are live: they are searched.
const (
	Active     Validity = "active"     // effective confidence of at least 0.2
	Fading     Validity = "fading"     // below 0.2, but at least 0.05
	Superseded Validity = "superseded" // a newer fact of the same subject and predicate took its place
	Expired    Validity = "expired"    // effective confidence below 0.05
	Retracted  Validity = "retracted"  // forgotten
)

// legacyForgotten is read as Retracted.
const legacyForgotten Validity = "forgotten"

// validityAt returns the state of a record at a moment. What decay brings about is computed, never looked up: the noted
// state may lag behind, or come from a clock that was set back since.
func (r *Record) validityAt(noted Validity, at time.Time) Validity {
	if !r.Live {
		return noted
	}
	switch c := r.Decay.At(at); {
	case c >= ActiveConfidence:
		return Active
	case c >= LiveConfidence:
		return Fading
	}
	return Expired
}

// schedule sets what follows from a curve: when the record leaves the live set, and
// when upkeep has the next transition after the noted state to write down.
func (r *Record) schedule(d Decay, noted Validity) {
	if d.Rate == 0 && d.Confidence == 1 {
		d = Decay{}
	}
	r.Decay, r.EndsAt, r.DueAt = d, time.Time{}, time.Time{}
	if !r.Live {
		return
	}
	r.EndsAt = d.Below(LiveConfidence)
	switch noted {
	case Active:
		r.DueAt = d.Below(ActiveConfidence)
	case Fading:
		r.DueAt = r.EndsAt
	}
}

// waning is what [Filter].Waning asks for: all that may be fading or ended at a moment.
func (r *Record) waning(at time.Time) bool {
	last := r.DueAt.IsZero() || r.DueAt.Equal(r.EndsAt)
	return r.Live && (!r.DueAt.IsZero() && !at.Before(r.DueAt) ||
		last && (!r.EndsAt.IsZero() || !r.Decay.IsZero() && r.Decay.Confidence < ActiveConfidence))
}

// checkImportance refuses what is not 0 to 10.
func checkImportance(importance float64) error {
	if !(importance >= 0 && importance <= MaxImportance) {
		return Errorf(Invalid, "importance is %v; it must be 0 to 10", importance)
	}
	return nil
}

// Importance of memories.
const (
	DefaultImportance = 5.0
	MaxImportance     = 10.0
)

// checkConfidence refuses a confidence that would not be live from the start.
func checkConfidence(confidence float64) error {
	if !(confidence >= LiveConfidence && confidence <= 1) {
		return Errorf(Invalid, "confidence is %v; it must be %v to 1", confidence, LiveConfidence)
	}
	return nil
}
