package loci

import (
	"cmp"
	"math"
	"slices"
)

// How a score is made; docs/scoring.md says what each was measured on.
const (
	unrelated     = 0.15 // a cosine up to which texts have nothing in common
	alike         = 0.75 // a cosine from which texts say the same
	coveragePower = 0.5  // of how much of the query the words cover
	assistantPart = 0.7  // of its own score, for what an assistant said

	// What a hit gets of those beside it in its sequence, times NeighbourShare. An answer
	// seldom repeats the words of its question, and a question often says what its answer
	// is about. In a chat with an assistant people look for what the person said.
	shareBefore    = 1.0
	shareAfter     = 2.0 / 3
	shareTwoAway   = 1.0 / 3
	shareAnswer    = 1.0     // of the assistant's answer, for what a person said
	shareQuestion  = 1.0 / 3 // of what a person said, for the answer
	sharesTogether = 1.5     // what neighbours add at most, or nearly

	chanceFrom = -4.1 // the logit of the chance that belongs to a sum of 0
	chanceStep = 5.6  // what a sum of 1 adds to it
)

// scored is a hit with its score.
type scored struct {
	Hit
	sum     float64 // of the parts: what hits are ordered by
	score   float64 // the chance that belongs to the sum
	explain Explain
}

// rank scores the hits and orders them, best first. What a hit gets depends on the
// query, the record and its sequence, never on the other hits of the result: the same
// record has the same score whatever else is stored, but for how rare words are. known
// is how much of the query the embedder knows: where it knows little, its similarities
// are chance.
func (e *Engine) rank(hits []Hit, mode Mode, known float64) []scored {
	weight := e.opts.Search.VectorWeight * known
	switch {
	case mode == Keyword || e.opts.Embedder == nil:
		weight = 0
	case mode == Semantic:
		weight = 1
	}
	out := make([]scored, len(hits))
	for i, h := range hits {
		x := Explain{Keyword: h.Keyword, KeywordRank: h.KeywordRank,
			Similarity: h.Similarity, VectorRank: h.VectorRank, Embedded: h.Embedded}
		weight := weight
		if !h.Embedded && mode == Hybrid {
			weight = 0 // of what has no vector yet the words decide alone
		}
		x.KeywordPart = (1 - weight) * min(1, h.KeywordShare) * math.Pow(h.Covered, coveragePower)
		x.VectorPart = weight * likeness(h.Similarity, h.Embedded)
		if mode == Hybrid {
			if h.Speaker == SpeakerAssistant && e.opts.Search.NeighbourShare > 0 {
				x.KeywordPart, x.VectorPart = x.KeywordPart*assistantPart, x.VectorPart*assistantPart
			}
			x.ContextPart = e.opts.Search.ContextShare * min(1, h.Context) * h.ContextCovered
		}
		out[i] = scored{Hit: h, explain: x, sum: x.KeywordPart + x.VectorPart + x.ContextPart}
	}
	if mode == Hybrid {
		addNeighbours(out, e.opts.Search.NeighbourShare)
		// What stands in no sequence has nothing to gain there: both come to the same scale.
		most := 1 + e.opts.Search.ContextShare + sharesTogether*e.opts.Search.NeighbourShare
		for i := range out {
			if out[i].Sequence != "" {
				out[i].divide(most)
			}
		}
	}
	out = slices.DeleteFunc(out, func(s scored) bool { // it has nothing but its neighbours
		return s.KeywordRank == 0 && s.VectorRank == 0 && s.explain.KeywordPart+s.explain.VectorPart == 0
	})
	for i := range out {
		out[i].score = chance(out[i].sum)
	}
	slices.SortFunc(out, func(a, b scored) int {
		return cmp.Or(
			cmp.Compare(b.sum, a.sum), cmp.Compare(b.Keyword, a.Keyword),
			cmp.Compare(b.Similarity, a.Similarity),
			b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

// divide makes a score smaller, part by part.
func (s *scored) divide(by float64) {
	x := &s.explain
	for _, part := range []*float64{&x.KeywordPart, &x.VectorPart, &x.ContextPart, &x.NeighbourPart, &s.sum} {
		*part /= by
	}
}

// likeness scales a cosine to 0…1: from where the cosines of texts that have nothing to do
// with one another end, to where those of texts that say the same begin.
func likeness(similarity float64, embedded bool) float64 {
	if !embedded {
		return 0
	}
	return min(1, max(0, (similarity-unrelated)/(alike-unrelated)))
}

// chance is how likely a memory with such a sum of parts answers the query. The
// conversion keeps a compiler from fusing the steps, which some machines would do.
func chance(sum float64) float64 { return 1 / (1 + math.Exp(-(chanceFrom + float64(chanceStep*sum)))) }

// addNeighbours gives each hit a share of what its neighbours in their sequence have of
// their own.
func addNeighbours(hits []scored, share float64) {
	if share == 0 {
		return
	}
	at := make(map[ID]*scored, len(hits))
	own := make(map[ID]float64, len(hits))
	for i := range hits {
		at[hits[i].ID], own[hits[i].ID] = &hits[i], hits[i].sum
	}
	for i := range hits {
		h := &hits[i]
		for n, id := range h.Neighbours {
			if other := at[id]; other != nil && !id.IsZero() {
				h.explain.NeighbourPart += float64(share * neighbourShare(n, h.Speaker, other.Speaker) * own[id])
			}
		}
		h.sum += h.explain.NeighbourPart
	}
}

// neighbourShare is what a hit gets of the nth of its Neighbours.
func neighbourShare(n int, speaker, other Speaker) float64 {
	const twoBefore, before, after = 0, 1, 2
	chat := speaker != other && speaker != SpeakerUnknown && other != SpeakerUnknown
	switch {
	case chat && n == after && speaker == SpeakerPerson:
		return shareAnswer
	case chat && n == before && speaker == SpeakerAssistant:
		return shareQuestion
	case chat || speaker != SpeakerUnknown && n != before && n != after:
		return 0
	case n == before:
		return shareBefore
	case n == after:
		return shareAfter
	}
	return shareTwoAway
}
