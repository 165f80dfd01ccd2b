package loci

import (
	"cmp"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/rank"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/when"
)

// scored is a hit with its score.
type scored struct {
	*Hit
	sum     float64 // of the parts: what hits are ordered by
	score   float64 // the chance that belongs to the sum
	explain Explain
}

// ranking is how the engine scores in a mode. What an embedder knows little of is chance.
func (e *Engine) ranking(mode Mode, p *probing) rank.Settings {
	o, beside := e.opts.Search, rank.Beside(p.Vector != nil, p.known)
	s := rank.Settings{VectorWeight: o.VectorWeight * p.known, VectorsAlone: mode != Hybrid, Sequences: mode == Hybrid,
		NeighbourShare: o.NeighbourShare * beside, ContextShare: o.ContextShare * beside, OnlyTime: p.onlyTime,
		Scale: p.scale, Idle: len(p.Times) == 0 && retrieval.Idle(p.Text), OfAssistant: retrieval.OfAssistant(p.Text)}
	switch {
	case mode == Keyword || e.opts.Embedder == nil:
		s.VectorWeight = 0
	case mode == Semantic:
		s.VectorWeight = rank.Understood(p.known)
	}
	return s
}

// rank scores hits, leaves out what fits by nothing of its own, and puts the best first.
func (e *Engine) rank(hits []Hit, mode Mode, p *probing) []scored {
	all := score(hits, e.ranking(mode, p), p)
	out := slices.DeleteFunc(all, func(s scored) bool {
		x := &s.explain
		return s.Lifter || s.KeywordRank == 0 && s.VectorRank == 0 && x.KeywordPart+x.VectorPart+x.TimePart == 0
	})
	rank.Sort(out, func(s *scored) float64 { return s.sum }, func(a, b *scored) int {
		return cmp.Or(cmp.Compare(b.Keyword, a.Keyword),
			rank.First(a.Similarity, b.Similarity, a.CreatedAt, b.CreatedAt, a.ID[:], b.ID[:]))
	})
	return out
}

// Times are looked for in what the best hits say, as far as nothing else is known to be of them: texts are read for it.
const (
	mostDated      = 4000
	mostDatedBytes = 2 << 20
)

// dated are the hits in whose texts times are looked for: the best without them of those that were not made then.
func (e *Engine) dated(hits []Hit, mode Mode, p *probing) []int {
	all := score(hits, e.ranking(mode, p), p)
	return rank.Best(len(hits), mostDated, func(i int) bool {
		return !hits[i].Lifter && when.Near(p.Times, hits[i].CreatedAt) < 1
	}, func(i int) float64 { return all[i].sum })
}

// score scores hits in their order.
func score(hits []Hit, s rank.Settings, p *probing) []scored {
	named, wanted := retrieval.Names(p.respelled(p.Text)), retrieval.Wanted(p.Text)
	at := sync.OnceValue(func() map[ID]int { // most often no hit has a neighbour
		return rank.Where(hits, func(h *Hit) ID { return h.ID })
	})
	text := func(i int) rank.Text {
		h := &hits[i]
		t := rank.Text{
			KeywordShare: h.KeywordShare, Covered: h.Covered, Similarity: h.Similarity, Embedded: h.Embedded,
			Wish: h.Wish, Wanted: h.Wanted, OfOthers: h.OfOthers,
			InSequence: h.Sequence != "", Context: h.Context, ContextCovered: h.ContextCovered,
			Long: h.Long, Many: h.Many, Echo: h.Echo * rank.Understood(p.known),
			Speaker: h.Speaker, Signed: h.Signer != "", Named: named(h.Signer), Together: h.Together,
		}
		t.Answers, t.Asks, t.ToOthers = h.Traits.For(wanted)
		t.AsksYou, t.OfOneself, t.ByPronoun = h.Traits.Persons()
		if len(p.Times) > 0 {
			t.InTime = max(when.Near(p.Times, h.CreatedAt), when.Names(p.Times, h.Text, h.CreatedAt))
		}
		for n, id := range h.Neighbours {
			if t.Beside[n] = rank.None; !id.IsZero() {
				if other, found := at()[id]; found {
					t.Beside[n] = other
				}
			}
		}
		return t
	}
	s.General = len(hits) > 0 && hits[0].Long > 0 && len(p.Times) == 0 && retrieval.General(p.Text)
	out := make([]scored, len(hits))
	for i, p := range rank.ScoreEach(len(hits), text, s) {
		h := &hits[i]
		out[i] = scored{Hit: h, sum: p.Sum(), score: rank.Chance(p.Sum()), explain: Explain{
			Keyword: h.Keyword, KeywordRank: h.KeywordRank, Similarity: h.Similarity, VectorRank: h.VectorRank,
			Embedded: h.Embedded, KeywordPart: p.Keyword, VectorPart: p.Vector, ContextPart: p.Context,
			NeighbourPart: p.Neighbour, TimePart: p.Time, SignerPart: p.Signer,
		}}
	}
	return out
}

// A Claim is a sentence that [Digest] may pick, and how much it weighs beside others.
type Claim = retrieval.Claim

// Sentences cuts a text into its sentences.
func Sentences(text string) []string { return retrieval.Sentences(text) }

// Digest picks the claims that say most about the whole, the most telling first, while fits says that one more has room.
func Digest(claims []Claim, fits func(i int) bool) []int { return retrieval.Digest(claims, fits) }
