package wordpiece

import (
	_ "embed" // the table
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// unicodeText says what the reference does to each character; its head explains
// the format, tests/tokenizer/generate.py makes it.
//
//go:embed unicode.txt
var unicodeText string

// kind is what happens to a character: one of the constants, or firstMapped plus
// a place in charTable.mapped.
type kind uint16

const (
	keep     kind = iota
	drop          // left out before decomposition
	mark          // left out after it: marks do not move across
	space         // ends the word
	alone         // a word of its own
	order         // a combining character that stays, put into canonical order
	syllable      // of Hangul: taken apart
	firstMapped
)

// What the table of ASCII says besides the small letter.
const (
	asciiDrop byte = iota
	asciiAlone
	asciiSpace
)

const (
	blockBits = 7
	blockSize = 1 << blockBits
)

type block [blockSize]kind

// charTable holds the kinds of all characters in two stages.
type charTable struct {
	ascii   [utf8.RuneSelf]byte
	index   [(utf8.MaxRune + 1) / blockSize]uint16 // into blocks
	blocks  []block                                // the first is all keep
	mapped  []mapping
	classes map[rune]uint8 // canonical combining classes, of the kind order
}

// mapping is what a character becomes.
type mapping struct {
	to    string
	alone bool // a word of its own
}

// loadCharTable reads the table when it is first needed.
var loadCharTable = sync.OnceValues(func() (*charTable, error) { return parseCharTable(unicodeText) })

// of returns what happens to a character; r is a Unicode scalar value.
func (t *charTable) of(r rune) kind {
	return t.blocks[t.index[r>>blockBits]][r&(blockSize-1)]
}

func parseCharTable(text string) (*charTable, error) {
	t := &charTable{classes: map[rune]uint8{}, blocks: make([]block, 1, 256)}
	line := 0
	for row := range strings.Lines(text) {
		line++
		row = strings.TrimSpace(row)
		if row == "" || row[0] == '#' {
			continue
		}
		if !t.parseRow(row) {
			return nil, errorf("unicode.txt:%d: cannot read %q", line, row)
		}
	}
	t.set(firstSyllable, lastSyllable, syllable)
	t.fillASCII()
	return t, nil
}

// parseRow reads a row: a directive, a range, arguments.
func (t *charTable) parseRow(row string) bool {
	what, rest, _ := strings.Cut(row, " ")
	span, rest, _ := strings.Cut(rest, " ")
	from, to, isRange := strings.Cut(span, "-")
	if !isRange {
		to = from
	}
	first, ok1 := parseRune(from)
	last, ok2 := parseRune(to)
	if !ok1 || !ok2 || last < first {
		return false
	}
	switch what {
	case "map", "alone=":
		return t.parseMapping(first, last, rest, what == "alone=")
	case "order":
		class, err := strconv.ParseUint(rest, 10, 8)
		t.set(first, last, order)
		for r := first; r <= last; r++ {
			t.classes[r] = uint8(class)
		}
		return err == nil
	}
	k, ok := map[string]kind{"drop": drop, "mark": mark, "space": space, "alone": alone}[what]
	if ok {
		t.set(first, last, k)
	}
	return ok && rest == ""
}

// parseMapping reads what a range of characters becomes: a range, or a few characters.
func (t *charTable) parseMapping(first, last rune, text string, isAlone bool) bool {
	var target []rune
	for field := range strings.FieldsSeq(text) {
		r, ok := parseRune(field)
		if !ok {
			return false
		}
		target = append(target, r)
	}
	if len(target) == 0 || len(target) > 1 && last > first {
		return false
	}
	for r := first; r <= last; r++ {
		t.set(r, r, firstMapped+kind(len(t.mapped)))
		t.mapped = append(t.mapped, mapping{to: string(target), alone: isAlone})
		target[0]++
	}
	return true
}

func parseRune(s string) (rune, bool) {
	n, err := strconv.ParseUint(s, 16, 32)
	return rune(n), err == nil && utf8.ValidRune(rune(n))
}

// set says what happens to a range of characters. Blocks that it covers whole are
// one block for all: the rows do not overlap, so no later one changes it.
func (t *charTable) set(first, last rune, k kind) {
	shared := uint16(0)
	for r := first; r <= last; r++ {
		i := &t.index[r>>blockBits]
		if r&(blockSize-1) == 0 && last-r >= blockSize-1 {
			if shared == 0 {
				shared = t.newBlock(k)
			}
			*i = shared
			r += blockSize - 1
			continue
		}
		if *i == 0 {
			*i = t.newBlock(keep)
		}
		t.blocks[*i][r&(blockSize-1)] = k
	}
}

func (t *charTable) newBlock(k kind) uint16 {
	var b block
	for i := range b {
		b[i] = k
	}
	t.blocks = append(t.blocks, b)
	return uint16(len(t.blocks) - 1)
}

// fillASCII derives the table of the first 128 characters, which are never mapped
// to more than one byte.
func (t *charTable) fillASCII() {
	for c := range t.ascii {
		switch k := t.of(rune(c)); k {
		case keep:
			t.ascii[c] = byte(c)
		case drop, mark:
			t.ascii[c] = asciiDrop
		case space:
			t.ascii[c] = asciiSpace
		case alone:
			t.ascii[c] = asciiAlone
		default:
			t.ascii[c] = t.mapped[k-firstMapped].to[0]
		}
	}
}
