// Package fit chooses what of some sections of lines fits a budget of tokens.
package fit

import (
	"context"
	"iter"
	"math"
	"strings"
	"unicode/utf8"
)

// A Writer chooses what of its sections fits a budget. Lines are about values of M.
type Writer[M any] struct {
	Title    string                                  // the first line, with its end
	Line     func(about *M) (text string, err error) // makes the text of one that has none yet
	Count    func(text string) int
	Budget   int
	Sections []Section[M]
	Compare  func(a, b *M) int // the better comes first

	looked   int // lines that were counted
	shortest int // tokens, of these
}

// A Section is a heading and the lines that could stand below it, best first.
type Section[M any] struct {
	Heading string
	Share   float64 // of the budget
	Lines   []*Line[M]

	long int       // bytes of the long texts among them
	room []Line[M] // for lines that come
}

// A Line is what could stand in a section.
type Line[M any] struct {
	About   *M
	Text    string // "": not made
	Tokens  int    // 0: not counted
	Shown   bool   // it is part of the text
	TooLong bool   // for any text within the budget
	Passed  bool   // over: too many before it are long

	counted bool
}

// Texts of up to shortText bytes are looked at while there is room. Longer ones are, while together they
// have no more than longTexts bytes and usualToken for each token of the section's share: a
// memory may have hundreds of texts that are longer than everything that is shown.
const (
	shortText  = 2 << 10
	longTexts  = 256 << 10
	usualToken = 6 // bytes; of most texts a token has fewer
)

// Lines are not made where there is hardly room for one: less than smallRoom tokens, than one in smallPart of all, and
// than the shortest of fewLooked lines or more takes.
const (
	smallRoom = 40
	smallPart = 20
	fewLooked = 8
)

// Add puts the line of a memory behind the others. size is about how many bytes it will have.
func (s *Section[M]) Add(about *M, size, budget int) {
	if len(s.room) == 0 {
		s.room = make([]Line[M], max(8, len(s.Lines)))
	}
	it := &s.room[0]
	it.About, s.room = about, s.room[1:]
	if size > shortText {
		it.Passed = s.long > longTexts+int(s.Share*float64(usualToken*budget))
		s.long += min(size, usualToken*budget)
	}
	s.Lines = append(s.Lines, it)
}

// Count counts the lines of sections, and those that are left out.
func Count[M any](sections []Section[M]) (lines, left int) {
	for _, s := range sections {
		lines += len(s.Lines)
		for _, it := range s.Lines {
			if !it.Shown {
				left++
			}
		}
	}
	return lines, left
}

// Fill chooses section by section. Each gets the best lines that fit its share of the
// room below the headings, with what the sections before it left over. What is left in
// the end goes to the best remaining lines of all sections, by score. A line that does
// not fit is passed over for a shorter one, while there is room for one.
func (w *Writer[M]) Fill(ctx context.Context) error {
	room := w.Budget - w.Count(w.text())
	left, carried := max(0, room), 0
	show := func(it *Line[M], allowance *int) error {
		if !it.counted && !it.Passed && !w.isFull(*allowance, room) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := w.look(it, room); err != nil {
				return err
			}
		}
		if it.counted && !it.Shown && !it.TooLong && it.Tokens <= *allowance {
			it.Shown = true
			*allowance -= it.Tokens
			left -= it.Tokens
		}
		return nil
	}
	for _, s := range w.Sections {
		allowance := int(math.Floor(s.Share*float64(max(0, room)))) + carried
		for _, it := range s.Lines {
			if err := show(it, &allowance); err != nil {
				return err
			}
		}
		carried = allowance
	}
	for it := range w.bestFirst() {
		rest := left
		if err := show(it, &rest); err != nil {
			return err
		}
	}
	return nil
}

// isFull reports whether an allowance hardly has room for another line. Where there is no room at all, each line is
// found to be too long.
func (w *Writer[M]) isFull(allowance, room int) bool {
	return room > 0 && w.looked >= fewLooked && allowance < min(smallRoom, room/smallPart, w.shortest)
}

// look makes a line and counts it.
func (w *Writer[M]) look(it *Line[M], room int) (err error) {
	if it.Text == "" {
		if it.Text, err = w.Line(it.About); err != nil {
			return err
		}
	}
	it.Tokens, it.TooLong = w.measure(it.Text, room)
	if it.counted = true; !it.TooLong {
		if w.looked++; w.looked == 1 || it.Tokens < w.shortest {
			w.shortest = it.Tokens
		}
	}
	return nil
}

// bestFirst is the lines of all sections, the best first, as each section has them.
func (w *Writer[M]) bestFirst() iter.Seq[*Line[M]] {
	return func(yield func(*Line[M]) bool) {
		rest := make([][]*Line[M], len(w.Sections))
		for i := range rest {
			rest[i] = w.Sections[i].Lines
		}
		for {
			best := -1
			for i, lines := range rest {
				if len(lines) > 0 && (best < 0 || w.Compare(lines[0].About, rest[best][0].About) < 0) {
					best = i
				}
			}
			if best < 0 || !yield(rest[best][0]) {
				return
			}
			rest[best] = rest[best][1:]
		}
	}
}

// longestToken is by how many tokens, or bytes of one, the beginning of a text may have more
// than the same in the whole.
const longestToken = 16

// measure counts the tokens of a line, unless its beginning already shows that it cannot
// fit. Memories may be long, and otherwise most of the time would go into counting what
// is left out.
func (w *Writer[M]) measure(line string, room int) (tokens int, tooLong bool) {
	if room <= 0 {
		return 0, true
	}
	for end := usualToken * (room + longestToken); end < len(line); end *= 2 {
		for !utf8.RuneStart(line[end]) {
			end--
		}
		if w.Count(line[:end]) > room+longestToken {
			return 0, true
		}
	}
	if tokens = w.Count(line); tokens > room {
		return tokens, true
	}
	return tokens, false
}

// Fit returns the text and its tokens. The tokens of a text are not the sum of those of
// its lines, so Fit counts the text itself, and drops the memory with the lowest score
// until the text fits.
func (w *Writer[M]) Fit() (text string, tokens int) {
	for {
		text = w.text()
		if tokens = w.Count(text); tokens <= w.Budget {
			return text, tokens
		}
		var lowest *Line[M]
		for _, s := range w.Sections {
			for _, it := range s.Lines {
				if it.Shown && (lowest == nil || w.Compare(it.About, lowest.About) > 0) {
					lowest = it
				}
			}
		}
		if lowest == nil {
			return "", 0 // not even the headings fit
		}
		lowest.Shown = false
	}
}

// text is the whole context with what is shown.
func (w *Writer[M]) text() string {
	size := len(w.Title)
	for _, s := range w.Sections {
		size += len(s.Heading) + 2
		for _, it := range s.Lines {
			if it.Shown {
				size += len(it.Text)
			}
		}
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(w.Title)
	for _, s := range w.Sections {
		b.WriteByte('\n')
		b.WriteString(s.Heading)
		b.WriteByte('\n')
		for _, it := range s.Lines {
			if it.Shown {
				b.WriteString(it.Text)
			}
		}
	}
	return b.String()
}

// FaultOfShares says what is wrong with the shares of a whole: one is negative, or they do
// not sum to 1. "": nothing.
func FaultOfShares(shares ...float64) string {
	sum := 0.0
	for _, s := range shares {
		if !(s >= 0) { // nor may it be no number
			return "none may be negative"
		}
		sum += s
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		return "they must sum to 1"
	}
	return ""
}
