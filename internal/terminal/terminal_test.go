package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct {
		text  string
		lines bool
		want  string
	}{
		{"plain", false, "plain"},
		{" two\n lines\t", false, "two lines"},
		{"two\nlines", true, "two\nlines"},
		{"\x1b[31mred\x1b[0m", false, `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\a", true, `\x1b]0;title\a`},
		{"over\rwritten", true, `over\rwritten`},
		{"c1 \u009b31m", true, `c1 \u009b31m`},
		{"a\u202eb\u2066c", true, `a\u202eb\u2066c`},
		{"tag \U000e0041", true, `tag \U000e0041`},
		{"emoji 👩\u200d🚀 स्\u200dक", true, "emoji 👩\u200d🚀 स्\u200dक"},
		{"bad \xff", true, "bad \ufffd"},
	}
	for _, tt := range tests {
		if got := Clean(tt.text, tt.lines); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[2J\u202e\u2028\xff")
	f.Fuzz(func(t *testing.T, text string) {
		for _, lines := range []bool{true, false} {
			got := Clean(text, lines)
			if !utf8.ValidString(got) || !lines && strings.ContainsAny(got, "\n\t") ||
				strings.ContainsFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && hidden(r) }) {
				t.Fatalf("Clean(%q) = %q", text, got)
			}
		}
	})
}

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		text string
		room int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "long…"}, {"記憶宮殿", 8, "記憶宮殿"}, {"記憶宮殿", 7, "記憶宮…"}, {"記憶宮殿", 6, "記憶…"},
		{"👩\u200d👩\u200d👧 and ❤\ufe0f", 9, "👩\u200d👩\u200d👧 and ❤\ufe0f"}, {"👩\u200d👩\u200d👧👩\u200d👩\u200d👧", 3, "👩\u200d👩\u200d👧…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		if got := Truncate(tt.text, tt.room); got != tt.want || Columns(got) > tt.room {
			t.Errorf("Truncate(%q, %d) = %q", tt.text, tt.room, got)
		}
	}
}

// A word in a message is never empty, never long and never moves the cursor.
func TestWord(t *testing.T) {
	for word, want := range map[string]string{
		"": `""`, " ": `""`, "a\x1bb": `a\x1bb`, strings.Repeat("x", 90): strings.Repeat("x", 79) + "…",
	} {
		if got := Word(word); got != want {
			t.Errorf("Word(%q) = %q, want %q", word, got, want)
		}
	}
}
