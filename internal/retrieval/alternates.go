package retrieval

import (
	_ "embed" // the table
	"slices"
	"strings"
	"unicode/utf8"
)

// alternatesText is a table of terms and what texts may have in their place: names of emoji
// and the emoji, numbers as words and as digits. A line is a term, a tab, and terms with
// spaces between them; lines are in the order of their bytes. It is searched as it is, so
// that it costs a process neither time nor memory.
//
//go:embed alternates.txt
var alternatesText string

// alternatesBits has a bit for each term of the table, at its hash. Most of what a query looks
// up is not in the table, and a search of lines that finds nothing takes as long as any other.
//
//go:embed alternates.bits
var alternatesBits string

// alternatesStem leads a stem in the table, where [stemMark] would be no text.
const alternatesStem = "^"

// alternatesOf are the terms that a text may have in the place of a term.
func alternatesOf(term string) []string {
	if line, ok := alternatesLine(term); ok {
		return strings.Split(line, " ")
	}
	return nil
}

// alternatesBit is the hash of a term (FNV-1a, folded to the bits that there are).
func alternatesBit(term string) uint32 {
	const bits = 19
	h := uint32(2166136261)
	for i := range len(term) {
		h = (h ^ uint32(term[i])) * 16777619
	}
	return (h>>bits ^ h) & (1<<bits - 1)
}

// alternatesLine finds the line of a term, without the term.
func alternatesLine(term string) (line string, ok bool) {
	if bit := alternatesBit(term); alternatesBits[bit/8]&(1<<(bit%8)) == 0 {
		return "", false
	}
	low, high := 0, len(alternatesText) // starts of lines
	for low < high {
		start := strings.LastIndexByte(alternatesText[:low+(high-low)/2], '\n') + 1
		end := start + strings.IndexByte(alternatesText[start:], '\n')
		key, rest, _ := strings.Cut(alternatesText[start:end], "\t")
		switch {
		case key == term:
			return rest, true
		case key < term:
			low = end + 1
		default:
			high = start
		}
	}
	return "", false
}

// withAlternates adds to the terms that a word of a query may have in a text those that
// mean the same in another writing.
func withAlternates(term string, stems, or []string) []string {
	found := alternatesOf(term)
	for _, s := range stems {
		if s != "" && s[0] == stemMark {
			found = append(found, alternatesOf(alternatesStem+s[1:])...)
		}
	}
	for _, f := range found {
		if !slices.Contains(or, f) && f != term {
			or = append(or, f)
		}
	}
	return or
}

// leastInflected is how many letters a word has at least whose stems name emoji: of "not" they
// would be those of notes.
const leastInflected = 4

// Lengths of names inside of a run of characters, which is not cut into words: pairs and
// single characters are looked up as they are.
const (
	leastNamed = 3
	mostNamed  = 8
)

// named yields what a name inside of a run of a query stands for.
func (t *tokenizer) named(run string) {
	for from := range run {
		to := from
		for n := 1; n <= mostNamed && to < len(run); n++ {
			_, width := utf8.DecodeRuneInString(run[to:])
			if to += width; n < leastNamed {
				continue
			}
			for _, emoji := range alternatesOf(run[from:to]) {
				t.yield(Token{Text: emoji, Kind: Joined, optional: true})
			}
		}
	}
}

// numerals are the digits of a script that is searched in pairs, from one on.
var numerals = []string{"一二三四五六七八九", "일이삼사오육칠팔구"}

// counters follow a numeral that counts something; elsewhere it may be part of a name.
var counters = fold("点點时時号號楼樓层階层月日年天个個人只匹本枚杯回分歳岁元円块층시개명번월일년원")

// counted yields 三点 for the 3点 that a query has.
func (t *tokenizer) counted(run string, start int) {
	if start == 0 || !isDigit(t.text[start-1]) || start > 1 && isDigit(t.text[start-2]) {
		return
	}
	digit := int(t.text[start-1] - '0')
	first, width := utf8.DecodeRuneInString(run)
	if digit == 0 || !strings.ContainsRune(counters, first) {
		return
	}
	for _, script := range numerals {
		t.yield(Token{Text: string([]rune(script)[digit-1]) + run[:width], Kind: Pair, optional: true})
	}
}

// digitOf is the digit of a pair such as 三点; "": the pair counts nothing.
func digitOf(pair string) string {
	first, width := utf8.DecodeRuneInString(pair)
	counter, _ := utf8.DecodeRuneInString(pair[width:])
	if !strings.ContainsRune(counters, counter) {
		return ""
	}
	for _, script := range numerals {
		if i := strings.IndexRune(script, first); i >= 0 {
			return string(rune('1' + utf8.RuneCountInString(script[:i])))
		}
	}
	return ""
}

// tens are the words that a number below a hundred begins with.
var tens = wordMap("twenty=2 thirty=3 forty=4 fifty=5 sixty=6 seventy=7 eighty=8 ninety=9")

// number is twenty-five as digits; "": the words are no such number.
func number(chain []string) string {
	if len(chain) != 2 || tens[chain[0]] == "" {
		return ""
	}
	unit := numbers[chain[1]]
	if chain[1] == "one" {
		unit = "1"
	}
	if len(unit) != 1 {
		return ""
	}
	return tens[chain[0]] + unit
}
