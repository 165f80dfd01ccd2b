package loci_test

import (
	"math"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestAnswersAreFoundByTheirQuestions stores a conversation and asks for what was
// said in words that only the question before it has.
func TestAnswersAreFoundByTheirQuestions(t *testing.T) {
	talk := []string{"Good morning!", "Hello there.", "Which town did you travel to this summer?", "To Lisbon.", "Lovely! What did the children do?", "They swam a lot.", "A summer of mine was rainy.", "The harbour is closed."}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		plain := locitest.NewEngine(t, s, loci.Options{
			Embedder: &locitest.WordEmbedder{Name: "w"}, Search: loci.SearchOptions{NeighbourShare: loci.None},
		})
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}}), "u")
		ids := map[string]loci.ID{}
		for i, text := range talk {
			ids[text] = locitest.StoreFact(t, m, loci.NewFact{Content: text, Sequence: "talk", Position: int64(i)}).ID
		}
		q := loci.Query{Text: "summer town travel", Limit: 10}
		place := func(r loci.Result) (int, loci.Match) {
			for i, match := range r.Matches {
				if match.Record.ID == ids["To Lisbon."] {
					return i + 1, match
				}
			}
			t.Fatalf("not found: %+v", r.Matches)
			return 0, loci.Match{}
		}
		before, _ := place(locitest.Search(t, locitest.Bind(t, plain, "u"), q))
		if n, match := place(locitest.Search(t, m, q)); n >= before || match.Explain.NeighbourPart <= 0 {
			t.Errorf("place %d, %d without neighbours; %+v", n, before, match.Explain)
		}
		for _, mode := range []loci.Mode{loci.Semantic, loci.Hybrid} {
			q.Mode = mode
			if _, match := place(locitest.Search(t, locitest.Bind(t, plain, "u"), q)); match.Explain.NeighbourPart != 0 {
				t.Errorf("share 0, %s: %+v", mode, match.Explain)
			}
		}
		q.Mode = loci.Semantic
		if _, match := place(locitest.Search(t, m, q)); match.Explain.NeighbourPart != 0 {
			t.Errorf("by similarity alone: %+v", match.Explain)
		}
		// Where it stands is part of a fact, through revisions and an export.
		revised := "To Lisbon and Porto."
		if _, err := m.ReviseFact(t.Context(), ids["To Lisbon."], loci.FactRevision{Content: &revised}); err != nil {
			t.Fatal(err)
		}
		other := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "v")
		if _, err := other.Import(t.Context(), strings.NewReader(locitest.Exported(t, m)), nil); err != nil {
			t.Fatal(err)
		}
		for _, in := range []*loci.Memory{m, other} {
			found := false
			for _, f := range locitest.AllFacts(t, in) {
				if f.Content == revised {
					found = f.Sequence == "talk" && f.Position == 3
				}
			}
			if !found {
				t.Errorf("facts of %v: %+v", in.View().Namespace, locitest.AllFacts(t, in))
			}
		}
	})
}

// The same words at another place of a conversation were said twice.
func TestAPlaceIsPartOfANote(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	for _, c := range []struct {
		sequence string
		position int64
		want     loci.Outcome
	}{
		{"", 0, loci.Created},
		{"", 0, loci.DuplicateOf},
		{"s", 0, loci.Created},
		{"s", 1, loci.Created},
		{"t", 1, loci.Created},
		{"s", 1, loci.DuplicateOf},
	} {
		got := locitest.StoreFact(t, m, loci.NewFact{Content: "Yes.", Sequence: c.sequence, Position: c.position})
		if got.Outcome != c.want {
			t.Errorf("%q %d: %s, want %s", c.sequence, c.position, got.Outcome, c.want)
		}
	}
}

// An import is checked like a write.
func TestImportRefusesABadPlace(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.StoreFact(t, m, loci.NewFact{Content: "Yes.", Sequence: "s", Position: 7})
	good := locitest.Exported(t, m)
	for bad, want := range map[string]string{
		`"sequence":"s","position":-7`: "line 2: position is -7", `"position":7`: "line 2: position 7 needs a sequence",
		`"sequence":"` + strings.Repeat("s", 257) + `"`: "line 2: sequence is 257 bytes", `"sequence":"\u0000"`: "line 2: sequence must not",
	} {
		text := strings.Replace(good, `"sequence":"s","position":7`, bad, 1)
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "v")
		_, err := m.Import(t.Context(), strings.NewReader(text), nil)
		locitest.WantCode(t, err, loci.Invalid)
		if text == good || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

func TestTheNeighbourShareHasARange(t *testing.T) {
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		_, err := loci.New(locitest.OpenMemory(), &loci.Options{Search: loci.SearchOptions{NeighbourShare: share}})
		locitest.WantCode(t, err, loci.Invalid)
		if err == nil || !strings.Contains(err.Error(), "neighbour share") {
			t.Errorf("%v: error %v", share, err)
		}
	}
}

// knowingEmbedder says how much of a text it knows.
type knowingEmbedder struct {
	locitest.WordEmbedder
	known float64
}

func (k *knowingEmbedder) Knows(string) float64 { return k.known }

// The weight of similarity falls to the share of the query that the embedder knows. What the
// embedder says of itself is checked.
func TestTheEmbedderSaysWhatItKnows(t *testing.T) {
	e := &knowingEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "w"}}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: e}), "u")
	for _, text := range []string{"zebra", "zebra tea", "tea"} {
		locitest.Save(t, m, text)
	}
	for _, known := range []float64{1, 0.5, 0} {
		want := inNotes(known * loci.DefaultVectorWeight)
		e.known = known
		x := locitest.Search(t, m, loci.Query{Text: "zebra"}).Matches[0].Explain
		if diff := x.VectorPart - want; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("known %v: %+v", known, x)
		}
	}
	for _, known := range []float64{-1, 1.5} {
		e.known = known
		if r := locitest.Search(t, m, loci.Query{Text: "zebra"}); !r.KeywordOnly {
			t.Errorf("known %v was taken", known)
		}
	}
}

// weighingEmbedder remembers the queries that it was to weigh.
type weighingEmbedder struct {
	knowingEmbedder
	weighed int
}

func (w *weighingEmbedder) EmbedWeighed(string, func(string) float64) []float32 {
	w.weighed++
	return nil
}

// If an embedder knows less than half of a query, its rare words are those it does not know, so
// they are not weighed.
func TestOnlyAKnownQueryIsWeighed(t *testing.T) {
	e := &weighingEmbedder{knowingEmbedder: knowingEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "w"}}}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: e}), "u")
	locitest.Save(t, m, "zebra")
	for _, c := range []struct {
		known   float64
		weighed bool
	}{{1, true}, {0.5, true}, {0.49, false}, {0, false}} {
		e.known, e.weighed = c.known, 0
		locitest.Search(t, m, loci.Query{Text: "zebra"})
		if (e.weighed > 0) != c.weighed {
			t.Errorf("of a query known by %v words are weighed %d times", c.known, e.weighed)
		}
	}
}

// scaledEmbedder says what its cosines mean.
type scaledEmbedder struct {
	locitest.WordEmbedder
	scale loci.Scale
}

func (s *scaledEmbedder) Scale() loci.Scale { return s.scale }

// An embedder has a scale of its own, unless the operator says otherwise; one that makes
// no sense is not taken.
func TestEachEmbedderHasItsScale(t *testing.T) {
	for _, c := range []struct {
		own, configured loci.Scale
		want            float64
	}{
		{loci.Scale{Unrelated: -1, Alike: 1}, loci.Scale{}, 1},
		{loci.Scale{Unrelated: 0.5, Alike: 1}, loci.Scale{}, 0.4142135623},
		{loci.Scale{Unrelated: 0.5, Alike: 1}, loci.Scale{Alike: 0.7071067811}, 1},
		{loci.Scale{Unrelated: 0.7, Alike: 0.7}, loci.Scale{}, 0.9285113019},
		{loci.Scale{Unrelated: 0, Alike: 2}, loci.Scale{}, 0.9285113019},
	} {
		e := &scaledEmbedder{locitest.WordEmbedder{Name: "w"}, c.own}
		search := loci.SearchOptions{Scale: c.configured, VectorWeight: 1}
		opts := loci.Options{Embedder: e, Search: search}
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), opts), "u")
		locitest.Save(t, m, "zebra walrus")
		x := locitest.Search(t, m, loci.Query{Text: "zebra"}).Matches[0].Explain
		if x.Similarity < 0.7 || x.Similarity > 0.72 {
			t.Fatalf("the cosine is %v: the test is made for the root of a half", x.Similarity)
		}
		want := c.want
		if c.own.Unrelated == -1 {
			want = (x.Similarity + 1) / 2
		}
		if diff := x.VectorPart - want; diff > 5e-3 || diff < -5e-3 {
			t.Errorf("own %+v, configured %+v: %v, want %v", c.own, c.configured, x.VectorPart, want)
		}
	}
	wrong := loci.SearchOptions{Scale: loci.Scale{Unrelated: 0.5, Alike: 0.4}}
	_, err := loci.New(locitest.OpenMemory(), &loci.Options{Search: wrong})
	locitest.WantCode(t, err, loci.Invalid)
}

// A record has one score for a query, however many results are asked for: what stands
// beside it counts whether or not it would be a result itself.
func TestScoresDoNotDependOnTheLimit(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for i := range 30 {
			locitest.StoreFact(t, m, loci.NewFact{
				Content: strings.Repeat("x", i+1) + " walrus at the harbour", Sequence: strings.Repeat("s", i+1),
			})
		}
		// The second is no candidate among so many better ones: it comes with the first,
		// and the last two come with it alone.
		for i, text := range []string{
			"walrus harbour", "a walrus harbour with lanterns and bells", "nothing", "harbour", "walrus",
		} {
			locitest.StoreFact(t, m, loci.NewFact{Content: text, Sequence: "talk", Position: int64(i)})
		}
		query := loci.Query{Text: "walrus harbour", Limit: 100}
		whole := map[loci.ID]float64{}
		for _, match := range locitest.Search(t, m, query).Matches {
			whole[match.Record.ID] = match.Score
		}
		second := false
		for _, query.Limit = range []int{1, 2, 3, 4} {
			for _, match := range locitest.Search(t, m, query).Matches {
				if want := whole[match.Record.ID]; match.Score != want {
					t.Errorf("of %d results %q has the score %v, of all %v", query.Limit, match.Record.Text, match.Score, want)
				}
				second = second || strings.Contains(match.Record.Text, "lanterns") && match.Explain.KeywordRank == 0
			}
		}
		if !second {
			t.Error("what stands beside a candidate never was a result: the test proves nothing")
		}
	})
}
