package index

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/gloss"
	"github.com/loci-memory/loci/internal/retrieval"
)

// What stands in for a word that nobody has.
const (
	mendedWeight = 0.8 // of a word that was mended, or of a compound that holds it
	mostMended   = 16  // words of a query, so that a text pasted into it costs little
	mostMeant    = 3   // words for one
	fewWords     = 3   // of a query that is no sentence: in a sentence most words that nobody has are right
)

// A meant is a word of what is searched that a word of the query may be meant for, or the stem of one.
type meant struct {
	spelling string // shown; of a stem without its mark
	term     string // of a stem; "": of all forms of the word
	distance int
	against  int // what else speaks against it, see [meant.cost]
	holders  int
}

// terms are what is looked for.
func (m *meant) terms() []string {
	if m.term != "" {
		return []string{m.term}
	}
	return retrieval.Forms(m.spelling)
}

// mend replaces the words of a query that nobody has by words that are there: the parts
// of a compound, compounds that the word is a part of, and words that are a typing error
// or two away. Which words those are depends only on the vocabulary of what is searched. What a list of
// words has in the language of a sentence is no typing error there: most words of a sentence are right.
func (s *search) mend(words []retrieval.QueryWord, q *retrieval.Query, told func(string, []string)) {
	few := !q.English && len(q.Words) <= fewWords
	var right map[string]bool
	if len(words) > 0 && !q.English && (!few || slices.ContainsFunc(q.Words, isSmall)) {
		right = gloss.Right(q.Text)
	}
	for i, w := range words {
		var found []meant
		if i < mostMended {
			found = s.meantFor(w.Spelling, q.English, few, right[w.Spelling])
		}
		if len(found) == 0 {
			s.ask(asked{in: make([]askedIn, len(s.parts))}, w.Weight, w.Weight)
			continue
		}
		var terms, shown []string
		for j := range found {
			terms = append(terms, found[j].terms()...)
			if !slices.Contains(shown, found[j].spelling) {
				shown = append(shown, found[j].spelling)
			}
		}
		slices.Sort(terms)
		s.ask(s.findWord(slices.Compact(terms)), w.Weight*mendedWeight, w.Weight)
		if told != nil {
			told(w.Spelling, shown)
		}
	}
}

// isSmall reports whether a word of a query has little weight: with one beside it a query of few words is a sentence.
func isSmall(w retrieval.QueryWord) bool { return w.Small() }

// meantFor are the words that a word may be meant for, the likeliest first. few: those in other forms, too. right: it is
// no typing error, and meant for nothing but compounds and their parts.
func (s *search) meantFor(word string, english, few, right bool) (out []meant) {
	mark := retrieval.MarkOf(word)
	edits := mark.Edits()
	if edits == 0 || retrieval.WellSpelled(word) {
		return nil
	}
	if parts := s.partsOf(word); parts != nil {
		return []meant{{spelling: parts[0]}, {spelling: parts[1]}}
	}
	var near []meant
	for i := range s.parts {
		sh := &s.parts[i]
		for n, other := range mark.Likely(sh.allMarks(), edits) {
			within := mark.Within(other)
			spelling, term := sh.spelled(uint32(n))
			if _, _, stem := retrieval.CutStem(spelling); stem || spelling == "" {
				continue
			}
			distance := edits + 1
			if mark.Near(other, edits) {
				distance = retrieval.Distance(word, spelling, edits)
			}
			if distance > edits && within && isPart(word, spelling) {
				distance = 0
			}
			if right && distance > 0 || distance > edits || slices.ContainsFunc(near, func(m meant) bool {
				return m.spelling == spelling
			}) {
				continue
			}
			m := meant{strings.Clone(spelling), "", distance, 0, s.holders(term)}
			if few {
				m.against = ease(word, spelling, distance)
			}
			near = append(near, m)
		}
	}
	if right {
		return likeliest(word, near)
	}
	if few && !slices.ContainsFunc(near, func(m meant) bool { return m.distance <= 1 }) {
		near = append(near, s.formsNear(word)...)
	}
	if len(near) == 0 {
		near = s.stemsNear(word, english)
	}
	return likeliest(word, near)
}

// How many letters a stem has at least that may be misspelt.
const (
	leastStemLetters = 4
	leastTermLetters = 6
)

// A sought is the stem of a word of the query in a language; 0: in English, as terms are.
type sought struct {
	language byte
	stem     string
	mark     retrieval.Mark
}

// stemsNear are stems that the stem of a word may be meant for: "alergies" has one of an allergy, and is none
// itself. A stem in another language than English is that of texts which are in it.
func (s *search) stemsNear(word string, english bool) (near []meant) {
	var wanted []sought
	for i, form := range retrieval.Forms(word) {
		language, stem, ok := retrieval.CutStem(form)
		if !ok {
			stem = form
		}
		least := leastStemLetters
		switch {
		case ok && english, !ok && i > 0: // only the term itself is no stem of another language
			continue
		case !ok && stem[0] < utf8.RuneSelf:
			least = leastTermLetters
		}
		if m := retrieval.MarkOf(stem); m.Edits() > 0 && utf8.RuneCountInString(stem) >= least {
			wanted = append(wanted, sought{language, stem, m})
		}
	}
	for i := range s.parts {
		sh := &s.parts[i]
		for n, mark := range sh.allMarks() {
			for _, w := range wanted {
				if !w.mark.NearStem(mark, w.mark.Edits()) {
					continue
				}
				if m, ok := s.stemNear(sh, uint32(n), &w); ok && !slices.Contains(near, m) {
					near = append(near, m)
				}
			}
		}
	}
	return near
}

// stemNear reports whether a word of a part has a stem near to one.
func (s *search) stemNear(sh *scoring, n uint32, w *sought) (meant, bool) {
	spelling, term := sh.spelled(n)
	language, stem, ok := retrieval.CutStem(spelling)
	if spelling == "" || language != w.language || stem == "" && ok {
		return meant{}, false
	}
	m := meant{spelling: stem, term: term}
	if !ok {
		m.spelling, stem = spelling, term
	}
	if stem[0] != w.stem[0] {
		return meant{}, false
	}
	if m.distance = retrieval.Distance(w.stem, stem, w.mark.Edits()); m.distance > w.mark.Edits() {
		return meant{}, false
	}
	m.spelling, m.term = strings.Clone(m.spelling), strings.Clone(m.term)
	m.holders = s.holders(term)
	return m, true
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
