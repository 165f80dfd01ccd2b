package retrieval

import (
	"math/bits"
	"sync"
)

// languagesOf are the indices of the languages that a text may be in, from its first words:
// those with the most small words, if that is more than English has. A text without small words
// is in those that have its letters. nil: none of them.
func languagesOf(text, folded string) []int {
	key, known := sketchKey{}, uint8(0)
	if len(text) <= maxToldBytes {
		key = sketchKeyOf(text)
		if known = languagesTold.of(key); known != 0 {
			return listOf(known &^ isTold)
		}
	}
	of := countedLanguages(text, folded)
	if key != (sketchKey{}) {
		known = isTold
		for _, l := range of {
			known |= 1 << l
		}
		languagesTold.note(key, known)
	}
	return of
}

// maxToldBytes is how long a text is of which it is remembered what languages it may be in: a note that is saved is
// asked for near ones, and then taken into the index. Of a long one only the first words are read.
const maxToldBytes = 1 << 10

// isTold marks what is remembered of a text.
const isTold = 1 << 7

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
