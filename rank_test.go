package loci

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loci-memory/loci/internal/retrieval"
)

// nowhere only says that there is an embedder.
type nowhere struct{ Embedder }

func ranking(o SearchOptions) *Engine { return &Engine{opts: Options{Search: o, Embedder: nowhere{}}} }

// knowing is a probe of an embedder with the usual scale that knows a share of the query.
func knowing(known float64) *probing { return &probing{known: known, scale: DefaultScale} }

// sumOf is the sum of the parts that a score belongs to, by the logistic curve of
// docs/search.md: −4.1 and 5.6.
func sumOf(score float64) float64 { return (math.Log(score/(1-score)) + 4.1) / 5.6 }

// TestRankByHand checks the sums behind the scores against tables made by hand. A hit
// has the share of the best BM25, how much of the query it covers, and its cosine.
func TestRankByHand(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	hit := func(id byte, age int, share, covered, similarity float64) Hit {
		return Hit{ID: ID{id}, CreatedAt: at.Add(-time.Duration(age) * time.Hour),
			Keyword: 10 * share, KeywordRank: 1,
			KeywordShare: share, Covered: covered,
			Similarity: similarity, Embedded: !math.IsNaN(similarity), Traits: said}
	}
	none := math.NaN()
	for name, c := range map[string]struct {
		mode  Mode
		hits  []Hit
		order string
		sums  []float64
	}{
		"fused": {Hybrid, []Hit{hit('a', 0, 1, 1, 0.15), hit('b', 1, 0, 0, 0.75), hit('c', 2, 0.5, 0.25, 0.45)}, "bca",
			[]float64{0.7, 0.3*0.5*0.5 + 0.7*0.5, 0.3}},
		"the root of what is covered": {Keyword, []Hit{hit('a', 0, 0.8, 0.25, none)}, "a", []float64{0.4}},
		"more than the best":          {Keyword, []Hit{hit('a', 0, 1.2, 1, none), hit('b', 0, 1.5, 1, none)}, "ba", []float64{1, 1}},
		"below what is unrelated":     {Hybrid, []Hit{hit('a', 0, 0, 0, -0.5), hit('b', 1, 0, 0, 0.1)}, "ba", []float64{0, 0}},
		"above what is alike":         {Semantic, []Hit{hit('a', 0, 0, 0, 0.8), hit('b', 1, 0, 0, 0.9)}, "ba", []float64{1, 1}},
		"all the same": {Hybrid, []Hit{hit('b', 1, 1, 1, 0.75), hit('a', 1, 1, 1, 0.75), hit('c', 0, 1, 1, 0.75)},
			"cab", []float64{1, 1, 1}},
		"without a vector": {Hybrid, []Hit{hit('a', 0, 0.5, 1, none), hit('b', 1, 1, 1, 0.15)}, "ab", []float64{0.5, 0.3}},
		"semantic": {Semantic, []Hit{hit('a', 0, 0, 0, 0.15), hit('b', 1, 0, 0, 0.75), hit('c', 2, 0, 0, 0.45)},
			"bca", []float64{1, 0.5, 0}},
		"nothing": {Hybrid, nil, "", nil},
	} {
		// The weight is unequal, so that one signal taken for the other shows.
		e := ranking(SearchOptions{VectorWeight: 0.7, NeighbourShare: 0.2, ContextShare: 0.3})
		ranked := e.rank(c.hits, c.mode, knowing(1))
		order := ""
		for i, r := range ranked {
			order += string(r.ID[:1])
			if math.Abs(sumOf(r.score)-c.sums[i]) > 1e-9 {
				t.Errorf("%s: the sum of %d is %v, want %v", name, i+1, sumOf(r.score), c.sums[i])
			}
		}
		if order != c.order {
			t.Errorf("%s: order %s, want %s", name, order, c.order)
		}
	}
}

// A score says nothing of the other hits: each alone has the score it has among them,
// except for its neighbours.
func TestScoresAreAbsolute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.Float64Range(0, 1).Draw(t, "weight")
		e := ranking(SearchOptions{VectorWeight: weight, NeighbourShare: 0.2, ContextShare: 0.3})
		hits := rapid.SliceOfNDistinct(drawnHit, 1, 20, func(h Hit) ID { return h.ID }).Draw(t, "hits")
		known := rapid.Float64Range(0, 1).Draw(t, "known")
		for _, r := range e.rank(hits, Hybrid, knowing(known)) {
			alone := e.rank([]Hit{*r.Hit}, Hybrid, knowing(known))[0]
			if alone.score != r.score || alone.explain != r.explain {
				t.Fatalf("%+v alone, %+v among others", alone, r)
			}
		}
	})
}

var drawnHit = rapid.Custom(func(t *rapid.T) Hit {
	return Hit{ID: ID{rapid.Byte().Draw(t, "id")}, Keyword: rapid.Float64Range(0, 1e6).Draw(t, "keyword"),
		KeywordShare: rapid.Float64Range(0, 2).Draw(t, "share"), Covered: rapid.Float64Range(0, 1).Draw(t, "covered"),
		Context: rapid.Float64Range(0, 2).Draw(t, "context"), ContextCovered: rapid.Float64Range(0, 1).Draw(t, "its cover"),
		Similarity: rapid.Float64Range(-1.1, 1.1).Draw(t, "similarity"), Embedded: rapid.Bool().Draw(t, "embedded"),
		Sequence: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "sequence"), Position: rapid.Int64Range(0, 4).Draw(t, "position")}
})

// What a hit gets from its sequence and its neighbours. Each hit has half of the words, except
// 'a', which has all of them.
func TestSequencesByHand(t *testing.T) {
	spoken := func(id byte, share float64, speaker Speaker, neighbours string) Hit {
		h := Hit{ID: ID{id}, KeywordShare: share, Covered: 1, Sequence: "talk", Speaker: speaker,
			CreatedAt: time.Unix(int64(id), 0)}
		for i, n := range []byte(neighbours) {
			if n != '-' {
				h.Neighbours[i] = ID{n}
			}
		}
		return h
	}
	in := func(context, covered float64) Hit {
		h := spoken('c', 0.5, SpeakerUnknown, "----")
		h.Context, h.ContextCovered = context, covered
		return h
	}
	alone := spoken('c', 0.5, SpeakerUnknown, "----")
	alone.Sequence = ""
	const person, assistant, likely = SpeakerPerson, SpeakerAssistant, SpeakerLikelyAssistant
	const most = 1 + 0.4 + 0.8*0.3
	for name, c := range map[string]struct {
		hit   Hit
		other Speaker // who says 'a'
		mode  Mode
		want  float64
	}{
		"in no sequence":          {alone, SpeakerUnknown, Hybrid, 0.5},
		"alone in its sequence":   {spoken('c', 0.5, SpeakerUnknown, "----"), SpeakerUnknown, Hybrid, 0.5 / most},
		"by keyword":              {spoken('c', 0.5, SpeakerUnknown, "-a--"), SpeakerUnknown, Keyword, 0.5},
		"after":                   {spoken('c', 0.5, SpeakerUnknown, "-a--"), SpeakerUnknown, Hybrid, (0.5 + 0.3) / most},
		"before":                  {spoken('c', 0.5, SpeakerUnknown, "--a-"), SpeakerUnknown, Hybrid, (0.5 + 0.3*2/3) / most},
		"two after":               {spoken('c', 0.5, SpeakerUnknown, "a---"), SpeakerUnknown, Hybrid, (0.5 + 0.06) / most},
		"two before":              {spoken('c', 0.5, SpeakerUnknown, "---a"), SpeakerUnknown, Hybrid, (0.5 + 0.06) / most},
		"beside what is no hit":   {spoken('c', 0.5, SpeakerUnknown, "-x--"), SpeakerUnknown, Hybrid, 0.5 / most},
		"asked, and answered":     {spoken('c', 0.5, person, "--a-"), assistant, Hybrid, (0.5 + 0.3*0.7) / most},
		"answers":                 {spoken('c', 0.5, assistant, "-a--"), person, Hybrid, (0.5*0.7 + 0.1) / most},
		"asks after an answer":    {spoken('c', 0.5, person, "-a--"), assistant, Hybrid, 0.5 / most},
		"answers before question": {spoken('c', 0.5, assistant, "--a-"), person, Hybrid, 0.5 * 0.7 / most},
		"two away in a chat":      {spoken('c', 0.5, person, "a---"), person, Hybrid, 0.5 / most},
		"likely answers":          {spoken('c', 0.5, likely, "-a--"), SpeakerUnknown, Hybrid, (0.5*0.7 + 0.1) / most},
		"likely answered":         {spoken('c', 0.5, SpeakerUnknown, "--a-"), likely, Hybrid, (0.5 + 0.3*0.7) / most},
		"likely asks again":       {spoken('c', 0.5, SpeakerUnknown, "-a--"), likely, Hybrid, 0.5 / most},
		"likely answers, by name": {spoken('c', 0.5, likely, "-a--"), person, Hybrid, (0.5*0.7 + 0.1) / most},
		"two likely answers":      {spoken('c', 0.5, likely, "-a--"), assistant, Hybrid, (0.5*0.7 + 0.3*0.7) / most},
		"the same goes on":        {spoken('c', 0.5, person, "-a--"), person, Hybrid, (0.5 + 0.3) / most},
		"in a fitting sequence":   {in(0.5, 0.8), SpeakerUnknown, Hybrid, (0.5 + 0.4*0.5*0.8) / most},
		"in the best sequence":    {in(1.7, 1), SpeakerUnknown, Hybrid, (0.5 + 0.4) / most},
		"its sequence, by words":  {in(0.5, 0.8), SpeakerUnknown, Keyword, 0.5},
	} {
		e := ranking(SearchOptions{NeighbourShare: 0.3, ContextShare: 0.4})
		for _, r := range e.rank([]Hit{c.hit, spoken('a', 1, c.other, "----")}, c.mode, knowing(1)) {
			x := r.explain
			if r.ID[0] == 'c' && math.Abs(sumOf(r.score)-c.want) > 1e-9 {
				t.Errorf("%s: the sum is %v, want %v; %+v", name, sumOf(r.score), c.want, x)
			}
			parts := x.KeywordPart + x.VectorPart + x.ContextPart + x.NeighbourPart
			if math.Abs(sumOf(r.score)-parts) > 1e-9 {
				t.Errorf("%s: the sum is %v, the parts come to %v", name, sumOf(r.score), parts)
			}
		}
	}
}

// A hit that its neighbours lifted does not lift others.
func TestNeighboursDoNotAddUp(t *testing.T) {
	e := ranking(SearchOptions{NeighbourShare: 0.5})
	chain := []Hit{{ID: ID{'a'}, KeywordShare: 1, Covered: 1},
		{ID: ID{'b'}, Neighbours: [4]ID{1: {'a'}}}, {ID: ID{'c'}, Neighbours: [4]ID{1: {'b'}}}}
	want := map[byte]float64{'a': 1, 'b': 0.5, 'c': 0}
	for _, r := range e.rank(chain, Hybrid, knowing(1)) {
		if got := sumOf(r.score); math.Abs(got-want[r.ID[0]]) > 1e-9 {
			t.Errorf("the sum of %c is %v, want %v", r.ID[0], got, want[r.ID[0]])
		}
	}
}

// A hit counts for those beside it by the root of how much of the query it holds.
func TestNeighboursCountByWhatTheyHold(t *testing.T) {
	for held, want := range map[float64]float64{0: 0, 0.25: 0.25, 1: 0.5} {
		e := ranking(SearchOptions{VectorWeight: 1, NeighbourShare: 0.5})
		hits := []Hit{{ID: ID{'a'}, Similarity: 0.75, Embedded: true, Covered: held},
			{ID: ID{'b'}, Sequence: "talk", Similarity: 0.3, Embedded: true, Neighbours: [4]ID{1: {'a'}}}}
		for _, r := range e.rank(hits, Hybrid, knowing(1)) {
			if got := r.explain.NeighbourPart * (1 + 0.8*0.5); r.ID[0] == 'b' && math.Abs(got-want) > 1e-9 {
				t.Errorf("beside what holds %v of the query: %v, want %v", held, got, want)
			}
		}
	}
}

// said is what a text has that speaks to somebody: in a note similarity would weigh more.
const said = retrieval.AsksYou

// Similarity weighs as much as the embedder knows of the query, in mode Hybrid.
func TestWhatTheEmbedderDoesNotKnowWeighsLess(t *testing.T) {
	e := ranking(SearchOptions{VectorWeight: 0.8})
	hits := []Hit{
		{ID: ID{'a'}, KeywordShare: 1, Covered: 1, Embedded: true, Traits: said},
		{ID: ID{'b'}, Similarity: 0.75, Embedded: true, Traits: said},
	}
	for _, c := range []struct {
		mode           Mode
		known          float64
		words, similar float64
	}{{Hybrid, 1, 0.2, 0.8}, {Hybrid, 0.5, 0.6, 0.4}, {Hybrid, 0, 1, 0}, {Semantic, 0.5, 0, 1}, {Keyword, 1, 1, 0},
		{Semantic, 0.25, 0.5, 0.5}} { // where no hit has words
		for _, r := range e.rank(hits, c.mode, knowing(c.known)) {
			if want := map[byte]float64{'a': c.words, 'b': c.similar}[r.ID[0]]; math.Abs(sumOf(r.score)-want) > 1e-9 {
				t.Errorf("%s, known %v: the sum of %c is %v, want %v", c.mode, c.known, r.ID[0], sumOf(r.score), want)
			}
		}
	}
}

// Of a query that the embedder does not know sequences give a quarter, and all of it from half of
// the words on; without an embedder no query is strange.
func TestSequencesGiveLittleToStrangeQueries(t *testing.T) {
	e := ranking(SearchOptions{VectorWeight: 0.5, ContextShare: 0.2, NeighbourShare: 0.4})
	for _, c := range []struct {
		vector []float32
		known  float64
		want   float64
	}{{[]float32{1}, 0, 0.25}, {[]float32{1}, 0.25, 0.625}, {[]float32{1}, 0.5, 1}, {[]float32{1}, 1, 1}, {nil, 0, 1}} {
		p := knowing(c.known)
		p.Vector = c.vector
		s := e.ranking(Hybrid, p)
		if math.Abs(s.ContextShare-0.2*c.want) > 1e-9 || math.Abs(s.NeighbourShare-0.4*c.want) > 1e-9 {
			t.Errorf("known %v of %v: sequences give %v and %v, want %v of all", c.known, c.vector, s.ContextShare, s.NeighbourShare, c.want)
		}
	}
}

// Where passages are long similarity weighs 1.3 times as much and a sum is worth a fifth less, in
// mode Hybrid and where there are vectors.
func TestLongPassagesByHand(t *testing.T) {
	for _, c := range []struct {
		mode           Mode
		weight, long   float64
		words, similar float64
	}{
		{Hybrid, 0.5, 0, 0.5, 0.5}, {Hybrid, 0.5, 0.5, 0.9 * 0.425, 0.9 * 0.575},
		{Hybrid, 0.5, 1, 0.8 * 0.35, 0.8 * 0.65}, {Hybrid, 0.9, 1, 0, 0.8},
		{Hybrid, 0, 1, 1, 0}, {Keyword, 0.5, 1, 1, 0}, {Semantic, 0.5, 1, 0, 1},
	} {
		hits := []Hit{
			{ID: ID{'a'}, KeywordShare: 1, Covered: 1, Embedded: true, Long: c.long, Traits: said},
			{ID: ID{'b'}, Similarity: 0.75, Embedded: true, Long: c.long, Traits: said},
		}
		for _, r := range ranking(SearchOptions{VectorWeight: c.weight}).rank(hits, c.mode, knowing(1)) {
			if want := map[byte]float64{'a': c.words, 'b': c.similar}[r.ID[0]]; math.Abs(sumOf(r.score)-want) > 1e-9 {
				t.Errorf("%+v: the sum of %c is %v, want %v", c, r.ID[0], sumOf(r.score), want)
			}
		}
	}
	talk := Hit{
		ID: ID{'c'}, KeywordShare: 1, Covered: 1, KeywordRank: 1, Long: 1,
		Sequence: "talk", Context: 1, ContextCovered: 1,
	}
	e := ranking(SearchOptions{VectorWeight: 0.5, ContextShare: 0.25})
	if got := e.rank([]Hit{talk}, Hybrid, knowing(1))[0]; math.Abs(sumOf(got.score)-0.8) > 1e-9 {
		t.Errorf("with its sequence: the sum is %v, want 0.8", sumOf(got.score))
	}
}

// What the query's naming of who says it is worth. Each hit has half of the words; 'a' is said by Ann Lee, 'b'
// by Bo right after, 'c' by Bo at another place, and 'd' by Will after that.
func TestSignersByHand(t *testing.T) {
	said := func(id byte, by string, before byte) Hit {
		h := Hit{ID: ID{id}, KeywordShare: 0.5, Covered: 1, KeywordRank: 1, Sequence: "talk", Signer: by}
		if before != 0 {
			h.Neighbours[1] = ID{before}
		}
		return h
	}
	hits := []Hit{said('a', "ann lee", 0), said('b', "bo", 'a'), said('c', "bo", 'd'), said('d', "will", 'c')}
	corrected := []Correction{{Word: "annn", SearchedFor: []string{"ann"}}}
	for name, c := range map[string]struct {
		query       string
		corrections []Correction
		mode        Mode
		want        [4]float64
	}{
		"nobody is named":      {"What was planted?", nil, Hybrid, [4]float64{0.5, 0.5, 0.5, 0.5}},
		"one of the two":       {"What did Ann plant?", nil, Hybrid, [4]float64{0.58, 0.4, 0.5, 0.5}},
		"by another name":      {"what did lee plant", nil, Hybrid, [4]float64{0.58, 0.4, 0.5, 0.5}},
		"with a typing error":  {"What did Annn plant?", corrected, Hybrid, [4]float64{0.58, 0.4, 0.5, 0.5}},
		"a small word":         {"What did Will plant?", nil, Hybrid, [4]float64{0.5, 0.5, 0.4, 0.58}},
		"both":                 {"What did Ann and Bo plant?", nil, Hybrid, [4]float64{0.58, 0.58, 0.58, 0.4}},
		"by words alone":       {"What did Ann plant?", nil, Keyword, [4]float64{0.5, 0.5, 0.5, 0.5}},
		"a part of the name":   {"What is an annex?", nil, Hybrid, [4]float64{0.5, 0.5, 0.5, 0.5}},
		"nothing is asked for": {"ok", nil, Hybrid, [4]float64{0.05, 0.05, 0.05, 0.05}},
	} {
		p := knowing(1)
		p.Text, p.corrections = c.query, c.corrections
		for _, r := range ranking(SearchOptions{}).rank(hits, c.mode, p) {
			x := r.explain
			want := c.want[r.ID[0]-'a']
			if math.Abs(sumOf(r.score)-want) > 1e-9 || math.Abs(x.KeywordPart+x.SignerPart-want) > 1e-9 {
				t.Errorf("%s: the sum of %c is %v, want %v; %+v", name, r.ID[0], sumOf(r.score), want, x)
			}
		}
	}
	p := knowing(1)
	p.Text, p.onlyTime = "What was yesterday, Ann?", true
	if r := ranking(SearchOptions{}).rank(hits[:1], Hybrid, p)[0]; math.Abs(sumOf(r.score)-0.58/4) > 1e-9 {
		t.Errorf("where only a time is asked for: %v, want %v", sumOf(r.score), 0.58/4)
	}
}

// What it is worth that those beside a text are similar together with it, if the query names who says it.
func TestTogetherByHand(t *testing.T) {
	for name, c := range map[string]struct {
		query    string
		mode     Mode
		together float64
		long     float64
		want     float64 // of similarity
	}{
		"more alike together":        {"What did Ann plant?", Hybrid, 0.75, 0, 0.5},
		"less alike together":        {"What did Ann plant?", Hybrid, 0.3, 0, 0.25},
		"not known":                  {"What did Ann plant?", Hybrid, 0, 0, 0.25},
		"somebody else is named":     {"What did Bo plant?", Hybrid, 0.75, 0, 0.25},
		"nobody is named":            {"What was planted?", Hybrid, 0.75, 0, 0.25},
		"by vectors alone":           {"What did Ann plant?", Semantic, 0.75, 0, 0.5},
		"by vectors alone, unlike":   {"What did Ann plant?", Semantic, 0.3, 0, 0.5},
		"in rather long passages":    {"What did Ann plant?", Hybrid, 0.75, 0.5, 0.9 * 0.5 * 1.15 * 0.75},
		"in long passages":           {"What did Ann plant?", Hybrid, 0.75, 1, 0.8 * 0.5 * 1.3 * 0.5},
		"where nothing is asked for": {"ok", Hybrid, 0.75, 0, 0.025},
	} {
		hits := []Hit{{ID: ID{'a'}, Similarity: 0.45, Embedded: true, VectorRank: 1, Sequence: "talk", Signer: "ann",
			Together: c.together, Long: c.long, Traits: said}}
		p := knowing(1)
		p.Text = c.query
		best := ranking(SearchOptions{VectorWeight: 0.5}).rank(hits, c.mode, p)[0]
		if got := best.explain.VectorPart; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: similarity adds %v, want %v", name, got, c.want)
		}
	}
	// What the next one gets of it is by its own similarity.
	hits := []Hit{
		{ID: ID{'a'}, Covered: 1, Similarity: 0.45, Embedded: true, Sequence: "talk", Signer: "ann", Together: 0.75,
			VectorRank: 1, Traits: said},
		{ID: ID{'b'}, Similarity: 0.45, Embedded: true, Sequence: "talk", Neighbours: [4]ID{{}, {'a'}}, VectorRank: 2},
	}
	p := knowing(1)
	p.Text = "What did Ann plant?"
	for _, r := range ranking(SearchOptions{VectorWeight: 0.5, NeighbourShare: 0.3}).rank(hits, Hybrid, p) {
		if want := 0.3 * 0.25 / 1.24; r.ID[0] == 'b' && math.Abs(r.explain.NeighbourPart-want) > 1e-9 {
			t.Errorf("the next one gets %v, want %v", r.explain.NeighbourPart, want)
		}
	}
}

func TestScoresStayInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.Float64Range(0, 1)
		e := ranking(SearchOptions{VectorWeight: share.Draw(t, "weight"),
			NeighbourShare: share.Draw(t, "neighbours"), ContextShare: share.Draw(t, "context")})
		last := math.Inf(1)
		hits, mode := rapid.SliceOf(drawnHit).Draw(t, "hits"), rapid.SampledFrom([]Mode{Hybrid, Keyword, Semantic}).Draw(t, "mode")
		for _, r := range e.rank(hits, mode, knowing(share.Draw(t, "known"))) {
			if !(r.score > 0 && r.score < 1) || r.score > last {
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

// TestLikelyChatsByHand has two people's turns two places apart. With a likely assistant's between them
// they are a chat, in which the other one counts nothing.
func TestLikelyChatsByHand(t *testing.T) {
	for between, want := range map[Speaker]float64{SpeakerUnknown: 0.06, SpeakerLikelyAssistant: 0} {
		turn := func(id byte, share float64, speaker Speaker) Hit {
			return Hit{ID: ID{id}, KeywordShare: share, Covered: 1, Sequence: "talk", Speaker: speaker}
		}
		hits := []Hit{turn('a', 0.5, SpeakerUnknown), turn('b', 0, between), turn('c', 1, SpeakerUnknown)}
		hits[0].Neighbours = [4]ID{{}, {}, {'b'}, {'c'}}
		hits[1].Neighbours = [4]ID{{}, {'a'}, {'c'}, {}}
		hits[2].Neighbours = [4]ID{{'a'}, {'b'}, {}, {}}
		e := ranking(SearchOptions{NeighbourShare: 0.3, ContextShare: 0.4})
		const most = 1 + 0.4 + 0.8*0.3
		for _, r := range e.rank(hits, Hybrid, knowing(1)) {
			if r.ID[0] == 'a' && math.Abs(r.explain.NeighbourPart-want/most) > 1e-9 {
				t.Errorf("with %d between them the neighbours add %v, want %v", between, r.explain.NeighbourPart, want/most)
			}
		}
	}
}

// TestIdleQueriesScoreATenth has one hit for a question, and for a query that asks for nothing. By vectors alone and
// where a time is named there is no difference.
func TestIdleQueriesScoreATenth(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		text  string
		mode  Mode
		times []NamedTime
		want  float64
	}{
		{"harbour", Hybrid, nil, 0.5}, {"go on", Hybrid, nil, 0.05}, {"go on", Keyword, nil, 0.05},
		{"go on", Hybrid, []NamedTime{{Text: "then", Since: at.AddDate(1, 0, 0), Until: at.AddDate(1, 0, 1)}}, 0.5},
	} {
		p := knowing(1)
		p.Text, p.Times = c.text, c.times
		hits := []Hit{{ID: ID{1}, KeywordRank: 1, KeywordShare: 0.5, Covered: 1, CreatedAt: at}}
		e := ranking(SearchOptions{})
		if got := e.rank(hits, c.mode, p)[0].sum; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q by %s with %d times: the sum is %v, want %v", c.text, c.mode, len(c.times), got, c.want)
		}
	}
}

// TestGeneralQueriesSayLess where passages are long, but not where a time is named.
func TestGeneralQueriesSayLess(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	then := []NamedTime{{Text: "then", Since: at.AddDate(1, 0, 0), Until: at.AddDate(1, 0, 1)}}
	for _, c := range []struct {
		text  string
		long  float64
		many  float64
		times []NamedTime
		want  float64
	}{
		{"my harbour", 1, 1, nil, 0.5}, {"harbour", 0, 1, nil, 0.5}, {"harbour", 1, 0, nil, 0.25},
		{"harbour", 1, 1, nil, 0.175}, {"harbour", 1, 1, then, 0.5},
	} {
		p := knowing(1)
		p.Text, p.Times = c.text, c.times
		hits := []Hit{{
			ID: ID{1}, KeywordRank: 1, KeywordShare: 0.5, Covered: 1, Long: c.long, Many: c.many, CreatedAt: at,
		}}
		e := ranking(SearchOptions{})
		if got := e.rank(hits, Hybrid, p)[0].sum; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%q, long %v, %d times: the sum is %v, want %v", c.text, c.long, len(c.times), got, c.want)
		}
	}
}

// What is recalled has a place in the list of a signal only if that signal found it. What is among
// the best of neither list is left out, and so is what fits too little, which is counted.
func TestPlacesInTheListsOfARecall(t *testing.T) {
	hits := []scored{
		{Hit: &Hit{ID: ID{'a'}, Keyword: 2, KeywordRank: 1}, score: 0.9},
		{Hit: &Hit{ID: ID{'b'}, Similarity: 0.8, VectorRank: 1}, score: 0.5},
		{Hit: &Hit{ID: ID{'c'}, Keyword: 1, KeywordRank: 2, Similarity: 0.5, VectorRank: 2}, score: 0.4},
		{Hit: &Hit{ID: ID{'d'}}, score: 0.3}, // beside one that was found
		{Hit: &Hit{ID: ID{'e'}, Keyword: 0.5, KeywordRank: 3}, score: 0.1},
	}
	for _, c := range []struct {
		limit int
		least float64
		want  string
	}{
		{5, 0, "a 1/0 false, b 0/1 true, c 2/2 false, e 3/0 false, unfit 0"},
		{3, 0, "a 1/0 false, b 0/1 true, c 2/2 false, e 3/0 false, unfit 0"},
		{2, 0, "a 1/0 false, b 0/1 true, c 2/2 false, unfit 0"},
		{1, 0, "a 1/0 false, b 0/1 true, unfit 0"},
		{3, 0.4, "a 1/0 false, b 0/1 true, c 2/2 false, unfit 1"},
		{2, 0.41, "a 1/0 false, b 0/1 true, unfit 1"},
	} {
		fit, unfit := fitting(hits, c.limit, c.least)
		got := ""
		for _, s := range fit {
			got += fmt.Sprintf("%c %d/%d %v, ", s.ID[0], s.explain.KeywordRank, s.explain.VectorRank, s.explain.VectorPart > 0)
		}
		if got += fmt.Sprint("unfit ", unfit); got != c.want {
			t.Errorf("limit %d, least %v: %s; want %s", c.limit, c.least, got, c.want)
		}
	}
}
