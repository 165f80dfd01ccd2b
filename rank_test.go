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
		weight, share := 0.7, DefaultNeighbourShare // unequal, so that one signal taken for the other shows
		e := &Engine{opts: Options{
			Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}, Embedder: nowhere{},
		}}
		ranked := e.rank(c.hits, c.mode, 1)
		order := ""
		for i, r := range ranked {
			order += string(r.ID[:1])
			if i < len(c.scores) && math.Abs(r.score-c.scores[i]) > 1e-9 {
				t.Errorf("%s: score %d is %v, want %v", name, i+1, r.score, c.scores[i])
			}
			if r.score != r.explain.NeighbourPart+r.explain.KeywordPart+r.explain.VectorPart {
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

// standing is a hit of one word's score at a place in a sequence.
func standing(id byte, keyword float64, sequence string, position int64) Hit {
	return Hit{ID: ID{id}, CreatedAt: time.Unix(int64(id), 0), Keyword: keyword, Sequence: sequence, Position: position, Namespace: Namespace{"u"}}
}

// TestNeighbours checks what a hit gets from the one before it. Without vectors the
// least score by words becomes 0 and the greatest 1.
func TestNeighbours(t *testing.T) {
	elsewhere := standing('c', 4, "talk", 2)
	elsewhere.Namespace = Namespace{"v"}
	question := []Hit{standing('a', 9, "talk", 1), standing('z', 1, "", 0)} // 1 and 0
	for name, c := range map[string]struct {
		hit  Hit
		mode Mode
		want float64 // score of the hit
		top  float64 // score of the question
	}{
		"follows":                   {standing('c', 5, "talk", 2), Hybrid, (0.5 + 0.25) / 1.25, 1 / 1.25},
		"follows with nothing else": {standing('c', 1, "talk", 2), Hybrid, 0.25 / 1.25, 1 / 1.25},
		"comes before":              {standing('c', 5, "talk", 0), Hybrid, 0.5 / 1.25, (1 + 0.25*0.5) / 1.25},
		"at the same place":         {standing('c', 5, "talk", 1), Hybrid, 0.5, 1},
		"two places on":             {standing('c', 5, "talk", 3), Hybrid, 0.5, 1},
		"of another sequence":       {standing('c', 5, "walk", 2), Hybrid, 0.5, 1},
		"of another namespace":      {elsewhere, Hybrid, 3.0 / 8, 1},
		"of none":                   {standing('c', 5, "", 2), Hybrid, 0.5, 1},
		"by keyword":                {standing('c', 5, "talk", 2), Keyword, 0.5, 1},
	} {
		weight, share := 0.0, 0.25
		e := &Engine{opts: Options{Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}}}
		for _, r := range e.rank(append([]Hit{c.hit}, question...), c.mode, 1) {
			want := map[byte]float64{'a': c.top, 'c': c.want}[r.ID[0]]
			if x := r.explain; math.Abs(r.score-want) > 1e-12 || math.Abs(r.score-x.KeywordPart-x.VectorPart-x.NeighbourPart) > 1e-12 {
				t.Errorf("%s: score of %c is %v, want %v; %+v", name, r.ID[0], r.score, want, x)
			}
		}
	}
}

// What was lifted lifts no other, and of two at one place the better one counts.
func TestNeighboursDoNotAddUp(t *testing.T) {
	weight, share := 0.0, 0.5
	e := &Engine{opts: Options{Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}}}
	hits := []Hit{standing('a', 9, "t", 1), standing('b', 5, "t", 1), standing('c', 5, "t", 2), standing('d', 1, "t", 3)}
	want := map[byte]float64{'a': 1 / 1.5, 'b': 0.5 / 1.5, 'c': (0.5 + 0.5) / 1.5, 'd': 0.25 / 1.5}
	for _, r := range e.rank(hits, Hybrid, 1) {
		if math.Abs(r.score-want[r.ID[0]]) > 1e-12 {
			t.Errorf("score of %c is %v, want %v", r.ID[0], r.score, want[r.ID[0]])
		}
	}
}

// The parts of the best possible score add up to a little more than 1.
func TestNeighboursStayBelowOne(t *testing.T) {
	weight, share := 0.7, 0.2
	e := &Engine{opts: Options{Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}, Embedder: nowhere{}}}
	hits := []Hit{standing('a', 9, "t", 1), standing('b', 9, "t", 2)}
	for i := range hits {
		hits[i].Similarity, hits[i].Embedded = 0.5, true
	}
	if r := e.rank(hits, Hybrid, 1)[0]; r.ID[0] != 'b' || r.score != 1 {
		t.Errorf("%c has %v", r.ID[0], r.score)
	}
}

// TestNoNeighbourChangesNothing: where none follows another, and with a share of 0,
// every score has the same bits as without the feature.
func TestNoNeighbourChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight, none, share := 0.7, 0.0, rapid.Float64Range(0, 1).Draw(t, "share")
		var hits []Hit
		for i, k := range rapid.SliceOf(rapid.Float64Range(0, 1e6)).Draw(t, "keywords") {
			h := standing(byte(i), k, "", 0)
			h.Similarity, h.Embedded = rapid.Float64Range(-1, 1).Draw(t, "similarity"), true
			if rapid.Bool().Draw(t, "placed") {
				h.Sequence, h.Position = "t", int64(2*i)
			}
			hits = append(hits, h)
		}
		e := &Engine{opts: Options{
			Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}, Embedder: nowhere{},
		}}
		without := &Engine{opts: Options{
			Search: SearchOptions{VectorWeight: weight, NeighbourShare: none}, Embedder: nowhere{},
		}}
		want := without.rank(hits, Hybrid, 1)
		for i, r := range e.rank(hits, Hybrid, 1) {
			if r.ID != want[i].ID || math.Float64bits(r.score) != math.Float64bits(want[i].score) || r.explain != want[i].explain {
				t.Fatalf("%+v, want %+v", r, want[i])
			}
		}
	})
}

// Similarity weighs as much as the embedder knows of the query, in mode Hybrid.
func TestWhatTheEmbedderDoesNotKnowWeighsLess(t *testing.T) {
	weight, share := 0.8, 0.0
	e := &Engine{opts: Options{Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}, Embedder: nowhere{}}}
	hits := []Hit{{ID: ID{'a'}, Keyword: 1, Embedded: true}, {ID: ID{'b'}, Similarity: 0.5, Embedded: true}}
	for _, c := range []struct {
		mode           Mode
		known          float64
		words, similar float64
	}{{Hybrid, 1, 0.2, 0.8}, {Hybrid, 0.5, 0.6, 0.4}, {Hybrid, 0, 1, 0}, {Semantic, 0, 0, 1}, {Keyword, 1, 1, 0}} {
		for _, r := range e.rank(hits, c.mode, c.known) {
			if want := map[byte]float64{'a': c.words, 'b': c.similar}[r.ID[0]]; math.Abs(r.score-want) > 1e-12 {
				t.Errorf("%s, known %v: score of %c is %v, want %v", c.mode, c.known, r.ID[0], r.score, want)
			}
		}
	}
}

func TestScoresStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight, share := rapid.Float64Range(0, 1).Draw(t, "weight"), rapid.Float64Range(0, 1).Draw(t, "share")
		e := &Engine{opts: Options{
			Search: SearchOptions{VectorWeight: weight, NeighbourShare: share}, Embedder: nowhere{},
		}}
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
	if data, err := MarshalJSON(f.Metadata); err != nil || string(data) != `{"n":9007199254740993}` {
		t.Errorf("metadata %s, %v", data, err)
	}
}
