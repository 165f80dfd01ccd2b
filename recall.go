package loci

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/lifecycle"
	"github.com/loci-memory/loci/internal/rank"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/sequence"
)

// Defaults and limits of recalling.
const (
	DefaultRecallLimit         = 20
	MaxRecallLimit             = 500
	DefaultRecallMinConfidence = ActiveConfidence
)

// RecallWeights say how much each component adds to the score of a memory. They are not negative and sum to 1.
type RecallWeights struct {
	Relevance  float64 `json:"relevance"`  // default 0.4
	Importance float64 `json:"importance"` // default 0.3
	Recency    float64 `json:"recency"`    // default 0.2
	Confidence float64 `json:"confidence"` // default 0.1
}

// MaturityWeights multiply the relevance of rules, 0 to 1 each. That of an anti-pattern stays whole: it is a warning.
type MaturityWeights struct {
	Proven      float64 `json:"proven"`      // default 1
	Established float64 `json:"established"` // default 0.9
	Candidate   float64 `json:"candidate"`   // default 0.8
}

// A RecallQuery is what [Memory.Recall] looks for.
type RecallQuery struct {
	// Topic is in plain words, with the "phrases" and begin* of [Query].Text.
	Topic string

	// Scopes: facts and rules of these scopes and of "global", and the episodes of
	// the agents of these names. Empty: all the handle may read.
	Scopes []string
	Kinds  []Kind // default: facts and rules; of [Memory.SearchMemories]: episodes too
	Mode   Mode   // default Hybrid
	Limit  int    // 1 to 500; default 20

	// MinConfidence is the least effective confidence, 0 to 1; 0: fading memories, too; nil: that of the engine, 0.2.
	MinConfidence *float64
	MinScore      float64        // a fit of at least so much, 0 to 1; 0: whatever fits best
	Where         Where          // on metadata, and on the subject and predicate of a fact
	Weights       *RecallWeights // nil: those of the engine; [Memory.SearchMemories] has its own

	Since, Until time.Time // as in [Query]

	// Touch counts a use of each memory returned. A failure to count is only logged.
	Touch bool
}

// A Recalled is a memory that [Memory.Recall] found.
type Recalled struct {
	Record     Record
	Passage    string        // the part of its text that fits best
	Score      float64       // 0 to 1
	Fit        float64       // its [Match.Score]: the chance that it answers, whatever else matters
	Confidence float64       // effective, at the moment of the query; of an episode 1
	Speaker    string        // who said it; see [Match]
	Explain    RecallExplain // how the score came about
}

// RecallExplain holds the components of a score, each 0 to 1. The score is their sum, each times its weight.
type RecallExplain struct {
	Relevance  float64 `json:"relevance"`  // fused ranks over their maximum, times Maturity
	Importance float64 `json:"importance"` // importance / 10
	Recency    float64 `json:"recency"`    // halves every 7 days since the last use; 0: never used
	Confidence float64 `json:"confidence"` // effective confidence

	Maturity     float64 `json:"maturity"`      // what the relevance was multiplied by; 1 except for rules
	SemanticRank int     `json:"semantic_rank"` // from 1; 0: not among the best Limit by similarity
	KeywordRank  int     `json:"keyword_rank"`  // from 1; 0: not among the best Limit by keyword
}

// A RecallResult is what [Memory.Recall] returns, best first.
type RecallResult struct {
	Memories    []Recalled
	Weights     RecallWeights // that the scores were made with
	Unfit       int           // how many candidates were left out for MinScore
	KeywordOnly bool          // as in [Result]
	Corrections []Correction  // as in [Result]
	Times       []NamedTime   // as in [Result]
	At          time.Time     // the moment of the query
}

// Recall finds the memories that matter for a topic: of the best Limit by keyword and the best Limit by
// similarity, those with the highest score, which weighs relevance, importance, recency of use and
// effective confidence: docs/scoring.md has the formulas. Each memory also says how well it fits by
// itself. Ties: newer first, then by id. What is superseded, expired or forgotten is never found.
func (m *Memory) Recall(ctx context.Context, q RecallQuery) (RecallResult, error) {
	if len(q.Kinds) == 0 {
		q.Kinds = []Kind{KindFact, KindRule}
	}
	result, err := m.recall(ctx, q, m.engine.now(), &probing{})
	if err == nil && q.Touch {
		m.countUses(ctx, result)
	}
	return result, err
}

// SearchMemories is Recall for a search: by relevance alone, over facts, rules and episodes, counting no use.
func (m *Memory) SearchMemories(ctx context.Context, q RecallQuery) (RecallResult, error) {
	if len(q.Kinds) == 0 {
		q.Kinds = []Kind{KindFact, KindRule, KindEpisode}
	}
	q.Weights = &RecallWeights{Relevance: 1}
	return m.recall(ctx, q, m.engine.now(), &probing{})
}

// recall ranks as of a moment.
func (m *Memory) recall(ctx context.Context, q RecallQuery, now time.Time, p *probing) (RecallResult, error) {
	f, err := m.seek(ctx, q, now, p)
	if err != nil {
		return RecallResult{}, err
	}
	found := []*sought{f}
	best, err := m.weigh(ctx, found, p, []int{f.query.Limit}, Page{})
	if err != nil {
		return RecallResult{}, err
	}
	result := found[0].result
	result.Memories = make([]Recalled, min(f.query.Limit, len(best[0])))
	for i, w := range best[0][:len(result.Memories)] {
		r := w.record
		result.Memories[i] = Recalled{Record: *r, Passage: w.passage.Of(r.Text), Score: w.total, Fit: w.score,
			Confidence: w.x.Confidence, Speaker: sequence.Speaker(r.Attributes), Explain: w.x}
	}
	return result, nil
}

// A sought is what a store found for a query, before any of it is read.
type sought struct {
	query  RecallQuery
	filter Filter
	hits   []scored
	result RecallResult // without memories
}

// seek asks the store once.
func (m *Memory) seek(ctx context.Context, q RecallQuery, now time.Time, p *probing) (f *sought, err error) {
	words, err := m.checkRecall(&q)
	if err == nil {
		_, err = m.candidates(ctx, words, p, func(Probe) (_ []Hit, err error) {
			f, err = m.ask(ctx, q, words.Mode, now, p)
			return nil, err
		})
	}
	return f, err
}

// ask asks the store by a checked query, as part of [Memory.candidates]: several may ask for one topic.
func (m *Memory) ask(ctx context.Context, q RecallQuery, mode Mode, now time.Time, p *probing) (*sought, error) {
	f := m.readable(now, q.Kinds...)
	f.MinConfidence, f.Where, f.Since, f.Until = *q.MinConfidence, q.Where, q.Since, q.Until
	p.corrections = nil
	hits, err := m.matchScopes(ctx, p.Probe, f, q)
	if err != nil {
		return nil, err
	}
	all := score(hits, m.engine.ranking(mode, p), p)
	return &sought{q, f, all, RecallResult{Weights: *q.Weights, At: now,
		KeywordOnly: p.keywordOnly, Corrections: p.corrections, Times: p.Times}}, nil
}

// A weighed is a hit with its record and the score that recall gives it.
type weighed struct {
	*scored
	record  *Record
	passage Span // that fits best
	x       RecallExplain
	total   float64
}

// weigh reads what was found, of different kinds, all at once, and orders of each what is among the best limit by a signal.
func (m *Memory) weigh(
	ctx context.Context, found []*sought, p *probing, limits []int, page Page,
) (best [][]*weighed, err error) {
	for attempt := 0; ; attempt++ {
		var all []*scored
		filter, read := found[0].filter, make([][]weighed, len(found))
		filter.Kinds, best = nil, make([][]*weighed, len(found))
		for i, f := range found {
			var ranked []scored
			ranked, f.result.Unfit = fitting(f.hits, limits[i], f.query.MinScore)
			all, filter.Kinds = rank.Pointers(all, ranked), append(filter.Kinds, f.query.Kinds...)
			read[i] = make([]weighed, 0, len(ranked))
		}
		stale, err := m.load(ctx, filter, page, all, func(h *scored, r *Record, passage Span) {
			i := slices.IndexFunc(found, func(f *sought) bool { return slices.Contains(f.query.Kinds, r.Kind) })
			read[i] = append(read[i], weighed{scored: h, record: r, passage: passage})
		})
		again := stale && attempt < 3 // a record has changed since: ask again
		for i := 0; i < len(found) && err == nil; i++ {
			if f := found[i]; again {
				found[i], err = m.seek(ctx, f.query, f.result.At, p)
			} else {
				best[i], err = m.engine.compose(read[i], f.result.Weights, limits[i], f.result.At)
			}
		}
		if err != nil || !again {
			return best, err
		}
	}
}

// checkRecall checks a query and fills in its defaults.
func (m *Memory) checkRecall(q *RecallQuery) (Query, error) {
	setDefault(&q.Limit, DefaultRecallLimit)
	setDefault(&q.MinConfidence, &m.engine.opts.Recall.MinConfidence)
	setDefault(&q.Weights, &m.engine.opts.Recall.Weights)
	for _, kind := range q.Kinds {
		if err := memoryKind(kind); err != nil {
			return Query{}, err
		}
	}
	for _, scope := range q.Scopes {
		if err := CheckLabel("scope", scope); err != nil {
			return Query{}, err
		}
	}
	switch {
	case strings.TrimSpace(q.Topic) == "":
		return Query{}, Errorf(Invalid, "query must not be empty")
	case q.Limit < 1 || q.Limit > MaxRecallLimit:
		return Query{}, Errorf(Invalid, "limit is %d; it must be 1 to %d", q.Limit, MaxRecallLimit)
	case !(*q.MinConfidence >= 0 && *q.MinConfidence <= 1):
		return Query{}, Errorf(Invalid, "min_confidence is %v; it must be 0 to 1", *q.MinConfidence)
	}
	words := Query{Text: q.Topic, Mode: q.Mode, Limit: q.Limit, MinScore: q.MinScore,
		Scopes: q.Scopes, Kinds: q.Kinds, Since: q.Since, Until: q.Until}
	err := cmp.Or(q.Weights.check("weights"), words.Check())
	return words, err
}

// matchScopes asks the store for the best Limit by each signal. The scope of an episode is its agent, which "global"
// does not stand for, so that episodes are asked for apart.
func (m *Memory) matchScopes(ctx context.Context, p Probe, f Filter, q RecallQuery) ([]Hit, error) {
	match := func(f Filter) ([]Hit, error) { return m.engine.store.Match(ctx, m.view.Tenant, p, f, q.Limit) }
	if len(q.Scopes) == 0 {
		return match(f)
	}
	var hits []Hit
	shared, own := f, f
	shared.Kinds = slices.DeleteFunc(slices.Clone(f.Kinds), func(k Kind) bool { return k == KindEpisode })
	shared.Scopes = append([]string{GlobalScope}, q.Scopes...)
	own.Kinds, own.Scopes = []Kind{KindEpisode}, q.Scopes
	if len(q.Scopes) > 1 {
		own.Scopes = slices.DeleteFunc(slices.Clone(q.Scopes), func(s string) bool { return s == GlobalScope })
	}
	for _, part := range []Filter{shared, own} {
		asked := func(k Kind) bool { return slices.Contains(f.Kinds, k) }
		if len(part.Scopes) == 0 || !slices.ContainsFunc(part.Kinds, asked) {
			continue
		}
		more, err := match(part)
		if err != nil {
			return nil, err
		}
		hits = append(more, hits...) // those of one question stay where they are
	}
	return hits, nil
}

// fitting ranks hits by each signal and leaves out what is among the best limit by neither, and of the others, which it
// counts, those with less than some score. Hits of several questions to the store are ranked as those of one: what a
// store scores does not depend on the filter. What fits takes the place of the hits.
func fitting(hits []scored, limit int, least float64) (fit []scored, unfit int) {
	by := func(place func(s *scored) int, score func(s *scored) float64) []int {
		return rank.Places(hits, limit, place, func(a, b *scored) int {
			return rank.First(score(a), score(b), a.CreatedAt, b.CreatedAt, a.ID[:], b.ID[:])
		})
	}
	words := by(func(s *scored) int { return s.KeywordRank }, func(s *scored) float64 { return s.Keyword })
	vectors := by(func(s *scored) int { return s.VectorRank }, func(s *scored) float64 { return s.Similarity })
	fit = hits[:0]
	for i := range hits {
		s, x := &hits[i], Explain{KeywordRank: words[i], VectorRank: vectors[i]}
		switch {
		case x.KeywordRank == 0 && x.VectorRank == 0:
			continue
		case s.score < least:
			unfit++
			continue
		case x.KeywordRank == 0 || x.VectorRank > 0 && x.VectorRank < x.KeywordRank:
			x.VectorPart = 1 // the better list decides which passage is shown
		}
		fit = append(fit, scored{Hit: s.Hit, score: s.score, explain: x})
	}
	return fit, unfit
}

// compose scores what was found among the best limit by each signal, and puts the best first.
func (e *Engine) compose(all []weighed, w RecallWeights, limit int, now time.Time) ([]*weighed, error) {
	for i := range all {
		o := &all[i]
		r, x := o.record, &o.x
		*x = RecallExplain{SemanticRank: o.explain.VectorRank, KeywordRank: o.explain.KeywordRank,
			Recency: Recency(r.UsedAt, now), Confidence: r.Decay.At(now), Maturity: e.maturityWeight(r)}
		importance, err := importanceOf(r)
		if err != nil {
			return nil, err
		}
		x.Importance = importance / MaxImportance
		x.Relevance = x.Maturity * Relevance(x.SemanticRank, x.KeywordRank, limit)
		o.total = w.Score(*x)
	}
	return rank.Ordered(all, func(o *weighed) float64 { return o.total }, compareWeighed), nil // each is large
}

func compareWeighed(a, b *weighed) int {
	return rank.First(a.total, b.total, a.CreatedAt, b.CreatedAt, a.ID[:], b.ID[:])
}

// Score is the sum of the components, each times its weight.
func (w RecallWeights) Score(x RecallExplain) float64 {
	// The conversions keep a compiler from fusing the steps, which some machines
	// would do and others not: a score is the same everywhere.
	return float64(w.Relevance*x.Relevance) + float64(w.Importance*x.Importance) +
		float64(w.Recency*x.Recency) + float64(w.Confidence*x.Confidence)
}

// Relevance fuses two ranks, from 1, into 0 to 1 by reciprocal rank fusion with the usual constant 60 (Cormack et al.,
// 2009) over its maximum 2/61. A rank of 0, for a memory that the list of the best limit lacks, counts as limit+1.
func Relevance(semanticRank, keywordRank, limit int) float64 {
	return retrieval.Fused(semanticRank, keywordRank, limit)
}

// Recency is 1 at the moment a memory was used and halves every 7 days after. 0: it never was.
func Recency(used, now time.Time) float64 { return lifecycle.Halved(used, now, 7*24*time.Hour) }

// maturityWeight is what the relevance of a record is multiplied by.
func (e *Engine) maturityWeight(r *Record) float64 {
	if r.Kind == KindRule {
		switch w := e.opts.Recall.Maturity; Maturity(r.Status) {
		case Proven:
			return w.Proven
		case Established:
			return w.Established
		case Candidate:
			return w.Candidate
		}
	}
	return 1
}

// importanceOf reads the importance of a fact or an episode, and no more of it; a rule has the default.
func importanceOf(r *Record) (importance float64, err error) {
	switch r.Kind {
	case KindRule:
		return DefaultImportance, nil
	case KindFact:
		importance = DefaultImportance // facts of early builds name none
	}
	if err := jsonguard.Member(r.Body, "importance", &importance); err != nil {
		return 0, &Error{Code: Internal, Op: "read importance", Err: err}
	}
	return importance, nil
}
