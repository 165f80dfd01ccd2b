package retrieval

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

// maxStems bounds the remembered stems, about 100 bytes each.
const maxStems = 50_000

// A stemKey is a word in a language.
type stemKey struct {
	language byte
	word     string
}

// stems remembers what words are stemmed to: stemming costs some microseconds,
// and few words make up most of any text.
var stems = struct {
	sync.RWMutex
	of map[stemKey]string
}{of: map[stemKey]string{}}

// Stem returns the stem of an English word of lower-case letters (Porter 2). It is
// safe for concurrent use.
func Stem(word string) string {
	return cachedStem('e', word, func(w string) string { return english.Stem(w, true) })
}

func cachedStem(language byte, word string, stem func(string) string) string {
	stems.RLock()
	s, ok := stems.of[stemKey{language, word}]
	stems.RUnlock()
	if ok {
		return s
	}
	word = strings.Clone(word)
	s = stem(word)
	stems.Lock()
	if len(stems.of) >= maxStems {
		clear(stems.of)
	}
	stems.of[stemKey{language, word}] = s
	stems.Unlock()
	return s
}

// ForgetStems empties the remembered stems.
func ForgetStems() {
	stems.Lock()
	defer stems.Unlock()
	clear(stems.of)
}
