package retrieval

import (
	"slices"
	"strings"
	"unicode"
)

// Languages beside English that words can be told of, by their codes of ISO 639-1. Those of Latin letters are in the order of languages.
const (
	German     = "de"
	French     = "fr"
	Spanish    = "es"
	Portuguese = "pt"
	Italian    = "it"
	Dutch      = "nl"
	Russian    = "ru"
	Arabic     = "ar"
	Chinese    = "zh"
	Japanese   = "ja"
	Korean     = "ko"
)

var latinCodes = []string{German, French, Spanish, Portuguese, Italian, Dutch}

// Languages are the codes of the languages of Latin letters that a text may be in, as its first words and its letters
// tell. None, and told: it is in English, as these tell. Else nothing tells.
func Languages(text string) (codes []string, told bool) {
	folded := fold(text)
	if soonEnglish(folded) {
		return nil, true
	}
	of, english := languagesAndEnglish(text, folded)
	for _, l := range of {
		codes = append(codes, latinCodes[l])
	}
	return codes, codes != nil || english
}

// LatinLanguages are the codes of all languages that [Languages] tells.
func LatinLanguages() []string { return latinCodes }

// soonEnglish reports whether a text has three small words of English before the first one of another language, which
// most English texts have: to count on would cost more than to embed them.
func soonEnglish(folded string) bool {
	for n := 0; n < 3; {
		var word string
		if word, folded = cutWord(folded); word == "" {
			return false
		}
		switch in := smallMask(word); {
		case in&^inEnglish != 0:
			return false
		case in != 0:
			n++
		}
	}
	return true
}

// StemIn is the stem of a folded word in a language.
func StemIn(code, word string) string {
	if l := slices.Index(latinCodes, code); l >= 0 {
		return languages[l].stem(word)
	}
	return foreign(word)
}

// SmallIn reports whether a folded word in a text of a language carries no meaning of its own. Words that are small in English,
// too, are so there: they tell no language.
func SmallIn(code, word string) bool {
	if l := slices.Index(latinCodes, code); l >= 0 {
		return smallLatin.may(word) && (languages[l].stop[word] || asking[word] || stopWords[word])
	}
	return smallOfScripts[word]
}

// SmallCharacters tells which characters of a run of Chinese, Japanese or Korean ones carry no meaning of their own: particles, pronouns,
// words of questions. nil: none.
func SmallCharacters(run string) []bool { return functionCharacters(run) }

// HasKana reports whether a text has a character that only Japanese is written with.
func HasKana(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.In(r, unicode.Hiragana, unicode.Katakana) })
}

// smallLatin tells of most words that they are in none of the lists of SmallIn.
var smallLatin = func() *glance {
	g := glanceOf(asking, stopWords)
	for i := range languages {
		g.add(glanceOf(languages[i].stop))
	}
	return g
}()
