package loci_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

func recall(t testing.TB, m *loci.Memory, q loci.RecallQuery) loci.RecallResult {
	t.Helper()
	r, err := m.Recall(t.Context(), q)
	if err != nil {
		t.Fatalf("recall %+v: %v", q, err)
	}
	return r
}

// recalled are the texts of a result, in order.
func recalled(r loci.RecallResult) (out []string) {
	for i := range r.Memories {
		out = append(out, r.Memories[i].Record.Text)
	}
	return out
}

func addRule(t testing.TB, m *loci.Memory, in loci.NewRule) loci.ID {
	t.Helper()
	id, err := m.StoreRule(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func addEpisode(t testing.TB, m *loci.Memory, in loci.NewEpisode) loci.ID {
	t.Helper()
	id, err := m.StoreEpisode(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// zoo stores memories of every kind about zebras that differ in all components.
func zoo(t testing.TB, m *loci.Memory, c *locitest.Clock) {
	t.Helper()
	for i := range 12 {
		word := []string{"zebra", "zebra crossing", "a striped zebra in the zoo"}[i%3]
		switch i % 4 {
		case 0, 1:
			locitest.StoreFact(t, m,
				loci.NewFact{Content: fmt.Sprintf("%s %d", word, i), Subject: fmt.Sprint("s", i), Predicate: "p",
					Importance: new(float64(i % 11)),
					Permanence: []loci.Permanence{loci.Volatile, loci.Permanent}[i%2]})
		case 2:
			id := addRule(t, m, loci.NewRule{Content: fmt.Sprintf("%s rule %d", word, i), Scope: []string{"", "health"}[i/4%2]})
			for range i {
				if _, err := m.MarkHelpful(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
		default:
			addEpisode(t, m, loci.NewEpisode{Content: fmt.Sprintf("%s episode %d", word, i),
				Butler: []string{"health", "other"}[i/4%2], Importance: new(float64(i % 11))})
		}
		c.Advance(7 * time.Hour)
	}
	used := recall(t, m, loci.RecallQuery{Topic: "crossing", Touch: true}).Memories[0].Record
	awaitUses(t, 1, func() int64 {
		r := recall(t, m, loci.RecallQuery{Topic: "crossing"}).Memories
		return r[slices.IndexFunc(r, func(r loci.Recalled) bool { return r.Record.ID == used.ID })].Record.Uses
	})
	c.Advance(30 * time.Hour)
}

// awaitUses waits until uses are counted: what is recalled waits for that only a moment.
func awaitUses(t testing.TB, want int64, uses func() int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); uses() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d uses are counted, want %d", uses(), want)
		}
	}
}

// TestRecallEqualsTheFormula recomputes scores and order from what the store says
// and the formulas of docs/scoring.md, written a second time.
func TestRecallEqualsTheFormula(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		weights := loci.RecallWeights{Relevance: 0.25, Importance: 0.25, Recency: 0.3, Confidence: 0.2}
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Recall: loci.RecallOptions{Weights: weights}})
		m := locitest.Bind(t, e, "u")
		zoo(t, m, c)
		now := c.Now().Truncate(time.Millisecond)
		maturities := map[string]float64{"proven": 1, "established": 0.9, "candidate": 0.8, "anti_pattern": 1}
		kinds := []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode}
		for _, limit := range []int{1, 3, 5, 20} {
			f := loci.Filter{Within: []loci.Namespace{{"u"}}, Kinds: kinds, At: now, MinConfidence: 0.2}
			hits, err := s.Match(t.Context(), locitest.Tenant(t, "t"), loci.Probe{Text: "zebra crossing"}, f, limit)
			if err != nil {
				t.Fatal(err)
			}
			want := map[loci.ID]float64{}
			for _, h := range hits {
				keyword := float64(h.KeywordRank)
				relevance := (1/(60+keyword) + 1/(61+float64(limit))) * 61 / 2
				importance, used, confidence := 5.0, time.Time{}, 1.0
				switch r := recordOf(t, s, h.ID); r.Kind {
				case loci.KindFact:
					fact := locitest.Fact(t, m, h.ID)
					importance, used, confidence = fact.Importance, fact.UsedAt, fact.EffectiveConfidence
				case loci.KindRule:
					rule, err := m.Rule(t.Context(), h.ID)
					if err != nil {
						t.Fatal(err)
					}
					used, confidence = rule.UsedAt, rule.EffectiveConfidence
					relevance *= maturities[string(rule.Maturity)]
				default:
					episode, err := m.Episode(t.Context(), h.ID)
					if err != nil {
						t.Fatal(err)
					}
					importance, used = episode.Importance, episode.UsedAt
				}
				recency := 0.0
				if !used.IsZero() {
					recency = math.Pow(0.5, now.Sub(used).Hours()/24/7)
				}
				want[h.ID] = 0.25*relevance + 0.25*importance/10 + 0.3*recency + 0.2*confidence
			}
			got := recall(t, m, loci.RecallQuery{Topic: "zebra crossing", Kinds: kinds, Limit: limit})
			if len(got.Memories) != min(limit, len(want)) || got.Weights != weights {
				t.Fatalf("limit %d: %d memories of %d, weights %+v", limit, len(got.Memories), len(want), got.Weights)
			}
			last := math.Inf(1)
			for _, r := range got.Memories {
				if math.Abs(r.Score-want[r.Record.ID]) > 1e-12 ||
					r.Score != weights.Score(r.Explain) || r.Score > last {
					t.Errorf("limit %d: %s has score %v after %v, want %v: %+v", limit, r.Record.Text, r.Score, last, want[r.Record.ID], r.Explain)
				}
				last = r.Score
			}
		}
	})
}

func recordOf(t testing.TB, s loci.Store, id loci.ID) loci.Record {
	t.Helper()
	records, _, err := s.Records(t.Context(), locitest.Tenant(t, "t"), loci.Filter{
		Within: []loci.Namespace{{}}, IDs: []loci.ID{id}, NotLive: true,
	}, loci.Page{})
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	return records[0]
}

// Ties go by age, then by id.
func TestRecallTies(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c, next := locitest.NewClock(), byte(200)
		m := locitest.Bind(t,
			locitest.NewEngine(t, s, loci.Options{Now: c.Now, NewID: func() loci.ID { next--; return loci.ID{next} },
				Recall: loci.RecallOptions{Weights: loci.RecallWeights{Importance: 1}}}), "u")
		for i := range 4 {
			if i == 2 {
				c.Advance(time.Second)
			}
			locitest.StoreFact(t, m,
				loci.NewFact{Content: "zebra", Subject: fmt.Sprint(i), Predicate: "p", Tags: []string{fmt.Sprint("t", i)}})
		}
		var order []string
		for _, r := range recall(t, m, loci.RecallQuery{Topic: "zebra"}).Memories {
			order = append(order, r.Record.Tags[0])
		}
		if !slices.Equal(order, []string{"t3", "t2", "t1", "t0"}) {
			t.Errorf("order %v", order)
		}
	})
}

// A proven rule comes before a candidate of equal relevance, and an anti-pattern too.
func TestMaturityWeighs(t *testing.T) {
	c := locitest.NewClock()
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "u")
	proven, bad := addRule(t, m, loci.NewRule{Content: "feed the zebra"}), addRule(t, m, loci.NewRule{Content: "ride the zebra"})
	c.Advance(31 * dayLong)
	for range 16 {
		if _, err := m.MarkHelpful(t.Context(), proven); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := m.MarkHarmful(t.Context(), bad, ""); err != nil {
			t.Fatal(err)
		}
	}
	addRule(t, m, loci.NewRule{Content: "wash the zebra"})
	weights := map[string]float64{}
	for _, r := range recall(t, m, loci.RecallQuery{Topic: "zebra"}).Memories {
		weights[r.Record.Status] = r.Explain.Maturity
		want := r.Explain.Maturity * loci.Relevance(r.Explain.SemanticRank, r.Explain.KeywordRank, 20)
		if r.Explain.Relevance != want {
			t.Errorf("%s: relevance %v, want %v", r.Record.Status, r.Explain.Relevance, want)
		}
	}
	if len(weights) != 3 || weights["proven"] != 1 || weights["candidate"] != 0.8 || weights["anti_pattern"] != 1 {
		t.Errorf("weights %v", weights)
	}
}

func TestRecallFindsOnlyWhatHolds(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		locitest.StoreFact(t, m, loci.NewFact{Content: "zebra expired", Subject: "a", Predicate: "p", Permanence: loci.Ephemeral})
		locitest.StoreFact(t, m, loci.NewFact{Content: "zebra old", Subject: "b", Predicate: "p"})
		addEpisode(t, m, loci.NewEpisode{Content: "zebra expired episode", Butler: "b"})
		c.Advance(10 * dayLong)
		locitest.StoreFact(t, m, loci.NewFact{Content: "zebra fading", Subject: "c", Predicate: "p", Permanence: loci.Ephemeral})
		locitest.StoreFact(t, m, loci.NewFact{Content: "zebra new", Subject: "b", Predicate: "p"})
		c.Advance(20 * dayLong)
		gone, forgotten := locitest.Save(t, m, "zebra retracted"), addRule(t, m, loci.NewRule{Content: "zebra forgotten"})
		tomb := addEpisode(t, m, loci.NewEpisode{Content: "zebra forgotten episode", Butler: "b"})
		for kind, id := range map[loci.Kind]loci.ID{loci.KindFact: gone,
			loci.KindRule: forgotten, loci.KindEpisode: tomb} {
			if ok, err := m.Forget(t.Context(), kind, id); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		locitest.PutItem(t, m, loci.Namespace{"u"}, "item", `{"text":"zebra item"}`, nil)
		all := loci.RecallQuery{Topic: "zebra", Kinds: []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode}}
		if got := recalled(recall(t, m, all)); !slices.Equal(got, []string{"zebra new"}) {
			t.Errorf("recalled %q", got)
		}
		all.MinConfidence = new(0.0)
		if got := recalled(recall(t, m, all)); !slices.Equal(got, []string{"zebra new", "zebra fading"}) {
			t.Errorf("with the fading ones %q", got)
		}
	})
}

func TestRecallScopes(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for _, scope := range []string{"global", "health", "work"} {
			locitest.StoreFact(t, m, loci.NewFact{Content: "zebra fact " + scope, Subject: "s", Predicate: "p", Scope: scope})
			addRule(t, m, loci.NewRule{Content: "zebra rule " + scope, Scope: scope})
			addEpisode(t, m, loci.NewEpisode{Content: "zebra episode " + scope, Butler: scope})
		}
		locitest.Save(t, m, "zebra note")
		locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "v"), "zebra of somebody else")
		for want, scopes := range map[int][]string{10: nil, 6: {"health"}, 4: {"global"}, 9: {"health", "work"}} {
			for range 2 {
				r, err := m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "zebra", Scopes: scopes})
				if err != nil || len(r.Memories) != want {
					t.Errorf("%v: %q, %v", scopes, recalled(r), err)
				}
				if len(scopes) == 1 { // naming "global" as well changes nothing
					scopes = []string{scopes[0], "global"}
					if scopes[0] == "global" {
						scopes = scopes[:1]
					}
				}
			}
		}
		if got := recall(t, m, loci.RecallQuery{Topic: "zebra", Scopes: []string{"health"}}); len(got.Memories) != 5 {
			t.Errorf("facts and rules: %q", recalled(got))
		}
		// The store is asked twice; the ranks are those of one list.
		r, err := m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "zebra", Scopes: []string{"health"}, Limit: 3})
		if err != nil || len(r.Memories) != 3 {
			t.Fatal(recalled(r), err)
		}
		for i, found := range r.Memories {
			if found.Explain.KeywordRank != i+1 {
				t.Errorf("rank %d of %q in place %d", found.Explain.KeywordRank, found.Record.Text, i)
			}
		}
	})
}

// A toucher is a store whose Touch fails, or waits until it is let go. It says when it
// was called, and what came of it.
type toucher struct {
	loci.Store
	err    error
	called chan int // how many touches
	hold   chan struct{}
	done   chan error
}

func newToucher(s loci.Store, err error) *toucher {
	return &toucher{s, err, make(chan int, 1), make(chan struct{}), make(chan error, 1)}
}

func (s *toucher) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) (err error) {
	s.called <- len(touches)
	if err = s.err; err == nil {
		select {
		case <-s.hold:
			err = s.Store.Touch(ctx, t, touches)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	s.done <- err
	return err
}

func TestRecallCountsUses(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		id, other := locitest.Save(t, m, "zebra"), locitest.Save(t, m, "lion")
		recall(t, m, loci.RecallQuery{Topic: "zebra", Touch: true})
		recall(t, m, loci.RecallQuery{Topic: "zebra"})
		if _, err := m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "zebra", Touch: true}); err != nil {
			t.Fatal(err)
		}
		m.CountUse(t.Context(), loci.KindFact, id)
		locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "v").CountUse(t.Context(), loci.KindFact, id) // may not read it
		awaitUses(t, 2, func() int64 { return locitest.Fact(t, m, id).Uses })
		f := locitest.Fact(t, m, id)
		if f.Uses != 2 || !f.UsedAt.Equal(c.Now().Truncate(time.Millisecond)) ||
			f.Version != 1 || locitest.Fact(t, m, other).Uses != 0 {
			t.Errorf("uses %d at %v, version %d", f.Uses, f.UsedAt, f.Version)
		}
		if r := recall(t, m, loci.RecallQuery{Topic: "zebra"}).Memories[0]; r.Explain.Recency != 1 {
			t.Errorf("recency %v", r.Explain.Recency)
		}

	})
}

// TestRecallWaitsForNoWriter: uses are counted beside the read. A busy writer hardly delays the
// read, a caller that goes away does not stop the count, and a failed count fails no read.
func TestRecallWaitsForNoWriter(t *testing.T) {
	each := map[string]func(t *testing.T) loci.Store{
		"memory": func(*testing.T) loci.Store { return locitest.OpenMemory() },
		"sqlite": func(t *testing.T) loci.Store { return locitest.OpenSQLite(t) },
	}
	for name, open := range each {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				id := locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u"), "zebra")
				slow := newToucher(s, nil)
				m := locitest.Bind(t, locitest.NewEngine(t, slow, loci.Options{}), "u")
				ctx, cancel := context.WithCancel(t.Context())
				begun := time.Now()
				if r, err := m.Recall(ctx, loci.RecallQuery{Topic: "zebra", Touch: true}); err != nil ||
					len(r.Memories) != 1 {
					t.Error(err)
				}
				if took := time.Since(begun); took != 50*time.Millisecond {
					t.Errorf("the read waited %v for the write", took)
				}
				synctest.Wait()
				select {
				case n := <-slow.called:
					if n != 1 {
						t.Errorf("%d touches", n)
					}
				default:
					t.Fatal("nothing is counted")
				}
				cancel() // the caller goes away
				synctest.Wait()
				close(slow.hold)
				if err := <-slow.done; err != nil || locitest.Fact(t, m, id).Uses != 1 {
					t.Errorf("%d uses, %v", locitest.Fact(t, m, id).Uses, err)
				}
				broken := newToucher(s, errors.New("disk full"))
				m = locitest.Bind(t, locitest.NewEngine(t, broken, loci.Options{}), "u")
				if r := recall(t, m, loci.RecallQuery{Topic: "zebra", Touch: true}); len(r.Memories) != 1 {
					t.Error("a failure to count a use lost the answer")
				}
				synctest.Wait()
			})
		})
	}
}

func TestRecallRefuses(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	for _, q := range []loci.RecallQuery{
		{}, {Topic: " "}, {Topic: "x", Limit: -1}, {Topic: "x", Limit: 501},
		{Topic: "x", MinConfidence: new(1.5)}, {Topic: "x", MinConfidence: new(math.NaN())},
		{Topic: "x", Scopes: []string{""}}, {Topic: "x\xff"}, {Topic: "x", Kinds: []loci.Kind{item.Kind}},
	} {
		_, err := m.Recall(t.Context(), q)
		locitest.WantCode(t, err, loci.Invalid)
	}
	_, err := m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "x", Mode: "fuzzy"})
	if want := "Invalid mode: 'fuzzy'. Must be one of ['hybrid', 'keyword', 'semantic']"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	_, err = m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "x", Kinds: []loci.Kind{"thought"}})
	if want := "Invalid type: 'thought'. Must be one of ['episode', 'fact', 'rule']"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
	_, err = m.SearchMemories(t.Context(), loci.RecallQuery{Topic: "x", Mode: loci.Semantic})
	locitest.WantCode(t, err, loci.Unsupported)
	for _, o := range []loci.RecallOptions{
		{Weights: loci.RecallWeights{Relevance: 0.5}}, {Weights: loci.RecallWeights{Relevance: 2, Importance: -1}},
		{Weights: loci.RecallWeights{Relevance: math.NaN()}},
		{Maturity: loci.MaturityWeights{Proven: 1.1}}, {MinConfidence: -0.1},
	} {
		_, err := loci.New(locitest.OpenMemory(), &loci.Options{Recall: o})
		locitest.WantCode(t, err, loci.Invalid)
	}
	_, err = loci.New(locitest.OpenMemory(), &loci.Options{ContextQuotas: loci.ContextQuotas{Facts: 0.9}})
	locitest.WantCode(t, err, loci.Invalid)
}

// Search by similarity too: both ranks enter, and another store gives the same.
func TestStoresRecallTheSame(t *testing.T) {
	var all [][]string
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c, next := locitest.NewClock(), uint8(0)
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now,
			Embedder: &locitest.WordEmbedder{Name: "w"}, NewID: func() loci.ID { next++; return loci.ID{next} }}), "u")
		zoo(t, m, c)
		var out []string
		for _, mode := range []loci.Mode{loci.Hybrid, loci.Keyword, loci.Semantic} {
			r := recall(t, m, loci.RecallQuery{Topic: "zebra crossing", Mode: mode})
			for _, found := range r.Memories {
				out = append(out, fmt.Sprintf("%s %s %v %+v %s", mode, found.Record.ID, found.Score, found.Explain, found.Passage))
			}
		}
		both := recall(t, m, loci.RecallQuery{Topic: "zebra crossing"}).Memories[0].Explain
		if both.KeywordRank == 0 || both.SemanticRank == 0 {
			t.Errorf("ranks %+v", both)
		}
		all = append(all, out)
	})
	if len(all) != 2 || !slices.Equal(all[0], all[1]) {
		t.Errorf("the stores differ:\n%v\n%v", all[0], all[1])
	}
}

// A recalled memory says how well it fits, as a search for it would. min_score leaves out
// memories that fit less and says how many those are; other components of the score do not
// count there.
func TestRecallLeavesOutWhatDoesNotFit(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}})
		m := locitest.Bind(t, e, "u")
		for i, text := range []string{"the zebra crossing", "zebra", "a walrus", "tea at noon"} {
			locitest.StoreFact(t, m, loci.NewFact{Content: text, Importance: new(float64(3 * i))})
		}
		fits := map[string]float64{}
		for _, match := range locitest.Search(t, m, loci.Query{Text: "zebra crossing"}).Matches {
			fits[match.Record.Text] = match.Score
		}
		all := recall(t, m, loci.RecallQuery{Topic: "zebra crossing"})
		for _, found := range all.Memories {
			if found.Fit != fits[found.Record.Text] {
				t.Errorf("%q has the fit %v, and the score %v", found.Record.Text, found.Fit, fits[found.Record.Text])
			}
		}
		if len(all.Memories) != 4 || all.Unfit != 0 || recalled(all)[0] != "tea at noon" {
			t.Fatalf("without a floor %q, %d unfit", recalled(all), all.Unfit)
		}
		fit := recall(t, m, loci.RecallQuery{Topic: "zebra crossing", MinScore: fits["zebra"]})
		if got := recalled(fit); fit.Unfit != 2 || !slices.Equal(got, []string{"zebra", "the zebra crossing"}) {
			t.Errorf("with a floor %q, %d unfit", got, fit.Unfit)
		}
		block := contextOf(t, m, loci.ContextQuery{Prompt: "zebra crossing", Agent: "a", MinScore: fits["zebra"]})
		if len(block.Shown) != 2 || len(block.Omitted) != 0 || block.Unfit != 2 {
			t.Errorf("a context shows %+v, omits %+v and leaves out %d", block.Shown, block.Omitted, block.Unfit)
		}
		for _, item := range block.Shown {
			if item.Fit < fits["zebra"] {
				t.Errorf("shown with the fit %v", item.Fit)
			}
		}
		for _, least := range []float64{-0.1, 1.1, math.NaN()} {
			_, err := m.Recall(t.Context(), loci.RecallQuery{Topic: "zebra", MinScore: least})
			locitest.WantCode(t, err, loci.Invalid)
			_, err = m.Context(t.Context(), loci.ContextQuery{Prompt: "zebra", Agent: "a", MinScore: least})
			locitest.WantCode(t, err, loci.Invalid)
		}
	})
}
