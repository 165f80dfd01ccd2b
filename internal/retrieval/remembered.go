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

type stemPlaces [maxStems / stemsBlock]atomic.Pointer[[stemsBlock]stemPlace]

// A stemPlace is for the words of some hashes.
type stemPlace struct {
	latest atomic.Uint32 // bits of the hash of the word that came last; 0: none came
	held   atomic.Uint32 // the same of the one that is remembered
	stem   atomic.Pointer[stemOf]
}

// A stemOf is the stem of a word in a language; t: a word of which a term is made.
type stemOf struct {
	word, stem string
	language   byte
}

var stemSeed = maphash.MakeSeed()

// place is where a hash belongs.
func (p *stemPlaces) place(hash uint64) *stemPlace {
	at := hash % maxStems
	block := p[at/stemsBlock].Load()
	if block == nil {
		block = new([stemsBlock]stemPlace)
		if !p[at/stemsBlock].CompareAndSwap(nil, block) {
			block = p[at/stemsBlock].Load()
		}
	}
	return &block[at%stemsBlock]
}

func cachedStem(language byte, word string, stem func(string) string) string {
	if len(word) > maxTokenBytes { // a text may be one word
		return stem(word)
	}
	places := stems.Load()
	if places == nil {
		places = new(stemPlaces)
		stems.CompareAndSwap(nil, places) // if another was first these are let go, with what is written there
	}
	hash := maphash.String(stemSeed, word) + uint64(language)*0x9e3779b97f4a7c15
	place, tag := places.place(hash), uint32(hash>>32)|1
	if place.held.Load() == tag {
		if known := place.stem.Load(); known != nil && known.language == language && known.word == word {
			return known.stem
		}
	}
	if place.latest.Swap(tag) != tag {
		return stem(word)
	}
	word = strings.Clone(word)
	known := &stemOf{word, stem(word), language}
	place.stem.Store(known)
	place.held.Store(tag)
	return known.stem
}
