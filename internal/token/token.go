// Package token counts the tokens of a text as models do.
package token

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// Names are the vocabularies there are.
var Names = []string{"o200k_base", "cl100k_base"}

// A Counter counts by a vocabulary, which is made in tens of milliseconds, the
// first time it is needed. It is safe for concurrent use.
type Counter struct {
	name   string
	codec  func() *codec.Codec
	piece  func(p *pieces, i int) (end int)
	known  *words
	texts  *texts
	lines  *texts
	cut    atomic.Int64 // bytes that were cut into tokens
	tables sync.Once
	merges atomic.Pointer[merges] // once it was worth making them
}

// words are some that were counted, each in one of the two places that its hash has: texts say the
// same words again and again. Full they take about 2 MiB.
type words [1 << 14][2]atomic.Pointer[word]

type word struct {
	text   string
	tokens int
}

// texts are some long texts that were counted: a conversation is counted again with each message that
// comes, and a text without spaces takes most of a second for each MiB. A text is known by its length and
// two hashes of 64 bits, whose seeds nobody outside of the process knows. Full they take about 0.6 MiB.
// Lines are kept apart: they are many, and what shows memories shows the same lines again and again.
type texts [1 << 14]atomic.Pointer[counted]

type counted struct {
	sums   [2]uint64
	length int
	tokens int
}

var (
	o200k = Counter{
		name: "o200k_base", codec: sync.OnceValue(codec.NewO200kBase), piece: (*pieces).o200k,
		known: new(words), texts: new(texts), lines: new(texts),
	}
	cl100k = Counter{
		name: "cl100k_base", codec: sync.OnceValue(codec.NewCl100kBase), piece: (*pieces).cl100k,
		known: new(words), texts: new(texts), lines: new(texts),
	}
	seed   = maphash.MakeSeed()
	second = maphash.MakeSeed()
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

// longText is the length from which on a whole text is remembered, in bytes.
const longText = 1 << 10

// longestWord is the length from which on a word is not remembered, in bytes.
const longestWord = 64

// Count returns the tokens of a text. Should the codec fail, each byte counts as a
// token: there are never more.
func (c *Counter) Count(text string) (n int) {
	if len(text) < longText {
		return c.countLines(text)
	}
	return c.texts.remembered(text, c.countLines)
}

// remembered is what count says of a text, mostly without asking it again.
func (t *texts) remembered(text string, count func(string) int) int {
	sums := [2]uint64{maphash.String(seed, text), maphash.String(second, text)}
	place := &t[sums[0]%uint64(len(t))]
	if known := place.Load(); known != nil && known.sums == sums && known.length == len(text) {
		return known.tokens
	}
	n := count(text)
	place.Store(&counted{sums, len(text), n})
	return n
}

// shortLine is how many bytes lines have at least that are remembered: to know a shorter one costs as much as to know
// its words.
const shortLine = 32

// countLines counts line by line. Lines are counted alone when it is chosen which of them to show, and then with others.
func (c *Counter) countLines(text string) (n int) {
	strange := 0
	words := func(line string) int { return c.countWords(line, &strange) }
	for text != "" {
		end := linesEnd(text)
		if end < shortLine || end >= longText { // a long one is remembered if it is a text of its own
			n += words(text[:end])
		} else {
			n += c.lines.remembered(text[:end], words)
		}
		text = text[end:]
	}
	return n
}

// linesEnd is where the first lines of a text end, of at least shortLine bytes, that have tokens of their own. In both
// vocabularies only white space and, behind signs, a slash go on with the piece that a line's end is in.
func linesEnd(text string) int {
	for end := min(shortLine, len(text)) - 1; end >= 0; {
		next := strings.IndexByte(text[end:], '\n')
		if next < 0 {
			break
		}
		if end += next + 1; end < len(text) && text[end] > ' ' && text[end] < '\x7f' && text[end] != '/' {
			return end
		}
		if end == len(text) {
			break
		}
	}
	return len(text)
}

// strangeText is how many bytes of new words a text may have before the rest is counted by the tables: with these, to
// cut a word that is remembered takes longer than to find it, and one that is not takes less than to remember it.
const strangeText = 4 << 10

// countWords counts word by word. strange is how many bytes of new words were before, and becomes how many there are.
func (c *Counter) countWords(text string, strange *int) (n int) {
	for text != "" {
		end := wordEnd(text)
		tokens, known := c.countWord(text[:end])
		n, text = n+tokens, text[end:]
		if !known {
			*strange += end
		}
		if m := c.merges.Load(); m != nil && *strange > strangeText {
			if utf8.ValidString(text) {
				return n + c.quickly(m, text)
			}
			*strange = math.MinInt // it is not looked at again
		}
	}
	return n
}

// wordEnd is where the first part of a text ends that has tokens of its own, whatever comes
// before and after it: behind what is no space, and before a space or where digits begin or end;
// before a line end behind a letter or a digit alone, since signs keep it. Both vocabularies begin a
// piece there, and pieces are cut into tokens one by one. Beside what is not ASCII, which has spaces
// and digits of its own, no part ends.
func wordEnd(text string) int {
	if text == "" {
		return 0
	}
	before := byteClass[text[0]]
	for i := 1; i < len(text); i++ {
		after := byteClass[text[i]]
		if parts[before]>>after&1 != 0 {
			return i
		}
		before = after
	}
	return len(text)
}

// The classes of bytes that wordEnd knows.
const (
	signByte = iota
	letterByte
	digitByte
	spaceByte
	endByte
	controlByte
	foreignByte // not ASCII
	byteClasses
)

// parts has for each class the classes before which a part ends behind it, a bit each.
var parts = [byteClasses]uint8{
	signByte:   1<<spaceByte | 1<<digitByte,
	letterByte: 1<<spaceByte | 1<<endByte | 1<<digitByte,
	digitByte:  1<<spaceByte | 1<<endByte | 1<<signByte | 1<<letterByte | 1<<controlByte,
}

var byteClass = func() (of [256]uint8) {
	for c := range of {
		switch b := byte(c); {
		case b >= utf8.RuneSelf:
			of[c] = foreignByte
		case b == ' ' || b == '\t':
			of[c] = spaceByte
		case b == '\n' || b == '\r':
			of[c] = endByte
		case b < ' ':
			of[c] = controlByte
		case '0' <= b && b <= '9':
			of[c] = digitByte
		case 'a' <= b|0x20 && b|0x20 <= 'z':
			of[c] = letterByte
		}
	}
	return of
}()

func (c *Counter) countWord(text string) (tokens int, known bool) {
	if len(text) > longestWord {
		return c.count(text), false
	}
	places := &c.known[maphash.String(seed, text)%uint64(len(c.known))]
	first := places[0].Load()
	if first != nil && first.text == text {
		return first.tokens, true
	}
	if second := places[1].Load(); second != nil && second.text == text {
		return second.tokens, true
	}
	w := &word{strings.Clone(text), c.count(text)}
	places[0].Store(w)
	places[1].Store(first) // the newer of the two stays
	return w.tokens, false
}

// worthTables is how many bytes the codec cuts before the tables are made that do it several times as quickly: to
// make them takes as long as the codec takes for some hundred KiB. So a command that counts little never waits for them.
const worthTables = 256 << 10

// count cuts a text into tokens.
func (c *Counter) count(text string) (n int) {
	m := c.merges.Load()
	if m == nil && c.cut.Add(int64(len(text))) > worthTables {
		c.tables.Do(func() { c.merges.Store(newMerges(c.codec())) })
		m = c.merges.Load()
	}
	if m == nil || !utf8.ValidString(text) {
		return c.slowly(text)
	}
	return c.quickly(m, text)
}

var rows = sync.Pool{New: func() any { return new(row) }}

func (c *Counter) quickly(m *merges, text string) (n int) {
	r := rows.Get().(*row)
	r.pieces = pieces{text, classes()}
	for at := 0; at < len(text); {
		end := c.piece(&r.pieces, at)
		if end == at {
			at++
			continue
		}
		n += m.count(text[at:end], r)
		at = end
	}
	if r.pieces.text = ""; cap(r.tokens) <= keptRow {
		rows.Put(r)
	}
	return n
}

// keptRow is the number of tokens of a piece above which its row is not kept for the next.
const keptRow = 1 << 10

// slowly counts as the codec does.
func (c *Counter) slowly(text string) int {
	n, err := c.codec().Count(text)
	if err != nil {
		return len(text)
	}
	return n
}
