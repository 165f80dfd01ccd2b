// Package terminal makes other people's texts safe and short enough for a terminal or a
// message.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Columns is how many columns of a terminal a text takes: two for a character of Chinese,
// Japanese or Korean and for an emoji, whatever it is put together from.
func Columns(text string) int { return displaywidth.String(text) }

// Truncate cuts a text to a number of columns, between what is seen as one character.
func Truncate(text string, room int) string { return displaywidth.TruncateString(text, room, "…") }

// Wrap breaks a text between words into lines of at most so many columns. Before the first line
// something stands already, and the others begin with as many blanks; where that leaves too
// little room, with two. A word that is longer than a line stays whole, and so do blanks.
func Wrap(text string, columns, before int) string {
	indent := before
	if columns-indent < leastLine {
		indent = 2
	}
	if before == 0 {
		indent = 0
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if before+Columns(line) <= columns {
			continue
		}
		var out strings.Builder
		at := before
		for n, word := range strings.Split(line, " ") {
			wide := Columns(word)
			switch {
			case n == 0:
			case at+1+wide > columns:
				out.WriteString("\n" + strings.Repeat(" ", indent))
				at = indent
			default:
				out.WriteByte(' ')
				at++
			}
			out.WriteString(word)
			at += wide
		}
		lines[i] = out.String()
	}
	return strings.Join(lines, "\n")
}

// leastLine is how many columns a line needs to be read.
const leastLine = 20

// Clean makes text safe to show: what a memory says may come from anywhere and
// must not move the cursor, set the window's title or reorder what is read. Such
// characters are shown as escapes. Lines are kept, or joined to one by blanks.
func Clean(text string, lines bool) string {
	if !lines {
		text = strings.Join(strings.Fields(text), " ")
	}
	plain := func(r rune) bool { return r == '\n' || r == '\t' || !hidden(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if plain(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return b.String()
}

// hidden reports whether a character controls a terminal or the direction of
// text instead of being seen. The joiners that scripts and emoji need are seen.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r == '\u200c' || r == '\u200d': // zero width (non-)joiner
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}

// Word shortens and cleans a word from a file for a message.
func Word(word string) string {
	word = Clean(word, false)
	if word == "" {
		return `""`
	}
	return Truncate(word, 80)
}
