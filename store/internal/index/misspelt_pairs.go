package index

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/retrieval"
)

// mendPairs looks for pairs of characters that stand for those of a query which nobody has: two that were swapped, and
// syllables of Hangul with one letter wrong. It changes what is found, and says of which words.
func (s *search) mendPairs(
	q *retrieval.Query, found []asked, holders []int, told func(string, []string),
) (mended map[int]bool) {
	use := func(i int, by ...string) {
		if mended == nil {
			mended = map[int]bool{}
		}
		found[i] = s.findWord(by)
		holders[i], mended[i] = found[i].holders, true
		if told != nil {
			told(q.Words[i].Term, by)
		}
	}
	tries := 0
	for i := 0; i < len(q.Words) && tries < mostMended; i++ {
		w := &q.Words[i]
		a, b, ok := w.PairOf()
		if !ok || holders[i] > 0 || w.Weight < 1 {
			continue
		}
		tries++
		next := i + 1
		follows := next < len(q.Words) && q.Words[next].Follows(w)
		if swapped := string([]rune{b, a}); a != b && s.holders(swapped) > 0 {
			use(i, swapped)
			continue
		}
		if follows && holders[next] == 0 { // the character between is wrong
			_, c, _ := q.Words[next].PairOf()
			if by := s.syllables(b, func(r rune) []string { return []string{string([]rune{a, r}), string([]rune{r, c})} }); len(by) > 0 {
				use(i, string([]rune{a, by[0]}))
				use(next, string([]rune{by[0], c}))
				continue
			}
		}
		before := i > 0 && w.Follows(&q.Words[i-1])
		if before && holders[i-1] == 0 {
			continue // its first character was looked at
		}
		by := s.syllables(b, func(r rune) []string { return []string{string([]rune{a, r})} })
		end := !follows
		var out []string
		if end {
			for _, r := range by {
				out = append(out, string([]rune{a, r}))
			}
		}
		if !before {
			for _, r := range s.syllables(a, func(r rune) []string { return []string{string([]rune{r, b})} }) {
				out = append(out, string([]rune{r, b}))
			}
		}
		if len(out) == 1 {
			use(i, out...)
		}
	}
	return mended
}

// syllables are those that may stand for one, if somebody has all of the pairs that they make, those that most have
// first.
func (s *search) syllables(wrong rune, pairs func(rune) []string) (right []rune) {
	held := map[rune]int{}
	for _, r := range retrieval.Mistyped(wrong) {
		least := 0
		for i, pair := range pairs(r) {
			if n := s.holders(pair); i == 0 || n < least {
				least = n
			}
			if least == 0 {
				break
			}
		}
		if least > 0 {
			held[r], right = least, append(right, r)
		}
	}
	slices.SortFunc(right, func(a, b rune) int { return cmp.Or(held[b]-held[a], cmp.Compare(a, b)) })
	return right
}
