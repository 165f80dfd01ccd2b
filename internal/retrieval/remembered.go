package retrieval

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// stems remembers what words are stemmed to: stemming costs some microseconds, and few words make up most of any text.
// Each word has one place, and takes it when it comes there twice without another one between: words that come once, as
// those of a large text that nobody has seen before, push out none that come again, and take no memory. A stem takes about
// 100 bytes.
var stems atomic.Pointer[stemPlaces]

// maxStems is how many places there are. Memory for them is made in blocks, as they are needed.
const (
	maxStems   = 1 << 15
	stemsBlock = 1 << 8
)

type stemPlaces [maxStems / stemsBlock]atomic.Pointer[stemBlock]

// A stemBlock is some places. What tells of a word that it comes for the first time lies together: of a large text that
// is asked of most words, and of all places it takes no more memory than a processor has at hand.
type stemBlock struct {
	told  [stemsBlock]atomic.Uint32 // bits of the hash of the word that came last, and above them of the one that is remembered; 0: none
	stems [stemsBlock]atomic.Pointer[stemOf]
}

// toldBits are those of a hash that tell a word from most others of its place.
const toldBits = 16

// A stemOf is the stem of a word in a language; t: a word of which a term is made.
type stemOf struct {
	word, stem string
	language   byte
}

var stemSeed = maphash.MakeSeed()

// place is where a hash belongs.
func (p *stemPlaces) place(hash uint64) (block *stemBlock, at uint64) {
	at = hash % maxStems
	block = p[at/stemsBlock].Load()
	if block == nil {
		block = new(stemBlock)
		if !p[at/stemsBlock].CompareAndSwap(nil, block) {
			block = p[at/stemsBlock].Load()
		}
	}
	return block, at % stemsBlock
}

func cachedStem(language byte, word string, stem func(string) string) string {
	return cachedStemOf(stemHash(word), language, word, stem)
}

// stemHash is what a word is remembered by, in all languages.
func stemHash(word string) uint64 {
	if len(word) > maxTokenBytes {
		return 0
	}
	return maphash.String(stemSeed, word)
}

func cachedStemOf(hash uint64, language byte, word string, stem func(string) string) string {
	if len(word) > maxTokenBytes { // a text may be one word
		return stem(word)
	}
	places := stems.Load()
	if places == nil {
		places = new(stemPlaces)
		stems.CompareAndSwap(nil, places) // if another was first these are let go, with what is written there
	}
	hash += uint64(language) * 0x9e3779b97f4a7c15
	block, at := places.place(hash)
	const mask = 1<<toldBits - 1
	told, tag := block.told[at].Load(), uint32(hash>>(64-toldBits))|1
	if told>>toldBits == tag {
		if known := block.stems[at].Load(); known != nil && known.language == language && known.word == word {
			return known.stem
		}
	}
	if told&mask != tag {
		block.told[at].Store(told&^mask | tag)
		return stem(word)
	}
	word = strings.Clone(word)
	known := &stemOf{word, stem(word), language}
	block.stems[at].Store(known)
	block.told[at].Store(tag<<toldBits | tag)
	return known.stem
}
