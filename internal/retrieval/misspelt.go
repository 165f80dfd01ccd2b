package retrieval

import (
	_ "embed" // the words
	"hash/maphash"
	"iter"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// englishText lists English words; its head says where they come from.
//
//go:embed english.txt
var englishText string

// spelled finds the words of the list by their hashes. 256 KiB, made for the first word that nobody has. It names places in
// the list and no strings: a map of these is five times as large, and the collector looks at each of its words again and again.
var spelled = sync.OnceValue(func() []uint32 {
	places := make([]uint32, 1<<16)
	for at := range wordsListed() {
		i := spelledHash(englishText[at:][:strings.IndexByte(englishText[at:], '\n')])
		for places[i] != 0 { // the list begins with its head, so that no word is at 0
			i = (i + 1) % len(places)
		}
		places[i] = uint32(at)
	}
	return places
})

// wordsListed are the places at which words of the list begin.
func wordsListed() iter.Seq[int] {
	return func(yield func(int) bool) {
		at := 0
		for line := range strings.Lines(englishText) {
			if line[0] != '#' && !yield(at) {
				return
			}
			at += len(line)
		}
	}
}

var spelledSeed = maphash.MakeSeed()

func spelledHash(word string) int { return int(maphash.String(spelledSeed, word) % (1 << 16)) }

// WellSpelled reports whether a word is English as it stands, and so no typing error: who
// asks for a house does not mean a horse.
func WellSpelled(word string) bool {
	places := spelled()
	for i := spelledHash(word); places[i] != 0; i = (i + 1) % len(places) {
		line := englishText[places[i]:]
		if len(line) > len(word) && line[len(word)] == '\n' && line[:len(word)] == word {
			return !strings.Contains(word, "\n")
		}
	}
	return false
}

// Which typing errors are mended: one, two in words of so many letters.
const (
	leastMisspelt = 4
	leastTwice    = 8
	mostMisspelt  = 30 // letters
)

// A Mark is what of a word is looked at before its letters: which letters there are, and
// how many. 0: the word is none that another may be meant for.
type Mark uint32

const markLetters = 27

// MarkOf returns the mark of a word in its folded form.
func MarkOf(word string) Mark {
	n := utf8.RuneCountInString(word)
	if n < leastMisspelt-1 || n > mostMisspelt || !allSpelled(word) {
		return 0
	}
	if first, _ := utf8.DecodeRuneInString(word); isCJK(first) {
		return 0
	}
	m := Mark(n) << markLetters
	for _, r := range word {
		m |= 1 << (uint32(r) % markLetters)
	}
	return m
}

// allSpelled reports whether a text is of letters and of what is written on them: vowels of Hindi are marks.
func allSpelled(text string) bool {
	for _, r := range text {
		if !unicode.IsLetter(r) && (r < utf8.RuneSelf || !unicode.IsMark(r)) {
			return false
		}
	}
	return true
}

// letters is the number of letters.
func (m Mark) letters() int { return int(m >> markLetters) }

// Edits is how many typing errors are mended in a word with the mark; 0: none.
func (m Mark) Edits() int {
	switch n := m.letters(); {
	case n < leastMisspelt:
		return 0
	case n < leastTwice:
		return 1
	}
	return 2
}

// Near reports whether a word with the mark other may be at most so many errors away; few
// that are not pass.
func (m Mark) Near(other Mark, edits int) bool {
	if other == 0 {
		return false
	}
	if d := m.letters() - other.letters(); d > edits || -d > edits {
		return false
	}
	const mask = 1<<markLetters - 1
	return bits.OnesCount32(uint32((m^other)&mask)) <= 2*edits
}

// mostEnding is how many letters a word may have behind its stem.
const mostEnding = 3

// NearStem reports whether a word with the mark other may have a stem that is at most so many errors away.
func (m Mark) NearStem(other Mark, edits int) bool {
	d := other.letters() - m.letters()
	const mask = 1<<markLetters - 1
	return other != 0 && d >= -edits && d <= edits+mostEnding && bits.OnesCount32(uint32(m&mask&^other)) <= edits
}

// Within reports whether a word with the mark other may have this word as its end or its
// beginning, with three letters or more beside it.
func (m Mark) Within(other Mark) bool {
	const mask = 1<<markLetters - 1
	return other != 0 && other.letters() >= m.letters()+3 && m&mask&^other == 0
}

// Likely are the marks that this one is [Mark.Near] or [Mark.Within], with their places: of all words of a store few are.
// The mark is of a word that is mended.
func (m Mark) Likely(marks []Mark, edits int) iter.Seq2[int, Mark] {
	const mask = 1<<markLetters - 1
	letters := m.letters()
	least, most := letters-edits, letters+edits
	return func(yield func(int, Mark) bool) {
		for i, other := range marks {
			n := other.letters() // of what is no word 0, which is too few
			if n < least {
				continue
			}
			near := n <= most && bits.OnesCount32(uint32((m^other)&mask)) <= 2*edits
			if (near || n >= letters+3 && m&mask&^other == 0) && !yield(i, other) {
				return
			}
		}
	}
}

// Distance is the number of typing errors between two words, at most most+1: a letter too
// many, too few or another one, or two neighbours in each other's place.
func Distance(a, b string, most int) int {
	a, b = unlike(a, b)
	switch {
	case a == "" || b == "":
		return min(utf8.RuneCountInString(a+b), most+1)
	case most == 1 && len(a)+len(b) == utf8.RuneCountInString(a)+utf8.RuneCountInString(b): // both are ASCII
		// They begin and end in different ways.
		if len(a) == 1 && len(b) == 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0] {
			return 1
		}
		return 2
	}
	return distance(a, b, most)
}

// unlike is what is left of two words without what of ASCII they begin and end with alike, which takes no error.
func unlike(a, b string) (string, string) {
	for a != "" && b != "" && a[0] == b[0] && a[0] < utf8.RuneSelf {
		a, b = a[1:], b[1:]
	}
	for a != "" && b != "" && a[len(a)-1] == b[len(b)-1] && a[len(a)-1] < utf8.RuneSelf {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

func distance(a, b string, most int) int {
	var memory struct { // enough for what is mended, so that nothing is allocated for it
		x, y [mostMisspelt]rune
		rows [3][mostMisspelt + 1]int
	}
	x, y := appendLetters(memory.x[:0], a), appendLetters(memory.y[:0], b)
	if len(x)-len(y) > most || len(y)-len(x) > most {
		return most + 1
	}
	before, last, row := memory.rows[0][:], memory.rows[1][:], memory.rows[2][:]
	if len(y) > mostMisspelt {
		before, last, row = make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	}
	before, last, row = before[:len(y)+1], last[:len(y)+1], row[:len(y)+1]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(y)], most+1)
}

func appendLetters(to []rune, word string) []rune {
	for _, r := range word {
		to = append(to, r)
	}
	return to
}

// Respell puts other words in the place of one, as it is folded, wherever a text has it: the likeliest, or all
// of them if the word itself is the first, as names stand beside it.
func Respell(text, word string, words []string) string {
	by := words[0]
	if by == word {
		by = strings.Join(words, " ")
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		start := strings.IndexFunc(rest, unicode.IsLetter)
		if start < 0 {
			out.WriteString(rest)
			break
		}
		end := start
		for end < len(rest) {
			r, size := utf8.DecodeRuneInString(rest[end:])
			if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) {
				break
			}
			end += size
		}
		out.WriteString(rest[:start])
		if found := rest[start:end]; strings.ToLower(fold(found)) == word {
			out.WriteString(by)
		} else {
			out.WriteString(found)
		}
		rest = rest[end:]
	}
	return out.String()
}
