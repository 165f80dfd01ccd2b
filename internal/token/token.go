// Package token counts the tokens of a text as models do.
package token

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Names are the vocabularies there are.
var Names = []string{"o200k_base", "cl100k_base"}

// A Counter counts by a vocabulary, which is made in tens of milliseconds, the
// first time it is needed. It is safe for concurrent use.
type Counter struct {
	name  string
	codec func() *codec.Codec
	known *words
}

// words are some that were counted, each in the place that its hash has: texts say the same
// words again and again.
type words [1 << 13]atomic.Pointer[word]

type word struct {
	text   string
	tokens int
}

var (
	o200k  = Counter{"o200k_base", sync.OnceValue(codec.NewO200kBase), new(words)}
	cl100k = Counter{"cl100k_base", sync.OnceValue(codec.NewCl100kBase), new(words)}
	seed   = maphash.MakeSeed()
)

// Open returns the counter of a vocabulary.
func Open(name string) (*Counter, error) {
	switch name {
	case o200k.name:
		return &o200k, nil
	case cl100k.name:
		return &cl100k, nil
	}
	return nil, fmt.Errorf("no tokenizer %q: must be one of %s", name, strings.Join(slices.Clone(Names), ", "))
}

// Name returns the name of the vocabulary.
func (c *Counter) Name() string { return c.name }

// longestWord is the length from which on a word is not remembered, in bytes.
const longestWord = 64

// Count returns the tokens of a text. Should the codec fail, each byte counts as a
// token: there are never more.
func (c *Counter) Count(text string) (n int) {
	for text != "" {
		end := wordEnd(text)
		n += c.countWord(text[:end])
		text = text[end:]
	}
	return n
}

// wordEnd is where the first part of a text ends that has tokens of its own, whatever comes
// before and after it: before white space behind a letter or a digit, unless that ends the
// text. Both vocabularies begin a piece there, and pieces are cut into tokens one by one.
func wordEnd(text string) int {
	for i := 1; i+1 < len(text); i++ {
		if isSpace(text[i]) && (isLetter(text[i-1]) || isDigit(text[i-1])) {
			return i
		}
	}
	return len(text)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func (c *Counter) countWord(text string) int {
	if len(text) > longestWord {
		return c.count(text)
	}
	place := &c.known[maphash.String(seed, text)%uint64(len(c.known))]
	if w := place.Load(); w != nil && w.text == text {
		return w.tokens
	}
	w := &word{strings.Clone(text), c.count(text)}
	place.Store(w)
	return w.tokens
}

func (c *Counter) count(text string) int {
	n, err := c.codec().Count(text)
	if err != nil {
		return len(text)
	}
	return n
}
