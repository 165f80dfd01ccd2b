package index

import (
	"math"

	"github.com/loci-memory/loci/internal/gloss"
	"github.com/loci-memory/loci/internal/retrieval"
)

// A pairing looks for pairs of characters that stand for those of a query which nobody has: two that were swapped, and
// syllables of Hangul with one letter wrong.
type pairing struct {
	*search
	words   []retrieval.QueryWord
	found   []asked
	holders []int
	mended  map[int]bool
	told    func(string, []string)
}

// mendPairs changes what is found of the words of a query, and says of which.
func (s *search) mendPairs(
	words []retrieval.QueryWord, found []asked, holders []int, told func(string, []string),
) (mended map[int]bool) {
	p := pairing{s, words, found, holders, nil, told}
	tries := 0
	for i := range words {
		if _, _, ok := words[i].PairOf(); !ok || holders[i] > 0 || words[i].Weight < 1 {
			continue
		}
		if tries++; tries > mostMended {
			break
		}
		p.mend(i)
	}
	return p.mended
}

// mend looks for what a pair that nobody has may stand for.
func (p *pairing) mend(i int) {
	w := &p.words[i]
	first, second, _ := w.PairOf()
	before, after := rune(0), rune(0) // in the run
	if i > 0 && w.Follows(&p.words[i-1]) {
		before, _, _ = p.words[i-1].PairOf()
	}
	if i+1 < len(p.words) && p.words[i+1].Follows(w) {
		_, after, _ = p.words[i+1].PairOf()
	}
	switch {
	case before != 0 && p.isWrong(first): // it was looked at as the second of the pair before
	case p.isWrong(second):
		if r, ok := p.syllable(second, first, after); ok {
			p.use(i, first, r)
			if after != 0 {
				p.use(i+1, r, after)
			}
		}
	case p.isWrong(first):
		if r, ok := p.syllable(first, 0, second); ok {
			p.use(i, r, second)
		}
	case p.areSwapped(i, before, after):
		p.use(i, second, first)
		if before != 0 {
			p.use(i-1, before, second)
		}
		if after != 0 {
			p.use(i+1, first, after)
		}
	}
}

// use puts a pair in the place of a word.
func (p *pairing) use(i int, first, second rune) {
	if p.mended == nil {
		p.mended = map[int]bool{}
	}
	by := []string{string([]rune{first, second})}
	p.found[i] = p.findWord(by)
	p.holders[i], p.mended[i] = p.found[i].holders, true
	if p.told != nil {
		p.told(p.words[i].Term, by)
	}
}

// areSwapped reports whether nobody has the pairs around a pair, and somebody has those that it makes the other way
// round. Without any around it, it may be a word of its own.
func (p *pairing) areSwapped(i int, before, after rune) bool {
	first, second, _ := p.words[i].PairOf()
	return first != second && (before != 0 || after != 0) && p.holding(second, first) > 0 &&
		(before == 0 || p.holders[i-1] == 0 && p.holding(before, second) > 0) &&
		(after == 0 || p.holders[i+1] == 0 && p.holding(first, after) > 0)
}

// holding is how many passages hold a pair.
func (s *search) holding(first, second rune) int { return s.holders(string([]rune{first, second})) }

// isWrong reports whether a syllable of Hangul is in no word that is known, nor in what is searched: of all that can be
// written one in ten is in words.
func (s *search) isWrong(r rune) bool {
	return retrieval.Mistyped(r) != nil && !gloss.HasSyllable(r) && s.holders(string(r)) == 0
}

// syllable is the one that most likely was to stand in the place of another one, between two characters (0: there is
// none): the one with pairs that most passages hold.
func (s *search) syllable(wrong, before, after rune) (right rune, ok bool) {
	most := 0
	for _, r := range retrieval.Mistyped(wrong) {
		least := math.MaxInt
		if before != 0 {
			least = s.holding(before, r)
		}
		if after != 0 && least > 0 {
			least = min(least, s.holding(r, after))
		}
		if least > most {
			most, right = least, r
		}
	}
	return right, most > 0
}
