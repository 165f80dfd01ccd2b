package retrieval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// General reports whether a query has nothing of anybody: "Explain inflation", "Fix the failing test". It names nobody,
// speaks neither of the one who asks nor of another, asks for nothing that was said or done, and has no name of a thing
// such as `user_id`. Only queries in English are told so: other languages leave pronouns out.
func General(query string) bool {
	if strings.ContainsAny(query, `"“”*`) || InOtherScript(query) {
		return false
	}
	q := Query{Text: fold(query)}
	if _, others, english := countSmall(q.Text); others > english {
		return false
	}
	notLetter := func(r rune) bool { return !unicode.IsLetter(r) }
	words := 0
	for word := range strings.FieldsFuncSeq(q.Text, notLetter) {
		words++
		lower := strings.ToLower(word)
		if firstPerson[lower] || thirdPerson[lower] || themselves[lower] {
			return false
		}
	}
	return words > 0 && !slices.ContainsFunc(strings.Fields(q.Text), isIdentifier) && len(q.names(isAcronym)) == 0 &&
		aimOf(query) != ForRecord
}

// themselves are words for the one who asks, as agents call him, and for others.
var themselves = wordSet("user users user's they them their theirs")

// isAcronym reports whether a word has several capitals: it names a thing, such as JSON.
func isAcronym(word string) bool {
	_, size := utf8.DecodeRuneInString(word)
	return strings.ContainsFunc(word[size:], unicode.IsUpper)
}

// isIdentifier reports whether a word has letters with digits or with an underscore between them, as what programs
// and people give a name.
func isIdentifier(word string) bool {
	digit, letter := strings.ContainsAny(word, "0123456789_"), strings.ContainsFunc(word, unicode.IsLetter)
	return digit && letter
}

// Named are the terms of the words of a query that are likely names: those with a capital inside of a sentence, or
// with an "'s" behind them.
func (q *Query) Named() (terms []string) { return q.names(func(string) bool { return false }) }

// names are such terms, without those of some words.
func (q *Query) names(but func(word string) bool) (terms []string) {
	opening := true
	for word := range strings.FieldsSeq(q.Text) {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
		bare, ofOne := strings.CutSuffix(strings.ReplaceAll(bare, "’", "'"), "'s")
		first, _ := utf8.DecodeRuneInString(bare)
		if unicode.IsUpper(first) && (!opening || ofOne) && allLetters(bare) && !but(bare) {
			if term, stop := Normalize(strings.ToLower(bare)); !stop && !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		last, _ := utf8.DecodeLastRuneInString(word)
		opening = strings.ContainsRune(".!?:", last)
	}
	return terms
}
