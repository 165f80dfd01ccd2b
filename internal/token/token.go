// Package token counts the tokens of a text as models do.
package token

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Names are the vocabularies there are.
var Names = []string{"o200k_base", "cl100k_base"}

// A Counter counts by a vocabulary, which is made in tens of milliseconds, the
// first time it is needed. It is safe for concurrent use.
type Counter struct {
	name  string
	codec func() *codec.Codec
}

var (
	o200k  = sync.OnceValue(codec.NewO200kBase)
	cl100k = sync.OnceValue(codec.NewCl100kBase)
)

// Open returns the counter of a vocabulary.
func Open(name string) (*Counter, error) {
	switch name {
	case "o200k_base":
		return &Counter{name, o200k}, nil
	case "cl100k_base":
		return &Counter{name, cl100k}, nil
	}
	return nil, fmt.Errorf("no tokenizer %q: must be one of %s", name, strings.Join(slices.Clone(Names), ", "))
}

// Name returns the name of the vocabulary.
func (c *Counter) Name() string { return c.name }

// Count returns the tokens of a text. Should the codec fail, each byte counts as a
// token: there are never more.
func (c *Counter) Count(text string) int {
	n, err := c.codec().Count(text)
	if err != nil {
		return len(text)
	}
	return n
}
