package index

import (
	"math"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// BM25's parameters: the saturation of repeated words and the weight of a
// passage's length. These are the ones Trotman et al. recommend; Lucene's 1.2 and
// 0.75 are for documents whose lengths differ much more (docs/adr/0009).
const (
	bm25K1 = 0.9
	bm25B  = 0.4
)

// maxQueryTerms bounds the distinct words of a query that are searched for.
const maxQueryTerms = 256

// scoreWords computes BM25 with the statistics of all shards together, and finds
// out what the phrases of the query leave over.
func (s *search) scoreWords(query string, quick bool) error {
	passages, length := 0, uint64(0)
	for _, sh := range s.shards {
		passages += sh.livePassages
		length += sh.totalLength
	}
	if passages == 0 {
		return nil
	}
	// Where all is stop words the average is 0, and so is every length.
	b := bm25{passages: float64(passages), average: max(1, float64(length)) / float64(passages)}
	q := retrieval.Parse(query, maxQueryTerms)
	if quick {
		q = retrieval.Query{Words: s.rarest(q.Words)}
	}
	lists := make([][]posting, len(s.shards))
	for _, w := range q.Words {
		for i, sh := range s.shards {
			lists[i] = nil
			if t, ok := sh.terms[w.Term]; ok {
				lists[i] = sh.postings[t]
			}
		}
		s.addLists(lists, s.holders(w.Term), w.Weight, b)
	}
	for _, prefix := range q.Prefixes {
		holders := 0
		for i, sh := range s.shards {
			lists[i] = sh.withPrefix(prefix)
			holders += len(lists[i])
		}
		s.addLists(lists, holders, 1, b)
	}
	for _, phrase := range q.Phrases {
		holders := 0
		for i, sh := range s.shards {
			lists[i] = sh.withPhrase(phrase)
			holders += len(lists[i])
		}
		s.addLists(lists, holders, 1, b)
		if err := s.restrict(phrase, lists); err != nil {
			return err
		}
	}
	return nil
}

// holders is how many passages hold a term.
func (s *search) holders(term string) (n int) {
	for _, sh := range s.shards {
		if t, ok := sh.terms[term]; ok {
			n += int(sh.holders[t])
		}
	}
	return n
}

// rarest are the words that a quick search looks for: what they cost is bounded, and
// texts that are near to one another share some of them.
func (s *search) rarest(words []retrieval.QueryWord) (rare []retrieval.QueryWord) {
	held := map[string]int{}
	for _, w := range words {
		if n := s.holders(w.Term); n > 0 && n <= loci.QuickHolders {
			held[w.Term] = n
			rare = append(rare, w)
		}
	}
	slices.SortStableFunc(rare, func(a, b retrieval.QueryWord) int { return held[a.Term] - held[b.Term] })
	return rare[:min(len(rare), loci.QuickWords)]
}

// bm25 is what all terms of a search have in common.
type bm25 struct{ passages, average float64 }

// addLists adds the scores of a term, whose postings are given by shard.
func (s *search) addLists(lists [][]posting, holders int, weight float64, b bm25) {
	if holders == 0 {
		return
	}
	weight *= math.Log(1 + (b.passages-float64(holders)+0.5)/(float64(holders)+0.5))
	for i := range s.shards {
		s.shards[i].addList(lists[i], weight, b.average)
	}
}

func (sh *scoring) addList(list []posting, weight, average float64) {
	if len(list) == 0 {
		return
	}
	sh.words = resize(sh.words, len(sh.passages))
	for _, p := range list {
		if p.count == 0 {
			continue
		}
		count := float64(p.count)
		norm := bm25K1 * (1 - bm25B + bm25B*float64(sh.passages[p.passage].length)/average)
		if sh.words[p.passage] == 0 {
			sh.touched = append(sh.touched, p.passage)
		}
		sh.words[p.passage] += weight * count * (bm25K1 + 1) / (count + norm)
	}
}
