// Package token counts the tokens of a text as models do.
package token

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Names are the vocabularies there are.
var Names = []string{"o200k_base", "cl100k_base"}

// A Counter counts by a vocabulary, which is made in milliseconds, the first time it is
// needed. It is safe for concurrent use.
type Counter struct {
	name   string
	open   func() *opened
	piece  func(p *pieces, i int) (end int)
	cut    atomic.Int64 // bytes that were cut into tokens
	tables sync.Once
	merges atomic.Pointer[merges] // once it was worth making them
}

// opened is what a counter that counts has.
type opened struct {
	*vocabulary
	known words
	texts texts
	lines texts
}

// words are some that were counted, each in one of the two places that its hash has: texts say the same words again
// and again. Each is 56 bits of its hash, whose other bits say where it is, and its tokens: nothing that the collector
// looks at. Of 10^14 words about one is taken for another one, and nobody outside of the process knows which.
type words [1 << 14][2]atomic.Uint64

// texts are some long texts that were counted: a conversation is counted again with each message that
// comes, and a text without spaces takes most of a second for each MiB. A text is known by its length and
// two hashes of 64 bits, whose seeds nobody outside of the process knows.
// Lines are kept apart: they are many, and what shows memories shows the same lines again and again.
type texts [1 << 14]counted

// counted is a text with its tokens. Its hashes are kept as they differ from said, so that what two write at
// once is no text.
type counted struct {
	sums [2]atomic.Uint64
	said atomic.Uint64 // the length, and behind it the tokens
}

var (
	o200k  = newCounter("o200k_base", o200kTokens, (*pieces).o200k)
	cl100k = newCounter("cl100k_base", cl100kTokens, (*pieces).cl100k)
	seed   = maphash.MakeSeed()
	second = maphash.MakeSeed()

	factors = [4]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}
)

func newCounter(name, file string, piece func(p *pieces, i int) (end int)) *Counter {
	return &Counter{name: name, piece: piece,
		open: sync.OnceValue(func() *opened { return &opened{vocabulary: openVocabulary(file)} })}
}

// Open returns the counter of a vocabulary.
func Open(name string) (*Counter, error) {
	switch name {
	case o200k.name:
		return o200k, nil
	case cl100k.name:
		return cl100k, nil
	}
	return nil, fmt.Errorf("no tokenizer %q: must be one of %s", name, strings.Join(slices.Clone(Names), ", "))
}

// Name returns the name of the vocabulary.
func (c *Counter) Name() string { return c.name }

// longText is the length from which on a whole text is remembered, in bytes.
const longText = 1 << 10

// longestWord is the length from which on a word is not remembered, in bytes.
const longestWord = 64

// Count returns the tokens of a text.
func (c *Counter) Count(text string) (n int) {
	if len(text) < longText {
		return c.countLines(text)
	}
	return c.open().texts.remembered(text, c.countLines)
}

// remembered is what count says of a text, mostly without asking it again.
func (t *texts) remembered(text string, count func(string) int) int {
	sums := [2]uint64{maphash.String(seed, text), maphash.String(second, text)}
	place := &t[sums[0]%uint64(len(t))]
	said := place.said.Load()
	if place.sums[0].Load()^said == sums[0] && place.sums[1].Load()^said == sums[1] && said>>32 == uint64(len(text)) {
		return int(uint32(said))
	}
	n := count(text)
	said = uint64(len(text))<<32 | uint64(uint32(n))
	place.said.Store(said)
	place.sums[0].Store(sums[0] ^ said)
	place.sums[1].Store(sums[1] ^ said)
	return n
}

// shortLine is how many bytes lines have at least that are remembered: to know a shorter one costs as much as to know
// its words.
const shortLine = 32

// countLines counts line by line. Lines are counted alone when it is chosen which of them to show, and then with others.
func (c *Counter) countLines(text string) (n int) {
	strange, o := 0, c.open()
	words := func(line string) int { return c.countWords(o, line, &strange) }
	for text != "" {
		end := linesEnd(text)
		if end < shortLine || end >= longText { // a long one is remembered if it is a text of its own
			n += words(text[:end])
		} else {
			n += o.lines.remembered(text[:end], words)
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
func (c *Counter) countWords(o *opened, text string, strange *int) (n int) {
	for text != "" {
		end := wordEnd(text)
		tokens, known := c.countWord(o, text[:end])
		n, text = n+tokens, text[end:]
		if !known {
			*strange += end
		}
		if m := c.merges.Load(); m != nil && *strange > strangeText {
			if utf8.ValidString(text) {
				return n + c.cutUp(m, text)
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
		if ends[(before*byteClasses+after)%uint8(len(ends))] {
			return i
		}
		before = after
	}
	return len(text)
}

// The classes of bytes that wordEnd knows.
const (
	signByte uint8 = iota
	letterByte
	digitByte
	spaceByte
	endByte
	controlByte
	foreignByte // not ASCII
	byteClasses = 8
)

// ends says of each class and the one behind it whether a part ends between them: an entry each, so that a byte takes one look.
var ends = func() (at [byteClasses * byteClasses]bool) {
	for before, classes := range [...][]uint8{
		signByte:   {spaceByte, digitByte},
		letterByte: {spaceByte, endByte, digitByte},
		digitByte:  {spaceByte, endByte, signByte, letterByte, controlByte},
	} {
		for _, after := range classes {
			at[before*byteClasses+int(after)] = true
		}
	}
	return at
}()

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

// hashOf is the hash of a word: of nearly all, which are short, by two multiplications with numbers that nobody outside of
// the process knows, as wyhash has it.
func hashOf(text string) uint64 {
	var a, b uint64
	switch n := len(text); {
	case n > 16:
		return maphash.String(seed, text)
	case n >= 8:
		a, b = key(text), key(text[n-8:])
	case n >= 4:
		a, b = fourOf(text), fourOf(text[n-4:])
	case n > 0:
		a = uint64(text[0])<<16 | uint64(text[n/2])<<8 | uint64(text[n-1])
	}
	high, low := bits.Mul64(a^factors[0], b^factors[1])
	high, low = bits.Mul64(high^low^factors[2], factors[3]^uint64(len(text)))
	return high ^ low
}

func fourOf(text string) uint64 {
	return uint64(text[3]) | uint64(text[2])<<8 | uint64(text[1])<<16 | uint64(text[0])<<24
}

func (c *Counter) countWord(o *opened, text string) (tokens int, known bool) {
	if len(text) > longestWord {
		return c.count(text), false
	}
	hash := hashOf(text)
	places := &o.known[hash%uint64(len(o.known))]
	first := places[0].Load()
	if first != 0 && first>>8 == hash>>8 {
		return int(first & 0xff), true
	}
	if second := places[1].Load(); second != 0 && second>>8 == hash>>8 {
		return int(second & 0xff), true
	}
	tokens = c.count(text)
	places[0].Store(hash&^0xff | uint64(tokens)) // there are at most longestWord
	places[1].Store(first)                       // the newer of the two stays
	return tokens, false
}

// worthTables is how many bytes are cut by the vocabulary before the tables are made that do it several times as
// quickly: to make them takes as long as some hundred KiB do. So a command that counts little never waits for them.
// A piece of twice costlyPiece takes twice as long as two, and so on.
const (
	worthTables = 256 << 10
	costlyPiece = 1 << 10
)

// count cuts a text into tokens.
func (c *Counter) count(text string) int { return c.cutUp(c.merges.Load(), valid(text)) }

var rows = sync.Pool{New: func() any { return new(row) }}

// cutUp cuts a text that is UTF-8 into tokens, by the tables if there are any.
func (c *Counter) cutUp(m *merges, text string) (n int) {
	r := rows.Get().(*row)
	r.pieces = pieces{text, classes()}
	for at := 0; at < len(text); {
		end := c.piece(&r.pieces, at)
		if end == at {
			at++
			continue
		}
		if size := int64(end - at); m == nil && c.cut.Add(size*max(1, size/costlyPiece)) > worthTables {
			c.tables.Do(func() { c.merges.Store(newMerges(c.open().vocabulary)) })
			m = c.merges.Load()
		}
		if m != nil {
			n += m.count(text[at:end], r)
		} else {
			n += c.open().count(text[at:end], r)
		}
		at = end
	}
	r.giveBack()
	return n
}

// keptRow is the number of tokens of a piece above which its row is not kept for the next.
const keptRow = 1 << 10

func (r *row) giveBack() {
	if r.pieces.text = ""; max(cap(r.tokens), cap(r.starts)) <= keptRow {
		rows.Put(r)
	}
}
