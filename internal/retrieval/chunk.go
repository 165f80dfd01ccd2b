// Package retrieval holds the pure functions behind search: how a text is cut,
// what its words are, how signals are fused. It knows no record and no store.
package retrieval

import (
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/clipperhouse/uax29/v2/words"
)

// A Span is bytes Start up to but not including End of a text.
type Span struct{ Start, End int }

// Of returns the span's part of text, or "" if the span does not fit.
func (s Span) Of(text string) string {
	if s.Start < 0 || s.End > len(text) || s.Start > s.End {
		return ""
	}
	return text[s.Start:s.End]
}

// Chunk cuts a text into passages of at most size characters, where neighbours
// share up to overlap characters. It cuts at the end of a sentence where one ends
// in the second half of a passage, else at a word's end, else between characters.
// Every character is in a passage; a text of at most size characters is one.
// overlap must be less than half of size. The empty text has no passage.
func Chunk(text string, size, overlap int) []Span {
	if text == "" {
		return nil
	}
	if len(text) <= size || utf8.RuneCountInString(text) <= size {
		return []Span{{0, len(text)}}
	}
	var spans []Span
	for start, end := 0, 0; ; {
		limit := advance(text, start, size)
		if limit == len(text) {
			return append(spans, Span{start, limit})
		}
		end = cut(text[start:limit], text[limit:], end-start) + start
		spans = append(spans, Span{start, end})
		start = overlapStart(text, start, end, overlap)
	}
}

// advance returns the index n characters after start, at most len(text).
func advance(text string, start, n int) int {
	i := start
	for ; n > 0 && i < len(text); n-- {
		_, w := utf8.DecodeRuneInString(text[i:])
		i += w
	}
	return i
}

// cut returns where to end a passage that may be as long as window; rest follows
// it. The first done bytes are in the passage before: the cut comes after them.
func cut(window, rest string, done int) int {
	half := max(len(window)/2, done)
	best := 0
	for it := sentences.FromString(window); it.Next(); {
		if it.End() > half && it.End() < len(window) {
			best = it.End()
		}
	}
	if best > 0 {
		return best
	}
	// The last word of the window may go on in rest: it ends the passage only if
	// a boundary lies exactly at the window's end.
	_, w := utf8.DecodeRuneInString(rest)
	for it := words.FromString(window + rest[:w]); it.Next(); {
		if it.End() > half && it.End() <= len(window) {
			best = it.End()
		}
	}
	if best > 0 {
		return best
	}
	return len(window)
}

// overlapStart returns where the next passage starts: at a word, at most overlap
// characters before end, and after start.
func overlapStart(text string, start, end, overlap int) int {
	from := end
	for n := overlap; n > 0 && from > start; n-- {
		_, w := utf8.DecodeLastRuneInString(text[:from])
		from -= w
	}
	if from <= start {
		return end
	}
	it := words.FromString(text[from:end])
	it.Next() // may be the rest of a word cut in two
	for it.Next() {
		if r, _ := utf8.DecodeRuneInString(it.Value()); unicode.IsLetter(r) || unicode.IsNumber(r) {
			return from + it.Start()
		}
	}
	return end
}
