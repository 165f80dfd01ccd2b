package retrieval

import (
	"math/bits"
	"sync"
)

// languagesOf are the indices of the languages that a text may be in, from its first words:
// those with the most small words, if that is more than English has. A text without small words
// is in those that have its letters. nil: none of them.
func languagesOf(text, folded string) []int {
	of, _ := languagesAndEnglish(text, folded)
	return of
}

// languagesAndEnglish is languagesOf with whether a text has a small word of English among its first ones.
func languagesAndEnglish(text, folded string) (of []int, english bool) {
	var key sketchKey
	if len(text) <= maxToldBytes {
		key = sketchKeyOf(text)
		if known := languagesTold.of(key); known != 0 {
			return listOf(known &^ (isTold | hasEnglish)), known&hasEnglish != 0
		}
	}
	of, english = countedLanguages(text, folded)
	if key != (sketchKey{}) {
		known := uint8(isTold)
		for _, l := range of {
			known |= 1 << l
		}
		if english {
			known |= hasEnglish
		}
		languagesTold.note(key, known)
	}
	return of, english
}

// maxToldBytes is how long a text is of which it is remembered what languages it may be in: a note that is saved is
// asked for near ones, and then taken into the index. More is not worth a hash: languages are told by the first words.
const maxToldBytes = 1 << 10

// What is remembered of a text beside its languages: that it is, and that it has a small word of English.
const (
	isTold     = 1 << 7
	hasEnglish = 1 << 6
)

// languagesTold remembers the languages of some texts, by two hashes of them. It says no word of them.
var languagesTold told

type told struct {
	sync.Mutex
	last [256]struct {
		key sketchKey
		of  uint8
	}
}

func (t *told) of(key sketchKey) uint8 {
	t.Lock()
	defer t.Unlock()
	if at := &t.last[key[0]%uint64(len(t.last))]; at.key == key {
		return at.of
	}
	return 0
}

func (t *told) note(key sketchKey, of uint8) {
	t.Lock()
	defer t.Unlock()
	at := &t.last[key[0]%uint64(len(t.last))]
	at.key, at.of = key, of
}

func (t *told) forget() {
	t.Lock()
	defer t.Unlock()
	clear(t.last[:])
}

// listOf are the languages of a mask.
func listOf(mask uint8) (of []int) {
	for ; mask != 0; mask &= mask - 1 {
		of = append(of, bits.TrailingZeros8(mask))
	}
	return of
}
