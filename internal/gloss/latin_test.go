package gloss

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Words are cut where package strings cuts them.
func TestLatinWords(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"a", "Z", "7", " ", "-", "é", "ß", "\n", "_", "'", "’", "٣", "я", "\xff", "!", "ab", "word"}
	for range 20_000 {
		text := ""
		for range random.IntN(12) {
			text += pieces[random.IntN(len(pieces))]
		}
		want := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if got := latinWords(text); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	}
}
