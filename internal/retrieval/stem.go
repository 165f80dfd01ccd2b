package retrieval

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/english"
)

// maxStems bounds the remembered stems, about 100 bytes each.
const maxStems = 50_000

// stems remembers what words are stemmed to: stemming costs some microseconds,
// and few words make up most of any text.
var stems = struct {
	sync.RWMutex
	of map[string]string
}{of: map[string]string{}}

// Stem returns the stem of an English word of lower-case letters (Porter 2). It is
// safe for concurrent use.
func Stem(word string) string {
	stems.RLock()
	s, ok := stems.of[word]
	stems.RUnlock()
	if ok {
		return s
	}
	s = english.Stem(word, true)
	stems.Lock()
	if len(stems.of) >= maxStems {
		clear(stems.of)
	}
	stems.of[strings.Clone(word)] = s
	stems.Unlock()
	return s
}

// ForgetStems empties the remembered stems.
func ForgetStems() {
	stems.Lock()
	defer stems.Unlock()
	clear(stems.of)
}
