package embedding

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"

	"golang.org/x/text/unicode/norm"
)

// maxWord is where longer runs of letters are cut, in characters: what is longer
// is no word, and memory stays bounded.
const maxWord = 64

// kind says what a term is.
type kind uint8

const (
	word kind = iota
	character
	pair
	symbol
)

// A term is something that occurs in a text: bytes of the folded text, how often.
type term struct {
	start, end, count int
	kind              kind
}

// An analysis splits a text into terms. It is reused for the next text.
type analysis struct {
	text  []byte // folded
	terms []term
	index map[uint64]int // by hash of kind and bytes, into terms
	norm  []byte
	runes []rune
}

func newAnalysis() *analysis { return &analysis{index: map[uint64]int{}} }

// small reports whether the buffers are worth keeping.
func (a *analysis) small() bool { return cap(a.text) <= 64<<10 && len(a.index) <= 4096 }

// read replaces the terms by those of a text.
func (a *analysis) read(text string) {
	a.fold(text)
	a.terms = a.terms[:0]
	clear(a.index)
	start, length := -1, 0 // of the word that is being read
	before := -1           // start of the character in front, if it can make a pair
	for i := 0; i < len(a.text); {
		r, w := utf8.DecodeRune(a.text[i:])
		joined := r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		inWord := !joined && (unicode.IsLetter(r) || unicode.IsDigit(r) || start >= 0 && unicode.IsMark(r))
		if start >= 0 && (!inWord || length == maxWord) {
			a.add(word, start, i)
			start = -1
		}
		switch {
		case inWord && start < 0:
			start, length = i, 1
		case inWord:
			length++
		case joined:
			a.add(character, i, i+w)
			if before >= 0 {
				a.add(pair, before, i+w)
			}
		case unicode.IsSymbol(r) && r > 0x7f:
			a.add(symbol, i, i+w)
		}
		before = -1
		if joined {
			before = i
		}
		i += w
	}
	if start >= 0 {
		a.add(word, start, len(a.text))
	}
}

// add counts a term.
func (a *analysis) add(k kind, start, end int) {
	h := hashBytes(uint64(k)+offset64, a.text[start:end])
	i, ok := a.index[h]
	if !ok {
		i = len(a.terms)
		a.index[h] = i
		a.terms = append(a.terms, term{start: start, end: end, kind: k})
	}
	a.terms[i].count++
}

// fold sets the text to its folded form: NFKC, small letters, Latin letters
// without accents, nothing at either end. Unicode promises that the forms of
// characters it has assigned never change.
func (a *analysis) fold(text string) {
	a.text = a.text[:0]
	source := a.norm[:0]
	if norm.NFKC.IsNormalString(text) {
		source = append(source, text...)
	} else {
		source = norm.NFKC.AppendString(source, text)
	}
	a.norm = source
	for i := 0; i < len(source); {
		c := source[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c |= 0x20
			}
			a.text = append(a.text, c)
			i++
			continue
		}
		r, w := utf8.DecodeRune(source[i:])
		a.text = utf8.AppendRune(a.text, foldRune(r, source[i:i+w]))
		i += w
	}
	a.text = bytes.TrimSpace(a.text)
}

// foldRune returns the small form of a letter, and of a Latin one with accents
// the bare letter. encoded are its bytes.
func foldRune(r rune, encoded []byte) rune {
	if r == 'ς' { // only at the end of a word
		return 'σ'
	}
	if latin := r < 0x250 || 0x1e00 <= r && r < 0x1f00; latin {
		if parts := norm.NFD.Properties(encoded).Decomposition(); len(parts) > 0 && parts[0] < utf8.RuneSelf {
			r = rune(parts[0])
		}
	}
	return unicode.ToLower(r)
}

// stem returns the stem of an English word; other words as they are.
func stem(spelling []byte) string {
	for _, c := range spelling {
		if c < 'a' || c > 'z' {
			return string(spelling)
		}
	}
	return retrieval.Stem(string(spelling))
}

// The hash is FNV-1a, written out because the space depends on every bit of it.
const (
	offset64 uint64 = 14695981039346656037
	prime64  uint64 = 1099511628211

	wordSeed uint64 = offset64 ^ 0x01
	gramSeed uint64 = offset64 ^ 0x02
	charSeed uint64 = offset64 ^ 0x03
)

func hashBytes(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * prime64
	}
	return h
}

func hashString(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime64
	}
	return h
}

func hashRune(h uint64, r rune) uint64 { return (h ^ uint64(r)) * prime64 }

// mix spreads a hash over all bits: the low ones of FNV-1a depend on low ones only.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
