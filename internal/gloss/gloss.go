// Package gloss tells what words of other languages than English mean, in English: for an embedder that has learnt
// English alone. It knows some thousand everyday words of each language, in lists that words/README.md describes,
// and finds them in the forms that texts have.
package gloss

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// A Word is a part of a text.
type Word struct {
	Text    string // a word, folded; or, if In is "", all that stands between words of other languages, as it is
	In      string // the code of the language it is in, as of package retrieval; "": English, or nobody knows
	English string // what it means, in a few words, or two such meanings with [Or] between; "": nobody knows
	Asks    bool   // it is what a question asks with, such as "when"
	Small   bool   // it carries no meaning of its own
	Guessed bool   // it is misspelt, and English is what the word means that it stands for
}

// Spelled reports whether letters of Latin scripts spell the word: a vocabulary of pieces can make something of it.
func (w *Word) Spelled() bool {
	first, _ := utf8.DecodeRuneInString(w.Text)
	return w.In == "" || scriptOf(first) == latin
}

// Words returns the parts of a text in order, or nil if nothing in it seems to be in another language than English.
// english reports whether a folded word of Latin letters is one of English.
func Words(text string, english func(word string) bool) []Word { return words(text, english, false) }

// Asked are [Words] of what somebody looks for. A word that nobody knows may be a misspelt one there: it means what the only
// word means that is one typing error away.
func Asked(text string, english func(word string) bool) []Word { return words(text, english, true) }

func words(text string, english func(word string) bool, asked bool) []Word {
	codes, told := retrieval.Languages(text)
	if !told && codes == nil {
		codes = likely(text, english, asked)
	}
	if codes == nil && !strings.ContainsFunc(text, tells) {
		return nil
	}
	r := reader{words: []Word{}, kana: strings.ContainsFunc(text, isKana), asked: asked}
	for text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		s := scriptOf(first)
		run := text[:endOf(s, text)]
		text = text[len(run):]
		switch s {
		case latin:
			r.readLatin(run, codes)
		case han:
			r.readCharacters(retrieval.FoldWords(run))
		case hangul:
			r.readKorean(retrieval.FoldWords(run))
		case cyrillic:
			r.readWord(retrieval.FoldWords(run), isNamed(run), lexicons[retrieval.Russian])
		case arabicLetters:
			r.readWord(retrieval.FoldWords(run), false, lexicons[retrieval.Arabic])
		}
	}
	return r.words
}

// likely are the languages that a folded text without small words is in: at least half of its words are none of
// English, and at least half of those mean something in one of them. nil: it is English.
func likely(text string, english func(word string) bool, asked bool) []string {
	words := latinWords(retrieval.FoldWords(text))
	if len(words) > mostLikely {
		return nil
	}
	strange := slices.DeleteFunc(slices.Clone(words), english)
	if len(strange) == 0 || 2*len(strange) < len(words) {
		return nil
	}
	l, _, known := best(strange, retrieval.LatinLanguages())
	switch {
	case 2*known >= len(strange):
		return []string{l.code}
	case asked && known == 0:
		return misspeltIn(text, strange)
	}
	return nil
}

// mostLikely is how many words a text without a small one has at most: more are a list, or code.
const mostLikely = 16

// latinWords are the words of a folded text.
func latinWords(folded string) (words []string) {
	begin := -1
	for at := 0; at < len(folded); {
		r, size := rune(folded[at]), 1
		within := r < utf8.RuneSelf && inWord[r]
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(folded[at:])
			within = unicode.IsLetter(r) || unicode.IsDigit(r)
		}
		switch {
		case within && begin < 0:
			begin = at
		case !within && begin >= 0:
			if words == nil { // words have six letters or so
				words = make([]string, 0, 1+(len(folded)-begin)/7)
			}
			words, begin = append(words, folded[begin:at]), -1
		}
		at += size
	}
	if begin >= 0 {
		words = append(words, folded[begin:])
	}
	return words
}

// inWord says which characters of ASCII are letters and digits. Package strings asks tables of Unicode for each.
var inWord = func() (in [utf8.RuneSelf]bool) {
	for r := range in {
		in[r] = unicode.IsLetter(rune(r)) || unicode.IsDigit(rune(r))
	}
	return in
}()

// best is the lexicon of those of some languages that knows most of some words, what each means there, and how many
// it knows.
func best(words, codes []string) (l *lexicon, means []meaning, most int) {
	most = -1
	hashes := make([]uint64, len(words)) // the same in all languages
	for i, w := range words {
		hashes[i] = hashOf(w)
	}
	var spare []meaning // of one that knew fewer
	for _, code := range codes {
		known, looked, in := 0, spare, lexicons[code]
		if looked == nil {
			looked = make([]meaning, len(words))
		}
		for i, w := range words {
			if looked[i] = in.lookHashed(w, hashes[i]); looked[i].english != "" {
				known++
			}
		}
		if spare = looked; known > most {
			l, spare, means, most = in, means, looked, known
		}
	}
	return l, means, most
}

// tells reports whether a letter alone tells that a text is in another language.
func tells(r rune) bool { return r >= 0x400 && scriptOf(r) != latin }

// A script is what words are cut by.
type script uint8

const (
	latin script = iota // and all that is none of the others: signs, white space, scripts that are not known
	han                 // and the two of Japanese beside it
	hangul
	cyrillic
	arabicLetters
)

// What scripts remembers of a character beside its script.
const (
	isOfKana  = 1 << 8
	isAnyMark = 1 << 9
	isKnown   = 1 << 10
)

// scripts remembers what each character of a text is asked for: to look into five tables takes longer than to embed it.
var scripts = retrieval.NewCharacters(func(r rune) uint64 {
	known := isKnown | uint64(lookScript(r))
	if unicode.In(r, unicode.Hiragana, unicode.Katakana) {
		known |= isOfKana
	}
	if unicode.IsMark(r) {
		known |= isAnyMark
	}
	return known
})

func scriptOf(r rune) script {
	if r < 0x400 {
		return latin
	}
	return script(scripts.Of(r))
}

func lookScript(r rune) script {
	switch {
	case r < 0x400:
	case r == 'ー', unicode.Is(unicode.Han, r), unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return han
	case unicode.Is(unicode.Hangul, r):
		return hangul
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.Is(unicode.Arabic, r) && unicode.In(r, unicode.L, unicode.M):
		return arabicLetters
	}
	return latin
}

// endOf is where the run of a script ends that a text begins with. Marks belong to what they follow.
func endOf(s script, text string) int {
	for i, r := range text {
		if scriptOf(r) != s && scripts.Of(r)&isAnyMark == 0 {
			return i
		}
	}
	return len(text)
}

func isKana(r rune) bool { return r >= 0x400 && scripts.Of(r)&isOfKana != 0 }

// A reader collects the words of a text.
type reader struct {
	words []Word
	kana  bool // the text has some: it is Japanese
	asked bool // its words may be misspelt
}

// readWord reads a word that stands alone, and may be a name. One of German or Dutch that is not known may be two in one.
func (r *reader) readWord(word string, name bool, l *lexicon) {
	if r.asked {
		if english := questions[l.code][word]; english != "" {
			r.words = append(r.words, Word{Text: word, In: l.code, English: english, Asks: true})
			return
		}
	}
	r.addWord(word, l.look(word).english, name, l)
}

// addWord adds a word that means what the lexicon says of it.
func (r *reader) addWord(word, english string, name bool, l *lexicon) {
	w := Word{Text: word, In: l.code, English: english, Small: retrieval.SmallIn(l.code, word)}
	if w.English == "" && !w.Small && (l.code == retrieval.German || l.code == retrieval.Dutch) {
		w.English = l.compound(word)
	}
	if r.asked && w.English == "" && !w.Small && !name {
		w.English = l.near(word)
		w.Guessed = w.English != ""
	}
	r.words = append(r.words, w)
}

// isNamed reports whether a word has a capital as names have. Where a sentence begins every word has one, but there a
// question mostly has a small word.
func isNamed(word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(first)
}

// readLatin reads what stands between words of other scripts, in one of some languages.
func (r *reader) readLatin(text string, codes []string) {
	written := latinWords(text)
	switch {
	case len(written) == 0:
		return
	case codes == nil:
		r.words = append(r.words, Word{Text: text})
		return
	}
	words := latinWords(retrieval.FoldWords(text))
	l, means, _ := best(words, codes)
	r.words = slices.Grow(r.words, len(words))
	for at := 0; at < len(words); {
		rest := words[at:]
		if r.asked {
			if n, english := l.questionOf(rest); n > 0 {
				asking := strings.Join(rest[:n], " ")
				r.words = append(r.words, Word{Text: asking, In: l.code, English: english, Asks: true})
				at += n
				continue
			}
		}
		n, english := l.phrase(rest, means[at])
		if n == 0 {
			from := len(written) - len(rest)
			name := l.code != retrieval.German && from >= 0 && isNamed(written[from]) // in German all nouns have a capital
			r.addWord(rest[0], means[at].english, name, l)
			n = 1
		} else {
			r.words = append(r.words, Word{Text: strings.Join(rest[:n], " "), In: l.code, English: english})
		}
		at += n
	}
}

// readCharacters reads characters of Chinese or Japanese, the longest word first. Those between that no word has are one
// word; small letters of Japanese that begin no word are endings and particles.
func (r *reader) readCharacters(run string) {
	l := lexicons[retrieval.Chinese]
	if r.kana {
		l = lexicons[retrieval.Japanese]
	}
	small := retrieval.SmallCharacters(run)
	unknown := 0 // where what no word has begins
	flush := func(end int) {
		if unknown < end {
			r.words = append(r.words, Word{Text: run[unknown:end], In: l.code})
		}
	}
	for at, n := 0, 0; at < len(run); n++ {
		first, size := utf8.DecodeRuneInString(run[at:])
		if r.asked {
			if phrase, english := l.question(run[at:]); phrase != "" {
				flush(at)
				r.words = append(r.words, Word{Text: phrase, In: l.code, English: english, Asks: true})
				n += utf8.RuneCountInString(phrase) - 1
				at += len(phrase)
				unknown = at
				continue
			}
		}
		word, english := l.longest(run[at:])
		isSmall := small != nil && small[n] && len(word) <= size
		switch {
		case isSmall || word == "" && unicode.Is(unicode.Hiragana, first):
			flush(at)
			unknown = at + size
		case word != "":
			flush(at)
			r.words = append(r.words, Word{Text: word, In: l.code, English: english})
			size = len(word)
			n += utf8.RuneCountInString(word) - 1
			unknown = at + size
		}
		at += size
	}
	flush(len(run))
}

// readKorean reads a word of Korean: what stands behind a word that is known is another one, or an ending.
func (r *reader) readKorean(word string) {
	l := lexicons[retrieval.Korean]
	before := len(r.words)
	if r.asked {
		if phrase, english := l.question(word); phrase != "" {
			r.words = append(r.words, Word{Text: phrase, In: l.code, English: english, Asks: true})
			return
		}
	}
	for rest := word; rest != ""; {
		found, english := l.longest(rest)
		_, size := utf8.DecodeRuneInString(rest)
		if found == "" || rest != word && len(found) == size { // one syllable may stand in any word
			rest = rest[size:]
			continue
		}
		r.words = append(r.words, Word{Text: found, In: l.code, English: english})
		rest = rest[len(found):]
	}
	if len(r.words) == before {
		small := retrieval.SmallCharacters(word)
		r.words = append(r.words, Word{Text: word, In: l.code, Small: small != nil && !slices.Contains(small, false)})
	}
}
