package loci_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// A judge gives the text with the highest number after "worth" the best chance.
type judge struct {
	mu      sync.Mutex
	texts   []string // of the last call
	query   string
	calls   int
	fault   error
	waits   bool      // until the search gives up
	chances []float64 // in place of its own
}

func (*judge) Model() string { return "judge" }

func (j *judge) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.query, j.texts, j.calls = query, texts, j.calls+1
	if j.waits {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if j.fault != nil || j.chances != nil {
		return j.chances, j.fault
	}
	out := make([]float64, len(texts))
	for i, text := range texts {
		var n int
		if _, after, ok := strings.Cut(text, "worth "); ok {
			if _, err := fmt.Sscan(after, &n); err != nil {
				return nil, err
			}
		}
		out[i] = float64(n) / 100
	}
	return out, nil
}

// judged is a memory of 20 notes about zebras that words rank by their numbers of "zebra", and
// the judge the other way round.
func judged(t *testing.T, s loci.Store, o loci.RerankOptions) *loci.Memory {
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: locitest.NewClock().Now, Rerank: o}), "u")
	for i := range 20 {
		locitest.Save(t, m, fmt.Sprintf("%sstripes %s worth %d", strings.Repeat("zebra ", 20-i), strings.Repeat("grass ", i), i+40))
	}
	return m
}

// The best results of a search are read again: their scores are the chances that the
// re-ranker gives, they are in the order of their scores, and each says what it had before.
func TestSearchReranks(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		j := &judge{}
		m := judged(t, s, loci.RerankOptions{Reranker: j, Candidates: 5})
		plain := locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 20, Rerank: new(false)})
		if j.calls != 0 || len(plain.Matches) != 20 {
			t.Fatalf("%d calls for a search that wants none, %d matches", j.calls, len(plain.Matches))
		}
		read := locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 20})
		if j.query != "zebra" || len(j.texts) != 5 || j.texts[0] != plain.Matches[0].Passage {
			t.Fatalf("the re-ranker was asked %q about %q", j.query, j.texts)
		}
		if len(read.Matches) != 20 || read.NotReranked != "" {
			t.Fatalf("%d matches, %q", len(read.Matches), read.NotReranked)
		}
		for i, match := range read.Matches {
			x := match.Explain
			if i > 0 && match.Score > read.Matches[i-1].Score {
				t.Errorf("%d: score %v behind %v", i, match.Score, read.Matches[i-1].Score)
			}
			if i >= 5 { // what was not read stays behind, in its order
				same := match.Record.ID == plain.Matches[i].Record.ID
				if !same || x.Reranked != 0 || match.Score > read.Matches[4].Score {
					t.Errorf("%d: %q has %v, %+v", i, match.Passage, match.Score, x)
				}
				continue
			}
			before := plain.Matches[4-i]
			if match.Record.ID != before.Record.ID || x.Reranked != match.Score || x.FirstScore != before.Score {
				t.Errorf("%d: %q has %v, %+v; before %v", i, match.Passage, match.Score, x, before.Score)
			}
		}
	})
}

// Pages of a search that is read again fit together, whatever their size, and a floor leaves
// out by the scores that it has then.
func TestRerankedPages(t *testing.T) {
	m := judged(t, locitest.OpenMemory(), loci.RerankOptions{Reranker: &judge{}, Candidates: 5})
	whole := locitest.Texts(locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 20}))
	for _, limit := range []int{1, 2, 3, 7, 20} {
		var pages []string
		for offset := 0; offset < 20; offset += limit {
			page := locitest.Search(t, m, loci.Query{Text: "zebra", Limit: limit, Offset: offset})
			pages = append(pages, locitest.Texts(page)...)
		}
		if !slices.Equal(pages, whole) {
			t.Errorf("pages of %d differ from one of 20:\n%q\n%q", limit, pages, whole)
		}
	}
	for floor, want := range map[float64]int{0.44: 1, 0.42: 3} {
		r := locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 20, MinScore: floor})
		if got := locitest.Texts(r); !slices.Equal(got, whole[:want]) {
			t.Errorf("with a floor of %v: %q", floor, got)
		}
	}
}

// A re-ranker that takes too long, fails or talks nonsense leaves the order as it was, and the
// result says so. A caller who gives up gets an error.
func TestRerankerFails(t *testing.T) {
	j := &judge{}
	m := judged(t, locitest.OpenMemory(), loci.RerankOptions{Reranker: j, Timeout: 30 * time.Millisecond})
	plain := locitest.Texts(locitest.Search(t, m, loci.Query{Text: "zebra", Rerank: new(false)}))
	for name, c := range map[string]struct {
		judge *judge
		want  string
	}{
		"slow":          {&judge{waits: true}, "the re-ranker took longer than 30ms"},
		"broken":        {&judge{fault: errors.New("broken")}, "the re-ranker failed"},
		"too few":       {&judge{chances: []float64{1}}, "the re-ranker failed"},
		"above one":     {&judge{chances: slices.Repeat([]float64{1.1}, 20)}, "the re-ranker failed"},
		"not a number":  {&judge{chances: slices.Repeat([]float64{math.NaN()}, 20)}, "the re-ranker failed"},
		"less than all": {&judge{chances: slices.Repeat([]float64{1}, 19)}, "the re-ranker failed"},
	} {
		j.waits, j.fault, j.chances = c.judge.waits, c.judge.fault, c.judge.chances
		start := time.Now()
		r := locitest.Search(t, m, loci.Query{Text: "zebra"})
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: the search took %s", name, took)
		}
		if r.NotReranked != c.want || !slices.Equal(locitest.Texts(r), plain) {
			t.Errorf("%s: %q, %q; want %q and the first order", name, r.NotReranked, locitest.Texts(r), c.want)
		}
		for i := range r.Matches {
			if x := r.Matches[i].Explain; x.Reranked != 0 || x.FirstScore != 0 {
				t.Errorf("%s: explained by %+v", name, x)
			}
		}
	}
	j.waits, j.fault, j.chances = false, nil, make([]float64, 20)
	if r := locitest.Search(t, m, loci.Query{Text: "zebra"}); r.NotReranked != "" || r.Matches[0].Score != 0 {
		t.Errorf("no chance is one: %q, score %v", r.NotReranked, r.Matches[0].Score)
	}
	j.waits, j.chances = true, nil
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := m.Search(ctx, loci.Query{Text: "zebra"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v; want that the time of the search is over", err)
	}
}

// A query cannot ask for a re-ranker that is not there, and no option is out of range.
func TestNoReranker(t *testing.T) {
	s := locitest.OpenMemory()
	m := judged(t, s, loci.RerankOptions{})
	_, err := m.Search(t.Context(), loci.Query{Text: "zebra", Rerank: new(true)})
	locitest.WantCode(t, err, loci.Unsupported)
	if r := locitest.Search(t, m, loci.Query{Text: "zebra", Rerank: new(false)}); len(r.Matches) != 10 {
		t.Errorf("%d matches", len(r.Matches))
	}
	for _, o := range []loci.RerankOptions{
		{Candidates: -1}, {Candidates: loci.MaxRerankCandidates + 1}, {Timeout: time.Microsecond}, {Timeout: -1},
	} {
		_, err := loci.New(s, &loci.Options{Rerank: o})
		locitest.WantCode(t, err, loci.Invalid)
	}
}

// A fact is read with its subject and predicate: "blue" answers nothing by itself.
func TestRerankerReadsHeadings(t *testing.T) {
	j := &judge{}
	m := judged(t, locitest.OpenMemory(), loci.RerankOptions{Reranker: j})
	locitest.StoreFact(t, m, loci.NewFact{Subject: "user", Predicate: "favorite_color", Content: "blue"})
	locitest.Search(t, m, loci.Query{Text: "favorite color"})
	if len(j.texts) == 0 || j.texts[0] != "user favorite color: blue" {
		t.Errorf("the re-ranker read %q", j.texts)
	}
}

// What a session brings back for each turn is not read again: its floor is one of the first
// scores, and somebody waits for it.
func TestRetrieveDoesNotRerank(t *testing.T) {
	j := &judge{}
	m := judged(t, locitest.OpenMemory(), loci.RerankOptions{Reranker: j})
	talk := session.Of(m)
	for _, text := range []string{"the zebra is in the yard", "which zebra?", "the old one"} {
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, text))
	}
	r, err := talk.Retrieve(t.Context(), "s", session.RetrieveQuery{Text: "the zebra in the yard", Recent: 1})
	if err != nil || len(r.Shown) == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if j.calls != 0 {
		t.Errorf("%d calls", j.calls)
	}
	if _, err := talk.Search(t.Context(), session.Search{Text: "zebra"}); err != nil || j.calls != 1 {
		t.Errorf("%d calls of a search of messages: %v", j.calls, err)
	}
}
