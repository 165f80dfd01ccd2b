package retrieval

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// maxStemmed is of how many words all stems are remembered, which take about 140 bytes.
const maxStemmed = 18_000

// stemmed remembers all stems that a word of a query may have and what texts may have in its place, since
// to look them up one by one takes most of what a query of known words costs. They stand one behind the other.
var stemmed = struct {
	sync.RWMutex
	of map[string]string
}{of: map[string]string{}}

// alternateMark leads a term in what is remembered that is no stem; no term has it.
const alternateMark = '\x00'

// addForms adds to a list all stems that a word may have in a document, if they are wanted, and then what a document may
// have in place of its term.
func addForms(to []string, term, word string, stems bool) []string {
	stemmed.RLock()
	all, ok := stemmed.of[word]
	stemmed.RUnlock()
	if !ok {
		if all = formsOf(term, word); all == "" {
			return to
		}
		stemmed.Lock()
		if len(stemmed.of) >= maxStemmed {
			clear(stemmed.of)
		}
		stemmed.of[strings.Clone(word)] = all
		stemmed.Unlock()
	}
	if !stems {
		_, alternates, _ := strings.Cut(all, string(rune(alternateMark)))
		for alternate := range strings.SplitSeq(alternates, string(rune(alternateMark))) {
			if alternate != "" {
				to = append(to, alternate)
			}
		}
		return to
	}
	for all != "" {
		n := 1
		for n < len(all) && all[n] != stemMark && all[n] != alternateMark {
			n++
		}
		to, all = append(to, strings.TrimPrefix(all[:n], string(rune(alternateMark)))), all[n:]
	}
	return to
}

// formsOf is what is remembered of a word.
func formsOf(term, word string) string {
	all := stemsIn(word)
	var stems []string
	for rest := all; rest != ""; {
		n := strings.IndexByte(rest[1:], stemMark) + 1
		if n == 0 {
			n = len(rest)
		}
		stems, rest = append(stems, rest[:n]), rest[n:]
	}
	named := stems
	if utf8.RuneCountInString(word) < leastInflected {
		named = nil
	}
	or := append([]string{term}, stems...)
	for _, alternate := range withAlternates(term, named, or)[len(or):] {
		all += string(rune(alternateMark)) + alternate
	}
	return all
}

// Stem returns the stem of an English word of lower-case letters (Porter 2). It is
// safe for concurrent use.
func Stem(word string) string { return cachedStem('e', word, englishStem) }

// staysEnglish reports whether a word has no ending that the stemmer takes off, by its last letter.
func staysEnglish(word string) bool { return plainEnding(word, "abfhjkopquvwxz") }

// staysFrench reports whether a word has no ending that the stemmer takes off, by its last letter.
func staysFrench(word string) bool { return plainEnding(word, "bcdghjkmopquvw") }

// plainEnding reports whether a word is of small English letters and ends with one of some.
func plainEnding(word, letters string) bool {
	if word == "" || strings.IndexByte(letters, word[len(word)-1]) < 0 {
		return false
	}
	for i := range len(word) {
		if !isSmallLetter(word[i]) {
			return false
		}
	}
	return true
}

// ForgetStems empties what is remembered of words.
func ForgetStems() {
	forgetSketches()
	languagesTold.forget()
	stemmed.Lock()
	clear(stemmed.of)
	stemmed.Unlock()
	comparedWords.Lock()
	clear(comparedWords.of)
	comparedWords.Unlock()
	stems.Store(nil)
}
