package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// What speaks against a word that a word may be meant for, in quarters of a typing error.
const (
	perError    = 4
	otherFirst  = 2 // people see the letter that a word begins with
	easilyThere = 1 // see [ease]
	otherForm   = 1 // what is there has another form than the word that is one error away
	shortStem   = 2 // of fewer letters than leastStemLetters: many words begin so
)

// cost is all that speaks against it.
func (m *meant) cost(word string) int {
	cost := m.distance*perError + m.against
	if !sameFirst(m.spelling, word) {
		cost += otherFirst
	}
	return cost
}

// sameFirst reports whether two words begin with the same letter.
func sameFirst(a, b string) bool {
	x, _ := utf8.DecodeRuneInString(a)
	y, _ := utf8.DecodeRuneInString(b)
	return x == y
}

// likeliest sorts out what a word is meant for: those that least speaks against, of these those that more memories
// hold.
func likeliest(word string, near []meant) (out []meant) {
	slices.SortFunc(near, func(a, b meant) int {
		return cmp.Or(a.cost(word)-b.cost(word), b.holders-a.holders,
			strings.Compare(a.spelling, b.spelling), strings.Compare(a.term, b.term))
	})
	for _, m := range near {
		if m.cost(word) == near[0].cost(word) && len(out) < mostMeant {
			out = append(out, m)
		}
	}
	return out
}

// ease is what speaks against a word one error away that is easily there by chance. A letter that is too much, or two
// that are swapped, can be undone in few ways; one that is missing or wrong in twenty times as many.
func ease(word, other string, distance int) int {
	n, m := utf8.RuneCountInString(word), utf8.RuneCountInString(other)
	if distance != 1 || n > m || n == m && sameLetters(word, other) {
		return 0
	}
	return easilyThere
}

// sameLetters reports whether two words have the same letters, each as often.
func sameLetters(a, b string) bool {
	if retrieval.MarkOf(a) != retrieval.MarkOf(b) { // mostly
		return false
	}
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// formsNear are words one error away that are there in another form. Of a query in English there are none: many of
// its words are right that no list has.
func (s *search) formsNear(word string) (near []meant) {
	slips := retrieval.SlipsOf(word)
	for _, known := range slips.English() {
		term, _ := retrieval.Normalize(known)
		if n := s.holders(term); n > 0 {
			near = append(near, meant{known, term, 1, ease(word, known, 1) + otherForm, n})
		}
	}
	mark, core, of := retrieval.MarkOf(word), slips.Core(), slips.TermLanguage()
	for i := range s.parts {
		sh := &s.parts[i]
		if of == 0 && !sh.hasStems() {
			continue
		}
		for n, other := range sh.allMarks() {
			if of == 0 && !mark.May(other) || of != 0 && !core.NearStem(other, 1) {
				continue
			}
			if m, ok := s.formNear(sh, uint32(n), slips); ok && !slices.Contains(near, m) {
				near = append(near, m)
			}
		}
	}
	return near
}

// formNear reports whether a word one error away has the stem that a word of a part is, or has as its term.
func (s *search) formNear(sh *scoring, n uint32, slips *retrieval.Slips) (meant, bool) {
	spelling, term := sh.spelled(n)
	language, stem, ok := retrieval.CutStem(spelling)
	of := slips.TermLanguage()
	switch {
	case spelling == "" || ok != (of == 0):
		return meant{}, false
	case !ok:
		language, stem = of, term
	}
	form, ok := slips.Form(language, stem)
	if !ok {
		return meant{}, false
	}
	against := ease(slips.Word(), form, 1) + otherForm
	if utf8.RuneCountInString(stem) < leastStemLetters {
		against += shortStem
	}
	return meant{form, strings.Clone(term), 1, against, s.holders(term)}, true
}
