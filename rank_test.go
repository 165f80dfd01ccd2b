package loci

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRankByHand checks the fused scores against tables made by hand.
func TestRankByHand(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hit := func(id byte, age int, keyword, similarity float64) Hit {
		return Hit{ID: ID{id}, CreatedAt: at.Add(-time.Duration(age) * time.Hour), Keyword: keyword, Similarity: similarity, Embedded: !math.IsNaN(similarity)}
	}
	none := math.NaN()
	for name, c := range map[string]struct {
		mode   Mode
		hits   []Hit
		order  string
		scores []float64
	}{
		"fused":                     {Hybrid, []Hit{hit('a', 0, 4, 0.2), hit('b', 1, 0, 0.8), hit('c', 2, 2, 0.5)}, "bca", []float64{0.7, 0.35 + 0.15, 0.3}},
		"one":                       {Hybrid, []Hit{hit('a', 0, 3, 0.5)}, "a", []float64{1}},
		"only words in common":      {Hybrid, []Hit{hit('a', 0, 3, 0), hit('b', 1, 1, 0)}, "ab", []float64{0.3, 0}},
		"chance similarity":         {Hybrid, []Hit{hit('a', 0, 0, -0.5), hit('b', 1, 0, -0.1)}, "ab", []float64{0, 0}},
		"negative similarity":       {Semantic, []Hit{hit('a', 0, 0, -0.5), hit('b', 1, 0, -0.1)}, "ba", []float64{1, 0}},
		"all the same":              {Hybrid, []Hit{hit('b', 1, 2, 0.5), hit('a', 1, 2, 0.5), hit('c', 0, 2, 0.5)}, "cab", []float64{1, 1, 1}},
		"one without a vector":      {Hybrid, []Hit{hit('a', 0, 4, none), hit('b', 1, 2, 0.9), hit('c', 2, 0, 0.1)}, "bac", []float64{0.7 + 0.15, 0.3, 0}},
		"none has a vector":         {Hybrid, []Hit{hit('a', 0, 1, none), hit('b', 1, 4, none)}, "ba", []float64{1, 0}},
		"keyword":                   {Keyword, []Hit{hit('a', 0, 1, none), hit('b', 1, 4, none), hit('c', 2, 2, none)}, "bca", []float64{1, 1.0 / 3, 0}},
		"semantic":                  {Semantic, []Hit{hit('a', 0, 9, 0.1), hit('b', 1, 0, 0.3), hit('c', 2, 0, 0.2)}, "bca", []float64{1, 0.5, 0}},
		"nothing":                   {Hybrid, nil, "", nil},
		"equal in one signal alone": {Hybrid, []Hit{hit('a', 0, 5, 0.1), hit('b', 1, 5, 0.2)}, "ba", []float64{1, 0.3}},
	} {
		weight, share := DefaultVectorWeight, DefaultNeighbourShare
		e := &Engine{opts: Options{VectorWeight: &weight, NeighbourShare: &share, Embedder: nowhere{}}}
		ranked := e.rank(c.hits, c.mode, 1)
		order := ""
		for i, r := range ranked {
			order += string(r.ID[:1])
			if i < len(c.scores) && math.Abs(r.score-c.scores[i]) > 1e-9 {
				t.Errorf("%s: score %d is %v, want %v", name, i+1, r.score, c.scores[i])
			}
			if r.score != r.explain.KeywordPart+r.explain.VectorPart {
				t.Errorf("%s: score %v is not the sum of its parts", name, r.score)
			}
		}
		if order != c.order {
			t.Errorf("%s: order %s, want %s", name, order, c.order)
		}
	}
}

// nowhere only says that there is an embedder.
type nowhere struct{ Embedder }

func TestScoresStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight, share := rapid.Float64Range(0, 1).Draw(t, "weight"), rapid.Float64Range(0, 1).Draw(t, "share")
		e := &Engine{opts: Options{VectorWeight: &weight, NeighbourShare: &share, Embedder: nowhere{}}}
		hits := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Hit {
			return Hit{ID: ID{rapid.Byte().Draw(t, "id")}, Keyword: rapid.Float64Range(0, 1e6).Draw(t, "keyword"),
				Similarity: rapid.Float64Range(-1.1, 1.1).Draw(t, "similarity"), Embedded: rapid.Bool().Draw(t, "embedded"),
				Sequence: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "sequence"), Position: rapid.Int64Range(0, 4).Draw(t, "position")}
		})).Draw(t, "hits")
		last := math.Inf(1)
		for _, r := range e.rank(hits, rapid.SampledFrom([]Mode{Hybrid, Keyword, Semantic}).Draw(t, "mode"), rapid.Float64Range(0, 1).Draw(t, "known")) {
			if !(r.score >= 0 && r.score <= 1) || r.score > last {
				t.Fatalf("score %v after %v", r.score, last)
			}
			last = r.score
		}
	})
}

// A stored reply gives integers back that no float64 holds.
func TestReplayKeepsNumbersExact(t *testing.T) {
	var f Fact
	if err := replay([]byte(`{"content":"x","metadata":{"n":9007199254740993}}`), &f); err != nil {
		t.Fatal(err)
	}
	if data, err := encodeJSON(f.Metadata); err != nil || string(data) != `{"n":9007199254740993}` {
		t.Errorf("metadata %s, %v", data, err)
	}
}
