package retrieval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
)

// maxTermBytes bounds a term; the rest of a longer word is not looked at, so that
// a megabyte without a space is not a key of the index.
const maxTermBytes = 64

// Analyze splits a text into the terms that keyword search compares, and calls
// yield for each, in order. It is the same for what is stored and for what is
// asked, on every store:
//
//   - text is brought to NFKC and lower case, marks are taken off Latin letters
//     (Zürich = zurich);
//   - words follow Unicode's boundaries, and end at a colon and where the script
//     changes to or from one written in pairs; one with a digit or an underscore
//     stays as it is, other English words are stemmed (running = run), stop words
//     are left out;
//   - a run of Chinese, Japanese or Korean characters yields its overlapping pairs
//     and its single characters; in a query the single one only when it stands alone.
func Analyze(text string, yield func(term string)) { analyze(text, true, yield) }

func analyze(text string, singles bool, yield func(term string)) {
	text = fold(text)
	var run []rune // of CJK characters that are not yielded yet
	flush := func() {
		for i := range run {
			if singles || len(run) == 1 {
				yield(string(run[i]))
			}
			if i+1 < len(run) {
				yield(string(run[i : i+2]))
			}
		}
		run = run[:0]
	}
	end := 0 // of the last CJK token
	for it := words.FromString(text); it.Next(); {
		word := it.Value()
		for start := it.Start(); word != ""; {
			part, paired := scriptRun(word)
			word = word[len(part):]
			if paired {
				if start != end {
					flush()
				}
				run = append(run, []rune(part)...)
				end = start + len(part)
			} else if first, _ := utf8.DecodeRuneInString(part); unicode.IsLetter(first) || unicode.IsNumber(first) || isEmoji(first) {
				flush()
				yieldWords(part, yield)
			}
			start += len(part)
		}
	}
	flush()
}

// scriptRun returns the beginning of a word that is of one sort: characters that
// are searched in pairs, or others. Marks belong to what they follow.
func scriptRun(word string) (run string, paired bool) {
	for i, r := range word {
		if i == 0 {
			paired = isCJK(r)
		} else if isCJK(r) != paired && !unicode.Is(unicode.M, r) {
			return word[:i], paired
		}
	}
	return word, paired
}

// yieldWords yields the terms of a word: "due:friday" is two, and so is "l'eau",
// while in "it's" and "Anna’s" the part after the apostrophe carries no meaning.
func yieldWords(word string, yield func(term string)) {
	for word != "" {
		part := word
		i := strings.IndexAny(word, ":'’")
		if i < 0 {
			word = ""
		} else {
			_, width := utf8.DecodeRuneInString(word[i:])
			colon := word[i] == ':'
			part, word = word[:i], word[i+width:]
			if !colon && suffixes[word] {
				word = ""
			}
		}
		if term := normalTerm(part); term != "" {
			yield(term)
		}
	}
}

// suffixes are what English joins to a word with an apostrophe.
var suffixes = map[string]bool{"s": true, "t": true, "d": true, "m": true, "ll": true, "re": true, "ve": true}

// Terms returns the distinct terms of a query, in order, at most limit.
func Terms(query string, limit int) []string {
	var terms []string
	analyze(query, false, func(term string) {
		if len(terms) < limit && !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	})
	return terms
}

// normalTerm is the term of a word, or "" for a stop word.
func normalTerm(word string) string {
	if len(word) > maxTermBytes {
		cut := maxTermBytes
		for !utf8.RuneStart(word[cut]) {
			cut--
		}
		return word[:cut]
	}
	if stopWords[word] {
		return ""
	}
	for i := range len(word) {
		if c := word[i]; c < 'a' || c > 'z' {
			return word
		}
	}
	if len(word) <= 3 {
		return word
	}
	return Stem(word)
}

// fold brings text to the form in which words are compared.
func fold(text string) string {
	ascii := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(text)
	}
	text = strings.ToLower(norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD")))
	var b strings.Builder
	b.Grow(len(text))
	latin := false
	for _, r := range norm.NFD.String(text) {
		if unicode.Is(unicode.Mn, r) && latin || unicode.Is(unicode.Variation_Selector, r) {
			continue // ❤ is the same with and without the request to show it in colour
		}
		if !unicode.Is(unicode.Mn, r) {
			latin = unicode.Is(unicode.Latin, r)
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// isCJK reports whether words of r's script are written without spaces, or, as in
// Korean, joined with particles, so that pairs of characters find more.
func isCJK(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー')
}

func isEmoji(r rune) bool {
	return r >= 0x2190 && r != utf8.RuneError && unicode.Is(unicode.So, r)
}

// stopWords carry no meaning of their own in a question or a note. The list is
// short on purpose: "not", "no" and words of time and place stay searchable.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(`a an the and or but if of at by for with about to from in on
		is am are was were be been being do does did doing have has had having
		i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
		this that these those what which who whom whose when where why how
		as so than then there here can could will would shall should may might must
		just also very too some any such s t d ll m re ve`) {
		set[w] = true
	}
	return set
}()
