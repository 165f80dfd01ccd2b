package loci

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A contextWriter chooses what of its sections fits a budget.
type contextWriter struct {
	count    func(text string) int
	budget   int
	sections []contextSection
}

// A contextSection is a heading and the lines that could stand below it, best first.
type contextSection struct {
	heading string
	share   float64
	items   []*contextLineItem
}

// A contextLineItem is a memory with its line.
type contextLineItem struct {
	recalled *Recalled
	line     string
	tokens   int // 0: not counted, since it is far too long
	shown    bool
	reason   OmitReason
}

// fill chooses, section by section, the best that fit its share of the room below
// the headings and what the sections before left; at last, by score, the best of
// all that fit what is left. What does not fit is passed over, for a shorter one.
func (w *contextWriter) fill(ctx context.Context) error {
	room := w.budget - w.count(w.text())
	var all []*contextLineItem
	for _, s := range w.sections {
		for _, it := range s.items {
			if err := ctx.Err(); err != nil {
				return AsError(err)
			}
			it.tokens, it.reason = w.measure(it.line, room)
		}
		all = append(all, s.items...)
	}
	left, carried := max(0, room), 0
	show := func(it *contextLineItem, allowance *int) {
		if !it.shown && it.reason != TooLong && it.tokens <= *allowance {
			it.shown = true
			*allowance -= it.tokens
			left -= it.tokens
		}
	}
	for _, s := range w.sections {
		allowance := int(math.Floor(s.share*float64(max(0, room)))) + carried
		for _, it := range s.items {
			show(it, &allowance)
		}
		carried = allowance
	}
	slices.SortFunc(all, func(a, b *contextLineItem) int { return compareRecalled(a.recalled, b.recalled) })
	for _, it := range all {
		rest := left
		show(it, &rest)
	}
	return nil
}

// longestToken is how many bytes of one token we reckon with.
const longestToken = 16

// measure counts the tokens of a line, unless its beginning alone shows that it
// cannot fit: memories may be long, and most of the time would go into counting
// what is left out.
func (w *contextWriter) measure(line string, room int) (tokens int, reason OmitReason) {
	if room <= 0 {
		return 0, TooLong
	}
	if end := longestToken * room; len(line) > end {
		for !utf8.RuneStart(line[end]) {
			end--
		}
		if w.count(line[:end]) > room+longestToken {
			return 0, TooLong
		}
	}
	if tokens = w.count(line); tokens > room {
		return tokens, TooLong
	}
	return tokens, NoRoom
}

// fit returns the text and its tokens. The tokens of a text are not the sum of
// those of its lines, so the text itself is counted, and as long as it has too
// many, the memory of the lowest score goes.
func (w *contextWriter) fit() (text string, tokens int) {
	for {
		text = w.text()
		if tokens = w.count(text); tokens <= w.budget {
			return text, tokens
		}
		var lowest *contextLineItem
		for _, s := range w.sections {
			for _, it := range s.items {
				if it.shown && (lowest == nil || compareRecalled(it.recalled, lowest.recalled) > 0) {
					lowest = it
				}
			}
		}
		if lowest == nil {
			return "", 0 // not even the headings fit
		}
		lowest.shown = false
	}
}

// text is the whole context with what is shown.
func (w *contextWriter) text() string {
	var b strings.Builder
	b.WriteString("# Memory Context\n")
	for _, s := range w.sections {
		b.WriteString("\n" + s.heading + "\n")
		for _, it := range s.items {
			if it.shown {
				b.WriteString(it.line)
			}
		}
	}
	return b.String()
}

// manifest lists what the text shows and what it leaves out.
func (w *contextWriter) manifest() (shown, omitted []ContextItem) {
	shown, omitted = []ContextItem{}, []ContextItem{}
	for _, s := range w.sections {
		for _, it := range s.items {
			r := it.recalled
			item := ContextItem{Kind: r.Record.Kind, ID: r.Record.ID, Score: r.Score, Explain: r.Explain, Tokens: it.tokens}
			if it.shown {
				shown = append(shown, item)
				continue
			}
			item.Reason = it.reason
			omitted = append(omitted, item)
		}
	}
	return shown, omitted
}
