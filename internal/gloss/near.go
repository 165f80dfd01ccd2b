package gloss

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// leastMisspelt is how many letters a word has at least that may be misspelt: shorter ones are near to too many.
const leastMisspelt = 5

// longestLetter is how many bytes a letter of these languages has at most, folded.
const longestLetter = 2

// misspeltIn are the languages that a query may be in if nobody knows any of its strange words: those in which one
// error makes words of most of them. A word that an error makes of an English one counts for none, nor does a name.
func misspeltIn(query string, strange []string) (codes []string) {
	named := map[string]bool{}
	for _, w := range latinWords(query) {
		named[retrieval.FoldWords(w)] = isNamed(w)
	}
	strange = slices.DeleteFunc(strange, func(w string) bool { return len(retrieval.SlipsOf(w).English()) > 0 })
	most := 0
	for _, code := range retrieval.LatinLanguages() {
		near := 0
		for _, w := range strange {
			if (code == retrieval.German || !named[w]) && lexicons[code].near(w) != "" {
				near++
			}
		}
		switch {
		case near == 0 || 2*near < len(strange) || near < most:
		case near > most:
			codes, most = []string{code}, near
		default:
			codes = append(codes, code)
		}
	}
	return codes
}

// HasSyllable reports whether a Korean word of the list has a syllable. Of all that Hangul can write few are in words.
func HasSyllable(syllable rune) bool { return syllables()[syllable] }

var syllables = sync.OnceValue(func() map[rune]bool {
	in, l := map[rune]bool{}, lexicons[retrieval.Korean]
	for i := range len(l.lines()) - 1 {
		key, _ := l.line(i)
		for _, r := range key {
			in[r] = true
		}
	}
	return in
})

// near is what the words mean that one typing error behind the first letter makes of a word, if all of them mean the
// same, and else what such stems of words mean; "": nobody knows.
func (l *lexicon) near(word string) string {
	if english, several := l.undone(word); english != "" || several {
		return english
	}
	if english := l.nearKey("", word); english != "" {
		return english
	}
	return l.nearKey(stemMark, l.stem(word))
}

// undone is what the words mean that are the word with a letter fewer, or with two swapped. Others are reached by so
// many errors that they are often there by chance. several: they mean different things.
func (l *lexicon) undone(word string) (english string, several bool) {
	if utf8.RuneCountInString(word) < leastMisspelt || len(word) > mostCompound {
		return "", false
	}
	for form := range retrieval.SlipsOf(word).Undo() {
		switch means := l.find(form); {
		case means == "", means == english:
		case english == "":
			english = means
		default:
			return "", true
		}
	}
	return english, false
}

// nearKey is near of the keys of the table that begin so.
func (l *lexicon) nearKey(mark, word string) (english string) {
	if n := utf8.RuneCountInString(word); n < leastMisspelt || n > mostCompound {
		return ""
	}
	_, first := utf8.DecodeRuneInString(word)
	beginning, lines := mark+word[:first], l.lines()
	from := sort.Search(len(lines)-1, func(i int) bool { return l.table[lines[i]:lines[i+1]] >= beginning })
	for i := from; i < len(lines)-1 && strings.HasPrefix(l.table[lines[i]:], beginning); i++ {
		key, means, _ := strings.Cut(l.table[lines[i]+int32(len(mark)):lines[i+1]-1], "=")
		switch {
		case max(len(key)-len(word), len(word)-len(key)) > longestLetter, !oneErrorApart(key, word):
		case english == "":
			english = means
		case english != means:
			return ""
		}
	}
	return english
}

// oneErrorApart reports whether a letter that is missing, too much, another one, or swapped with the next is all that
// two words differ in.
func oneErrorApart(a, b string) bool {
	x, y := []rune(a), []rune(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	swapped := len(x) == 2 && len(y) == 2 && x[0] == y[1] && x[1] == y[0]
	return len(x)+len(y) == 1 || len(x) == 1 && len(y) == 1 || swapped
}
