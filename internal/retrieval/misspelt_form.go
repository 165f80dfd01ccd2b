package retrieval

import (
	"iter"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Slips finds what a word with one typing error may have been, by stems: a typing error in an ending, or that an
// ending begins with, gives a word another stem, and a short stem is soon near to others. So a stem fits if a word has
// it that is one error away.
type Slips struct {
	word     string
	letters  []rune
	alphabet string
	undone   map[byte]map[string]string // words with a letter fewer or two swapped, by language and stem
}

// SlipsOf are those of a folded word.
func SlipsOf(word string) *Slips {
	s := &Slips{word: word, letters: []rune(word), undone: map[byte]map[string]string{}}
	first, _ := utf8.DecodeRuneInString(word)
	s.alphabet = alphabetOf(first)
	return s
}

// Word is the word itself.
func (s *Slips) Word() string { return s.word }

// Alphabets of what is typed in place of something else, folded.
const (
	latinAlphabet    = "abcdefghijklmnopqrstuvwxyz"
	cyrillicAlphabet = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
	arabicAlphabet   = "ابتثجحخدذرزسشصضطظعغفقكلمنهوي"
)

// alphabetOf is that of a letter; "": of a script whose words have no stems.
func alphabetOf(first rune) string {
	switch {
	case strings.ContainsRune(latinAlphabet, first):
		return latinAlphabet
	case first >= 0x400 && first < 0x530:
		return cyrillicAlphabet
	case first >= 0x600 && first < 0x700:
		return arabicAlphabet
	}
	return ""
}

// The languages of stems that are terms themselves, beside those of [CutStem].
const (
	RussianStems = 'r'
	ArabicStems  = 'a'
)

// TermLanguage is the language of the stems that the terms of words of the script are; 0: they are none, or English.
func (s *Slips) TermLanguage() byte {
	switch s.alphabet {
	case cyrillicAlphabet:
		return RussianStems
	case arabicAlphabet:
		return ArabicStems
	}
	return 0
}

// stemFunc is what makes the stems of a language; nil: there are none.
func stemFunc(language byte) func(word string) string {
	switch language {
	case RussianStems:
		return russianSnowball
	case ArabicStems:
		return arabicStem
	}
	for l := range languages {
		if languages[l].mark == language {
			return languages[l].stem
		}
	}
	return nil
}

// leastForm is how many letters a word has at least that another is taken for by its stem, and leastFormStem how many
// that stem.
const (
	leastForm     = 5
	leastFormStem = 3
)

// Core is the mark of what an error in the word, or an ending, leaves of it: words that it may be meant for have most
// of its letters.
func (s *Slips) Core() Mark {
	return MarkOf(string(s.letters[:max(leastMisspelt-1, len(s.letters)-mostEnding)]))
}

// May reports whether a stem with a mark may be that of a word that this one, with the mark m, is meant for.
func (m Mark) May(stem Mark) bool {
	const mask = 1<<markLetters - 1
	n := stem.letters()
	return n >= leastFormStem && n <= m.letters()+1 && n+mostFormEnding >= m.letters() &&
		bits.OnesCount32(uint32(stem&mask&^m)) <= 1
}

// mostFormEnding is how many letters a word may have behind its stem, with one error.
const mostFormEnding = 6

// Form is a word one typing error away that has a stem in a language.
func (s *Slips) Form(language byte, stem string) (form string, ok bool) {
	stemmed := stemFunc(language)
	if stemmed == nil || utf8.RuneCountInString(stem) < leastFormStem {
		return "", false
	}
	fits := func(form string) bool { return utf8.RuneCountInString(form) >= leastForm && stemmed(form) == stem }
	if form := s.undoneAs(language, stemmed)[stem]; form != "" {
		return form, true
	}
	if !s.mayBegin(stem) { // most, and what follows takes longer
		return "", false
	}
	t := []rune(stem)
	same := 0
	for same < len(t) && same < len(s.letters) && t[same] == s.letters[same] {
		same++
	}
	if same == len(t) {
		return s.inEnding(len(t), fits)
	}
	rest := s.letters[same:]
	for _, skip := range [][2]int{{1, 1}, {1, 0}, {0, 1}} { // another letter, too many, too few
		if skip[0] > len(rest) || same+skip[1] > len(t) {
			continue
		}
		if behind, ok := cutRunes(rest[skip[0]:], t[same+skip[1]:]); ok {
			if form := stem + string(behind); fits(form) {
				return form, true
			}
		}
	}
	return "", false
}

// mayBegin reports whether the beginnings of the word and of a stem are one error apart.
func (s *Slips) mayBegin(stem string) bool {
	first, size := utf8.DecodeRuneInString(stem)
	second, _ := utf8.DecodeRuneInString(stem[size:])
	a, b := s.letters[0], s.letters[min(1, len(s.letters)-1)]
	return first == a || first == b || second == b || second == a
}

// cutRunes is what follows a beginning.
func cutRunes(text, beginning []rune) (rest []rune, ok bool) {
	if len(text) < len(beginning) || string(text[:len(beginning)]) != string(beginning) {
		return nil, false
	}
	return text[len(beginning):], true
}

// inEnding is Form where the word begins with the n letters of the stem: another letter in the ending, or one more.
func (s *Slips) inEnding(n int, fits func(string) bool) (form string, ok bool) {
	for at := n; at <= len(s.letters); at++ {
		before := string(s.letters[:at])
		for _, r := range s.alphabet {
			if form := before + string(r) + string(s.letters[at:]); fits(form) {
				return form, true
			}
			if at == len(s.letters) {
				continue
			}
			if form := before + string(r) + string(s.letters[at+1:]); fits(form) {
				return form, true
			}
		}
	}
	return "", false
}

// undoneAs are the words with a letter fewer, or with two swapped, by their stems in a language.
func (s *Slips) undoneAs(language byte, stemmed func(string) string) map[string]string {
	if of, ok := s.undone[language]; ok {
		return of
	}
	of := map[string]string{}
	for form := range s.Undo() {
		if utf8.RuneCountInString(form) >= leastForm-1 {
			if stem := stemmed(form); of[stem] == "" {
				of[stem] = form
			}
		}
	}
	s.undone[language] = of
	return of
}

// Undo yields the word with two neighbours swapped, and with a letter fewer.
func (s *Slips) Undo() iter.Seq[string] {
	return func(yield func(string) bool) {
		other := make([]rune, len(s.letters))
		for at := 0; at+1 < len(s.letters); at++ {
			if s.letters[at] == s.letters[at+1] {
				continue
			}
			copy(other, s.letters)
			other[at], other[at+1] = other[at+1], other[at]
			if !yield(string(other)) {
				return
			}
		}
		for at := range s.letters {
			if at > 0 && s.letters[at] == s.letters[at-1] {
				continue
			}
			if !yield(string(append(append(other[:0], s.letters[:at]...), s.letters[at+1:]...))) {
				return
			}
		}
	}
}

// English are the English words one typing error away, of those that are known.
func (s *Slips) English() (words []string) {
	if s.alphabet != latinAlphabet || !isLatinWord(s.word) {
		return nil
	}
	see := func(word string) {
		if len(word) >= leastMisspelt && WellSpelled(word) && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for form := range s.Undo() {
		see(form)
	}
	room := make([]byte, 0, len(s.word)+utf8.UTFMax)
	for at := 0; at <= len(s.word); at++ {
		for _, r := range []byte(s.alphabet) {
			room = append(append(append(room[:0], s.word[:at]...), r), s.word[at:]...)
			see(string(room))
			if at < len(s.word) {
				room = append(append(append(room[:0], s.word[:at]...), r), s.word[at+1:]...)
				see(string(room))
			}
		}
	}
	return words
}
