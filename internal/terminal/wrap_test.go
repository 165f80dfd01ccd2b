package terminal

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text            string
		columns, before int
		want            string
	}{
		{"one two three", 20, 0, "one two three"},
		{"one two three four", 9, 0, "one two\nthree\nfour"},
		{"a long text that goes on", 30, 10, "a long text that\n          goes on"},
		{"a long text that goes on", 24, 10, "a long text\n  that goes on"}, // too little room behind what is before
		{"see https://example.com/a/very/long/address now", 20, 0, "see\nhttps://example.com/a/very/long/address\nnow"},
		{"記憶 宮殿 記憶 宮殿", 10, 0, "記憶 宮殿\n記憶 宮殿"},
		{"two\nlines of text", 8, 0, "two\nlines of\ntext"},
		{"", 8, 4, ""},
	} {
		if got := Wrap(c.text, c.columns, c.before); got != c.want {
			t.Errorf("%q in %d columns after %d: %q, want %q", c.text, c.columns, c.before, got, c.want)
		}
	}
}

// Nothing is lost or added but ends of lines and blanks, and no line is wider than the
// terminal unless a word of it is.
func TestWrapFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab宮é-")), 1, 12, -1)).Draw(t, "words")
		columns, before := rapid.IntRange(4, 60).Draw(t, "columns"), rapid.IntRange(0, 30).Draw(t, "before")
		got := Wrap(strings.Join(words, " "), columns, before)
		if strings.Join(strings.Fields(got), " ") != strings.Join(words, " ") {
			t.Fatalf("%q became %q", words, got)
		}
		for i, line := range strings.Split(got, "\n") {
			if i == 0 {
				line = strings.Repeat(" ", before) + line
			}
			if Columns(line) > columns && len(strings.Fields(line)) > 1 {
				t.Fatalf("%q is wider than %d in\n%s", line, columns, got)
			}
		}
	})
}
