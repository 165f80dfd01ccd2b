package index

import (
	"cmp"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/retrieval"
)

// What stands in for a word that nobody has.
const (
	mendedWeight = 0.8 // of a word that was mended, or of a compound that holds it
	mostMended   = 16  // words of a query, so that a text pasted into it costs little
	mostMeant    = 3   // words for one
)

// A meant is a word of what is searched that a word of the query may be meant for.
type meant struct {
	spelling string
	distance int
	holders  int
}

// mend replaces the words of a query that nobody has by words that are there: the parts
// of a compound, compounds that the word is a part of, and words that are a typing error
// or two away. Which words those are depends only on the vocabulary of what is searched.
func (s *search) mend(words []retrieval.QueryWord, told func(string, []string)) {
	for i, w := range words {
		var found []string
		if i < mostMended {
			found = s.meantFor(w.Spelling)
		}
		if len(found) == 0 {
			s.ask(asked{in: make([]askedIn, len(s.parts))}, w.Weight, w.Weight)
			continue
		}
		terms := make([]string, len(found))
		for j, spelling := range found {
			terms[j], _ = retrieval.Normalize(spelling)
		}
		slices.Sort(terms)
		s.ask(s.findWord(slices.Compact(terms)), w.Weight*mendedWeight, w.Weight)
		if told != nil {
			told(w.Spelling, found)
		}
	}
}

// meantFor are the words that a word may be meant for, the likeliest first.
func (s *search) meantFor(word string) (out []string) {
	mark := retrieval.MarkOf(word)
	edits := mark.Edits()
	if edits == 0 || retrieval.WellSpelled(word) {
		return nil
	}
	if parts := s.partsOf(word); parts != nil {
		return parts
	}
	var near []meant
	for i := range s.parts {
		sh := &s.parts[i]
		for n, other := range sh.allMarks() {
			within := mark.Within(other)
			if !within && !mark.Near(other, edits) {
				continue
			}
			spelling, term := sh.spelled(uint32(n))
			if spelling == "" {
				continue
			}
			distance := edits + 1
			if mark.Near(other, edits) {
				distance = retrieval.Distance(word, spelling, edits)
			}
			if distance > edits && within && isPart(word, spelling) {
				distance = 0
			}
			if distance > edits || slices.ContainsFunc(near, func(m meant) bool {
				return m.spelling == spelling
			}) {
				continue
			}
			near = append(near, meant{strings.Clone(spelling), distance, s.holders(term)})
		}
	}
	return likeliest(word, near)
}

// likeliest sorts out what a word is meant for: the nearest words, of these those with the
// same first letter, and those that more memories hold.
func likeliest(word string, near []meant) (out []string) {
	first := func(m meant) int {
		if m.spelling[0] == word[0] {
			return 0
		}
		return 1
	}
	slices.SortFunc(near, func(a, b meant) int {
		return cmp.Or(a.distance-b.distance, first(a)-first(b), b.holders-a.holders,
			strings.Compare(a.spelling, b.spelling))
	})
	for _, m := range near {
		if m.distance == near[0].distance && first(m) == first(near[0]) && len(out) < mostMeant {
			out = append(out, m.spelling)
		}
	}
	return out
}

// leastPart is how many bytes a part of a compound has at least.
const leastPart = 5

// isPart reports whether a compound ends or begins with a word.
func isPart(word, compound string) bool {
	return len(word) >= leastPart && (strings.HasSuffix(compound, word) || strings.HasPrefix(compound, word))
}

// partsOf are two words that are there and together are the word, with nothing between them
// or with what German puts there.
func (s *search) partsOf(word string) []string {
	for cut := len(word) - leastPart; cut >= leastPart; cut-- {
		head, tail := word[:cut], word[cut:]
		if !s.has(tail) {
			continue
		}
		for _, link := range []string{"", "s", "es", "n", "en", "-"} {
			if part, ok := strings.CutSuffix(head, link); ok && len(part) >= leastPart && s.has(part) {
				return []string{part, tail}
			}
		}
	}
	return nil
}

// has reports whether a spelling is there.
func (s *search) has(spelling string) bool {
	return slices.ContainsFunc(s.parts, func(sh scoring) bool { return sh.isWord(spelling) })
}
