package loci

import (
	"context"
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
	defaults := map[string]float64{"overlap": 96, "vectors": 0.5, "neighbours": 0.3, "confidence": 0.2, "revisions": 10,
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

// A sized embedder has a name and dimensions; nobody asks it.
type sized struct {
	name string
	dims int
}

func (s sized) Model() string                                      { return s.name }
func (s sized) Dims() int                                          { return s.dims }
func (sized) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }

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
		"confidence below":  {Recall: RecallOptions{MinConfidence: -0.1}},
		"share below":       {Search: SearchOptions{NeighbourShare: -0.1}},
		"context above":     {Search: SearchOptions{ContextShare: 1.1}},
		"context below":     {Search: SearchOptions{ContextShare: -0.1}},
		"proven above":      {Recall: RecallOptions{Maturity: MaturityWeights{Proven: 1.1}}},
		"candidate below":   {Recall: RecallOptions{Maturity: MaturityWeights{Proven: 1, Candidate: -0.1}}},
		"dimensions above":  {Embedder: sized{"m", MaxDims + 1}},
		"dimensions below":  {Embedder: sized{"m", -1}},
		"no name":           {Embedder: sized{"", 1}},
	} {
		if _, err := New(struct{ Store }{}, &o); err == nil || AsError(err).Code != Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, o := range map[string]Options{
		"shortest passage": {Passages: PassageOptions{Size: 64}},
		"longest passage":  {Passages: PassageOptions{Size: 8192}},
		"largest overlap":  {Passages: PassageOptions{Size: 100, Overlap: 49}},
		"no overlap":       {Passages: PassageOptions{Overlap: None}},
		"no shares":        {Search: SearchOptions{VectorWeight: None, NeighbourShare: None, ContextShare: None}},
		"all":              {Search: SearchOptions{VectorWeight: 1, NeighbourShare: 1, ContextShare: 1}},
		"a byte":           {Content: ContentOptions{MaxBytes: 1}},
		"no revisions":     {Retention: RetentionOptions{Revisions: None}},
		"most revisions":   {Retention: RetentionOptions{Revisions: 1000}},
		"short memory":     {Retention: RetentionOptions{IdempotencyTTL: 1}},
		"short life":       {Retention: RetentionOptions{EpisodeTTL: time.Millisecond}},
		"one episode":      {Retention: RetentionOptions{EpisodeCap: 1}},
		"weights":          {Recall: RecallOptions{MinConfidence: 1, Maturity: MaturityWeights{Proven: 1}}},
		"no confidence":    {Recall: RecallOptions{MinConfidence: None}},
		"dimensions":       {Embedder: sized{"m", MaxDims}},
		"none known":       {Embedder: sized{"m", 0}},
	} {
		if _, err := New(struct{ Store }{}, &o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, nil); err == nil || AsError(err).Code != Invalid {
		t.Errorf("no store: %v", err)
	}
}
