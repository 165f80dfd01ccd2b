package loci

import (
	"math"
	"testing"
	"time"
)

// Zero is the default of every option, as its comment says, and None is zero.
func TestZeroIsTheDefaultAndNoneIsZero(t *testing.T) {
	store := struct{ Store }{} // nobody asks it
	numbers := func(opts *Options) map[string]float64 {
		e, err := New(store, opts)
		if err != nil {
			t.Fatal(err)
		}
		o := e.opts
		return map[string]float64{
			"overlap": float64(o.Passages.Overlap), "vectors": o.Search.VectorWeight, "neighbours": o.Search.NeighbourShare,
			"confidence": o.Recall.MinConfidence, "revisions": float64(o.Retention.Revisions),
			"size": float64(o.Passages.Size), "bytes": float64(o.Content.MaxBytes), "replies": o.Retention.IdempotencyTTL.Hours(),
			"episodes": float64(o.Retention.EpisodeCap), "lives": o.Retention.EpisodeTTL.Hours(),
		}
	}
	defaults := map[string]float64{"overlap": 96, "vectors": 0.5, "neighbours": 0.2, "confidence": 0.2, "revisions": 10,
		"size": 640, "bytes": 262144, "replies": 24, "episodes": 10_000, "lives": 168}
	for _, opts := range []*Options{nil, {}} {
		for name, got := range numbers(opts) {
			if got != defaults[name] {
				t.Errorf("%s: %v, want %v", name, got, defaults[name])
			}
		}
	}
	none := numbers(&Options{Passages: PassageOptions{Overlap: None}, Recall: RecallOptions{MinConfidence: None},
		Search: SearchOptions{VectorWeight: None, NeighbourShare: None}, Retention: RetentionOptions{Revisions: None}})
	for _, name := range []string{"overlap", "vectors", "neighbours", "confidence", "revisions"} {
		if none[name] != 0 {
			t.Errorf("none: %s is %v", name, none[name])
		}
	}
	if got := numbers(&Options{Passages: PassageOptions{Size: 100}})["overlap"]; got != 25 {
		t.Errorf("passages of 100 overlap by %v", got)
	}
}

// A value out of range is refused. So is None for an option that cannot be without a value.
func TestOptionsOutOfRange(t *testing.T) {
	for name, o := range map[string]Options{
		"passage too short": {Passages: PassageOptions{Size: 63}},
		"passage too long":  {Passages: PassageOptions{Size: 8193}},
		"no passage":        {Passages: PassageOptions{Size: None}},
		"overlap of half":   {Passages: PassageOptions{Size: 100, Overlap: 50}},
		"overlap below":     {Passages: PassageOptions{Overlap: -2}},
		"weight above":      {Search: SearchOptions{VectorWeight: 1.1}},
		"weight below":      {Search: SearchOptions{VectorWeight: -0.5}},
		"no weight at all":  {Search: SearchOptions{VectorWeight: math.NaN()}},
		"share above":       {Search: SearchOptions{NeighbourShare: 1.1}},
		"no text":           {Content: ContentOptions{MaxBytes: None}},
		"revisions above":   {Retention: RetentionOptions{Revisions: 1001}},
		"revisions below":   {Retention: RetentionOptions{Revisions: -2}},
		"no memory of keys": {Retention: RetentionOptions{IdempotencyTTL: None}},
		"too short a life":  {Retention: RetentionOptions{EpisodeTTL: time.Microsecond}},
		"no episodes":       {Retention: RetentionOptions{EpisodeCap: None}},
		"confidence above":  {Recall: RecallOptions{MinConfidence: 1.1}},
	} {
		if _, err := New(struct{ Store }{}, &o); err == nil || AsError(err).Code != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, nil); err == nil || AsError(err).Code != Invalid {
		t.Errorf("no store: %v", err)
	}
}
