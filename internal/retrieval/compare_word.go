package retrieval

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// maxComparedWords bounds what is remembered of words that were compared: about 100 bytes each.
const maxComparedWords = 20_000

// A comparedWord is what a comparison makes of a word. It depends on nothing but the word.
type comparedWord struct {
	said
	function bool // carries no content
	negation bool
	loose    bool  // [corrects] reads it in another way
	changing bool  // tells of a change
	bit      uint8 // of 64, of the term: most other terms have another
}

// comparedWords remembers words: each is looked for in a dozen lists and stemmed, and a note that is
// saved is compared with four others.
var comparedWords = struct {
	sync.RWMutex
	of map[string]comparedWord
}{of: map[string]comparedWord{}}

// knownWord is what a comparison makes of a word, found once. What is longer than the words of an index
// is not remembered: a text may be one word.
func knownWord(w string) comparedWord {
	if isPlainNumber(w) {
		return comparedWord{said: said{term: w}, bit: bitOf(w)}
	}
	if len(w) > maxTokenBytes {
		return compareWord(w)
	}
	comparedWords.RLock()
	k, ok := comparedWords.of[w]
	comparedWords.RUnlock()
	if ok {
		return k
	}
	w = strings.Clone(w) // a part of the text would keep all of it in memory
	k = compareWord(w)
	comparedWords.Lock()
	if len(comparedWords.of) >= maxComparedWords {
		clear(comparedWords.of)
	}
	comparedWords.of[w] = k
	comparedWords.Unlock()
	return k
}

// isPlainNumber reports whether a word has digits and no letters, as most numbers have. It is in none of the lists and
// has no stem; to remember it would push out a word that comes again.
func isPlainNumber(w string) bool {
	digit := false
	for i := range len(w) {
		switch c := w[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case c >= utf8.RuneSelf || plainKinds[c] == plainLetter || c == '\'':
			return false
		}
	}
	return digit
}

func bitOf(term string) uint8 { return uint8(alternatesBit(term) % 64) }

func compareWord(w string) (k comparedWord) {
	rest, denied := deny(w)
	k.term = comparedTerm(w)
	k.telling = !isValue(k.term)
	k.bit = bitOf(k.term)
	k.function = functionWordsCompared[w]
	k.negation = negations[w] || strings.HasSuffix(w, "n't")
	k.loose = denied || rest != w || fillers[w] || speakers[w] || definiteArticles[w] || indefiniteArticles[w]
	k.changing = changing[rest] || changing[termOf(rest)]
	return k
}
