package wordpiece

import "unicode/utf8"

// word collects the normalised characters of a word. What a word has beyond
// maxChars is counted but not kept: such a word is unknown whatever it holds.
type word struct {
	bytes [maxChars * utf8.UTFMax]byte
	size  int // bytes kept
	count int // characters
	fence int // marks are not moved before this place
}

func (w *word) addByte(c byte) {
	if w.count < maxChars {
		w.bytes[w.size] = c
		w.size++
	}
	w.count++
}

func (w *word) addRune(r rune) {
	if w.count < maxChars {
		w.size += utf8.EncodeRune(w.bytes[w.size:], r)
	}
	w.count++
}

// addOrdered adds a combining character that the reference keeps, in canonical
// order: before those of a higher class that stand at the end. Unicode's stable
// sort gives the same, since what was left out between them does not count.
func (w *word) addOrdered(r rune, chars *charTable) {
	at, class := w.size, chars.classes[r]
	for at > w.fence {
		last, size := utf8.DecodeLastRune(w.bytes[:at])
		if chars.classes[last] <= class { // 0 for everything that does not combine
			break
		}
		at -= size
	}
	if w.count < maxChars {
		n := utf8.RuneLen(r)
		copy(w.bytes[at+n:], w.bytes[at:w.size])
		utf8.EncodeRune(w.bytes[at:], r)
		w.size += n
	}
	w.count++
}

// Hangul syllables are composed by arithmetic: Unicode Standard, section 3.12.
const (
	firstSyllable, lastSyllable = 0xac00, 0xd7a3
	leads, vowels, tails        = 0x1100, 0x1161, 0x11a7 // tails: one before the first
	vowelCount, tailCount       = 21, 28
)

// addSyllable adds the letters of a Hangul syllable.
func (w *word) addSyllable(r rune) {
	r -= firstSyllable
	w.addRune(leads + r/(vowelCount*tailCount))
	w.addRune(vowels + r/tailCount%vowelCount)
	if tail := r % tailCount; tail > 0 {
		w.addRune(tails + tail)
	}
}
