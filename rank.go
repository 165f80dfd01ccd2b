package loci

import (
	"cmp"
	"math"
	"slices"
)

// What a hit gets of the others in its sequence, as parts of Options.NeighbourShare. An
// answer seldom repeats the words of its question, and a question is often what gives
// an answer its meaning; in a chat with an assistant people look for what the person
// said, and the answer tells what that was about. docs/scoring.md has the measurements.
const (
	shareBefore   = 1.0    // of the one before
	shareAfter    = 2. / 3 // of the one after
	shareTwoAway  = 1. / 3 // of those two places away
	shareAnswer   = 1.0    // of the assistant's answer, for what a person said
	shareQuestion = 1. / 3 // of what a person said, for the answer
	assistantPart = 0.7    // of its own score, for what an assistant said
	coveragePower = 0.5    // of how much of the query the words cover
	chanceFrom    = -4.0   // the logit of a sum of 0
	chanceStep    = 6.0    // by which a sum of 1 raises it
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
	weight := *e.opts.VectorWeight * known
	embedded := slices.ContainsFunc(hits, func(h Hit) bool { return h.Embedded })
	switch {
	case mode == Keyword || e.opts.Embedder == nil || !embedded && mode == Hybrid:
		weight = 0 // the words decide alone
	case mode == Semantic:
		weight = 1
	}
	out := make([]scored, len(hits))
	for i, h := range hits {
		x := Explain{Keyword: h.Keyword, KeywordRank: h.KeywordRank, Similarity: h.Similarity, VectorRank: h.VectorRank, Embedded: h.Embedded,
			KeywordPart: (1 - weight) * min(1, h.KeywordShare) * math.Pow(h.Covered, coveragePower),
			VectorPart:  weight * e.fit(&h)}
		if mode == Hybrid {
			if h.Speaker == SpeakerAssistant {
				x.KeywordPart, x.VectorPart = x.KeywordPart*assistantPart, x.VectorPart*assistantPart
			}
			x.ContextPart = *e.opts.ContextShare * min(1, h.Context) * h.ContextCovered
		}
		out[i] = scored{Hit: h, explain: x, sum: x.KeywordPart + x.VectorPart + x.ContextPart}
	}
	if mode == Hybrid {
		addNeighbours(out, *e.opts.NeighbourShare)
	}
	for i := range out {
		out[i].score = chance(out[i].sum)
	}
	slices.SortFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.sum, a.sum), cmp.Compare(b.Keyword, a.Keyword), b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

// fit scales a cosine to 0…1: from where the embedder's cosines of texts that have
// nothing to do with one another end, to where those of texts that say the same begin.
func (e *Engine) fit(h *Hit) float64 {
	if !h.Embedded {
		return 0
	}
	from, to := 0.15, 0.75
	return min(1, max(0, (h.Similarity-from)/(to-from)))
}

// chance is how likely a memory with such a sum of parts answers the query.
func chance(sum float64) float64 { return 1 / (1 + math.Exp(-(chanceFrom + chanceStep*sum))) }

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
			if other := at[id]; other != nil {
				h.explain.NeighbourPart += share * neighbourShare(n, h.Speaker, other.Speaker) * own[id]
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
