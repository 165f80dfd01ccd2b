package retrieval

import "unicode/utf8"

// PairOf are the characters of a word of a query that is a pair of them.
func (w *QueryWord) PairOf() (first, second rune, ok bool) {
	if w.made != Pair || w.run == 0 || w.Optional {
		return 0, 0, false
	}
	first, width := utf8.DecodeRuneInString(w.Term)
	second, _ = utf8.DecodeRuneInString(w.Term[width:])
	return first, second, true
}

// Syllables of Hangul are numbered by their letters.
const (
	hangulBase   = 0xAC00
	hangulFirsts = 19
	hangulVowels = 21
	hangulLasts  = 28 // none is one
	hangulAll    = hangulFirsts * hangulVowels * hangulLasts
)

// Mistyped are the syllables of Hangul that another one may have been typed for, with one letter of it wrong, missing or
// too much; nil: the character is none.
func Mistyped(syllable rune) (others []rune) {
	n := int(syllable - hangulBase)
	if n < 0 || n >= hangulAll {
		return nil
	}
	first, vowel, last := n/(hangulVowels*hangulLasts), n/hangulLasts%hangulVowels, n%hangulLasts
	add := func(first, vowel, last int) {
		if r := rune(hangulBase + (first*hangulVowels+vowel)*hangulLasts + last); r != syllable {
			others = append(others, r)
		}
	}
	for i := range hangulFirsts {
		add(i, vowel, last)
	}
	for i := range hangulVowels {
		add(first, i, last)
	}
	for i := range hangulLasts {
		add(first, vowel, i)
	}
	return others
}
