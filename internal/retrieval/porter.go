package retrieval

import (
	"strings"

	"github.com/kljensen/snowball/english"
)

// The stems of English, too, are those of package snowball (Porter 2), written out for words of English letters.

var (
	englishPlurals = newEndings("sses", "ied", "ies", "us", "ss", "s")
	englishVerbs   = newEndings("eedly", "ingly", "edly", "ing", "eed", "ed")
	englishDoubles = newEndings("bb", "dd", "ff", "gg", "mm", "nn", "pp", "rr", "tt")
	englishCut     = newEndings("at", "bl", "iz")
	englishNouns   = newEndings("ational", "fulness", "iveness", "ization", "ousness", "biliti", "lessli", "tional", "alism", "aliti", "ation",
		"entli", "fulli", "iviti", "ousli", "anci", "abli", "alli", "ator", "enci", "izer", "bli", "ogi", "li")
	englishQualities = newEndings("ational", "tional", "alize", "icate", "ative", "iciti", "ical", "ful", "ness")
	englishRests     = newEndings("ement", "ance", "ence", "able", "ible", "ment", "ent", "ant", "ism", "ate", "iti", "ous", "ive",
		"ize", "ion", "al", "er", "ic")

	// englishSpecial are words that package snowball has a list of.
	englishSpecial = wordSet(`skis skies dying lying tying idly gently ugly early only singly sky news howe atlas cosmos bias andes
		inning innings outing outings canning cannings herring herrings earring earrings proceed proceeds proceeded proceeding
		exceed exceeds exceeded exceeding succeed succeeds succeeded succeeding`)
	specialGlance = glanceOf(englishSpecial)
)

// englishNounsTo is what stands in place of an ending of nouns.
var englishNounsTo = wordMap(`tional=tion enci=ence anci=ance abli=able entli=ent izer ization=ize ational ation ator=ate
	alism aliti alli=al fulness fulli=ful ousli ousness=ous iveness iviti=ive biliti bli=ble lessli=less`)

// mostEnglish is how many letters a word has that is stemmed here.
const mostEnglish = 64

// An englishWord is one that endings are taken off. A capital Y is no vowel.
type englishWord struct {
	text          string
	first, second int // see regions
}

// englishStem is the stem of an English word.
func englishStem(word string) string {
	if staysEnglish(word) || len(word) <= 2 && plainEnding(word, "abcdefghijklmnopqrstuvwxyz") {
		return word
	}
	marked := false
	for i := range len(word) {
		if !isSmallLetter(word[i]) {
			return english.Stem(word, true)
		}
		marked = marked || isConsonantY(word, i)
	}
	if len(word) <= 2 || len(word) > mostEnglish || specialGlance.may(word) && englishSpecial[word] {
		return english.Stem(word, true)
	}
	w := englishWord{text: word}
	if marked {
		w.text = withCapitalY(word)
	}
	w.first = -1
	for _, prefix := range [...]string{"gener", "commun", "arsen"} {
		if strings.HasPrefix(word, prefix) {
			w.first = len(prefix)
		}
	}
	if w.first < 0 {
		w.first = behindVowel(w.text, 0, 1, englishVowel)
	}
	w.second = behindVowel(w.text, w.first, 1, englishVowel)
	w.plural()
	w.verb()
	if n := len(w.text); n > 2 && w.text[n-1]|0x20 == 'y' && !englishVowel(w.text, n-2) {
		w.replace(1, "i")
	}
	w.noun()
	w.quality()
	w.rest()
	w.last()
	if marked {
		return strings.ToLower(w.text)
	}
	return w.text
}

// isConsonantY reports whether the letter at a place is a y that is no vowel: the first letter, or behind a vowel.
func isConsonantY(word string, at int) bool {
	return word[at] == 'y' && (at == 0 || englishVowel(word, at-1) && !(word[at-1] == 'y' && isConsonantY(word, at-1)))
}

func withCapitalY(word string) string {
	letters := []byte(word)
	for i := range letters {
		if isConsonantY(word, i) {
			letters[i] = 'Y'
		}
	}
	return string(letters)
}

func englishVowel(word string, at int) bool { return frenchVowel(word, at) }

// hasVowel reports whether one is among the first letters.
func (w *englishWord) hasVowel(letters int) bool {
	for i := range max(0, letters) {
		if englishVowel(w.text, i) {
			return true
		}
	}
	return false
}

// replace puts a text in place of the last letters.
func (w *englishWord) replace(last int, by string) {
	w.text = w.text[:len(w.text)-last] + by
	w.first, w.second = min(w.first, len(w.text)), min(w.second, len(w.text))
}

// inFirst and inSecond report whether the last letters lie in a region.
func (w *englishWord) inFirst(last int) bool  { return last <= len(w.text)-w.first }
func (w *englishWord) inSecond(last int) bool { return last <= len(w.text)-w.second }

func (w *englishWord) plural() {
	switch ending := englishPlurals.first(w.text, 0); {
	case ending == "sses":
		w.replace(2, "")
	case ending != "ies" && ending != "ied":
		if ending == "s" && w.hasVowel(len(w.text)-2) {
			w.replace(1, "")
		}
	case len(w.text) > 4:
		w.replace(2, "")
	default:
		w.replace(1, "")
	}
}

func (w *englishWord) verb() {
	ending := englishVerbs.first(w.text, 0)
	n := len(ending)
	switch {
	case ending == "eed" || ending == "eedly":
		if w.inFirst(n) {
			w.replace(n, "ee")
		}
		return
	case n == 0 || !w.hasVowel(len(w.text)-n):
		return
	}
	first, second := w.first, w.second
	w.replace(n, "")
	switch {
	case englishCut.first(w.text, 0) != "":
		w.text += "e"
	case englishDoubles.first(w.text, 0) != "":
		w.text = w.text[:len(w.text)-1]
	case w.first >= len(w.text) && w.shortSyllable(len(w.text)):
		w.text += "e"
	}
	w.first, w.second = min(first, len(w.text)), min(second, len(w.text))
}

// shortSyllable reports whether so many first letters end with a short syllable.
func (w *englishWord) shortSyllable(n int) bool {
	vowel := func(i int) bool { return englishVowel(w.text, i) }
	switch {
	case n < 2:
		return false
	case n == 2:
		return vowel(0) && !vowel(1)
	}
	return !vowel(n-1) && strings.IndexByte("wxY", w.text[n-1]) < 0 && vowel(n-2) && !vowel(n-3)
}

func (w *englishWord) noun() {
	ending := englishNouns.first(w.text, 0)
	n := len(ending)
	if n == 0 || !w.inFirst(n) {
		return
	}
	before := byte(0)
	if at := len(w.text) - n - 1; at >= 0 {
		before = w.text[at]
	}
	switch ending {
	case "li":
		if strings.IndexByte("cdeghkmnrt", before) >= 0 {
			w.replace(n, "")
		}
	case "ogi":
		if before == 'l' {
			w.replace(1, "")
		}
	default:
		w.replace(n, englishNounsTo[ending])
	}
}

func (w *englishWord) quality() {
	ending := englishQualities.first(w.text, 0)
	n := len(ending)
	if n == 0 || !w.inFirst(n) {
		return
	}
	switch ending {
	case "ative":
		if w.inSecond(n) {
			w.replace(n, "")
		}
	case "ational":
		w.replace(n, "ate")
	case "tional":
		w.replace(2, "")
	case "alize":
		w.replace(3, "")
	case "icate", "iciti", "ical":
		w.replace(n-len("ic"), "")
	default:
		w.replace(n, "")
	}
}

func (w *englishWord) rest() {
	ending := englishRests.first(w.text, 0)
	n := len(ending)
	if n == 0 || !w.inSecond(n) {
		return
	}
	if ending == "ion" {
		if at := len(w.text) - n - 1; at < 0 || w.text[at] != 's' && w.text[at] != 't' {
			return
		}
	}
	w.replace(n, "")
}

// last takes off an e, or one of two l.
func (w *englishWord) last() {
	n := len(w.text) - 1
	if w.first > n {
		return
	}
	switch {
	case w.text[n] == 'e':
		if w.second <= n || !w.shortSyllable(n) {
			w.replace(1, "")
		}
	case w.second <= n && w.text[n] == 'l' && n > 0 && w.text[n-1] == 'l':
		w.replace(1, "")
	}
}
