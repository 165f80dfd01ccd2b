package loci

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci/internal/retrieval"
)

// scored is a hit with its score.
type scored struct {
	Hit
	score   float64
	explain Explain
}

// rank fuses the signals of the hits and orders them. known is how much of the
// query the embedder knows: where it knows little, its similarities are chance.
func (e *Engine) rank(hits []Hit, mode Mode, known float64) []scored {
	weight := e.opts.Search.VectorWeight * known
	switch {
	case mode == Keyword || e.opts.Embedder == nil:
		weight = 0
	case mode == Semantic:
		weight = 1
	}
	keyword := make([]float64, len(hits))
	similarity := make([]float64, len(hits))
	anyVector := false
	for i, h := range hits {
		keyword[i], similarity[i] = h.Keyword, h.Similarity
		if mode == Hybrid {
			// A cosine below zero is chance, no opposite: scaled by least and greatest
			// value it would lift memories that have nothing to do with the query.
			similarity[i] = max(0, h.Similarity)
		}
		if !h.Embedded {
			similarity[i] = math.NaN()
		}
		anyVector = anyVector || h.Embedded
	}
	if !anyVector && mode == Hybrid {
		weight = 0 // no vector to compare with: the words decide alone
	}
	retrieval.MinMax(keyword)
	retrieval.MinMax(similarity)
	out := make([]scored, len(hits))
	for i, h := range hits {
		s := scored{Hit: h, explain: Explain{Keyword: h.Keyword, KeywordRank: h.KeywordRank, Similarity: h.Similarity,
			VectorRank: h.VectorRank, Embedded: h.Embedded,
			KeywordPart: (1 - weight) * keyword[i], VectorPart: weight * similarity[i]}}
		s.score = s.explain.KeywordPart + s.explain.VectorPart
		out[i] = s
	}
	if mode == Hybrid {
		addNeighbours(out, e.opts.Search.NeighbourShare)
	}
	slices.SortFunc(out, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

// place is where a record stands in a sequence.
type place struct {
	namespace, sequence string
	position            int64
}

// addNeighbours gives each hit a share of the score of the one before it in its
// sequence: an answer seldom repeats the words of its question. When none follows
// another, every score stays as it is; else all are brought back to [0,1] alike, so
// that those without a neighbour are compared fairly.
func addNeighbours(hits []scored, share float64) {
	if share == 0 || !slices.ContainsFunc(hits, func(h scored) bool { return h.Sequence != "" }) {
		return
	}
	at := func(h *scored, position int64) place { return place{h.Namespace.Key(), h.Sequence, position} }
	scores := map[place]float64{} // before any is changed: what was lifted lifts no other
	for i := range hits {
		if h := &hits[i]; h.Sequence != "" {
			p := at(h, h.Position)
			scores[p] = max(scores[p], h.score) // of several at one place the best
		}
	}
	found := false
	for i := range hits {
		if h := &hits[i]; h.Sequence != "" && h.Position > 0 {
			before, ok := scores[at(h, h.Position-1)]
			h.explain.NeighbourPart = share * before
			found = found || ok
		}
	}
	if !found {
		return
	}
	for i := range hits {
		x := &hits[i].explain
		for _, part := range []*float64{&x.KeywordPart, &x.VectorPart, &x.NeighbourPart} {
			*part /= 1 + share
		}
		hits[i].score = min(1, x.KeywordPart+x.VectorPart+x.NeighbourPart) // rounding aside it is never more
	}
}
