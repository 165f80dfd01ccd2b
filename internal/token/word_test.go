package token_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/loci-memory/loci/internal/token"
)

// Text is counted part by part, and parts are remembered: the sum is what the codec counts of
// the whole, the first time and again.
func TestPartsSumToTheWhole(t *testing.T) {
	t.Parallel()
	pieces := strings.Split("a|the|Walrus|HTTPServer|don|'t|'S|'re|it's|7|1234567|v2|x1|.|, |!?\n|/|//\n|\r\n|\n\n|\t| |  |   | a| The| 12| 'll|"+
		"ä|éa|e\u0301|お誕生|日 本|😀|👩‍👩‍👧|\u00a0|\u2003|İ|ǅ|ʰ|_|-|--|<|endoftext|>|{\"k\": 1}|http://a.b/c d|"+strings.Repeat("long", 20), "|")
	pieces = append(pieces, "<|endoftext|>", "\xff", "|")
	for name, whole := range map[string]*codec.Codec{"o200k_base": codec.NewO200kBase(), "cl100k_base": codec.NewCl100kBase()} {
		c, err := token.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 3000 {
			var b strings.Builder
			for range 1 + rng.IntN(12+i%3*40) { // long ones have several lines
				b.WriteString(pieces[rng.IntN(len(pieces))])
			}
			text := b.String()
			want, err := whole.Count(text)
			if err != nil {
				continue // not UTF-8: a bound is counted instead
			}
			for range 2 {
				if got := c.Count(text); got != want {
					t.Fatalf("%s: %q has %d tokens, want %d", name, text, got, want)
				}
			}
		}
	}
}

// A long text that was counted is not counted again: a conversation is counted whole with each message
// that comes. Another text of its length has a count of its own.
func TestLongTextsAreRemembered(t *testing.T) {
	c, err := token.Open("cl100k_base")
	if err != nil {
		t.Fatal(err)
	}
	one, other := strings.Repeat("xkcdqwzv", 200), strings.Repeat("aaaaaaaa", 200)
	want, _ := codec.NewCl100kBase().Count(one)
	for range 2 {
		if n := c.Count(one); n != want || c.Count(other) >= n {
			t.Errorf("%d and %d tokens, want %d for the first", n, c.Count(other), want)
		}
	}
	if n := testing.AllocsPerRun(20, func() { c.Count(one) }); n > 0 {
		t.Errorf("counting a known text takes %.0f allocations", n)
	}
}

// A line that was counted is not counted again among others: what shows memories counts each alone to choose some,
// and then all of them together.
func TestLinesAreRemembered(t *testing.T) {
	c, err := token.Open("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	// The words are too long to be remembered themselves.
	lines, sum := make([]string, 40), 0
	for i := range lines {
		lines[i] = "- " + strings.Repeat(string(rune('A'+i)), 90) + " (confidence: 0.93)\n"
		sum += c.Count(lines[i])
	}
	i := 0
	if n := testing.AllocsPerRun(20, func() {
		i++
		text := strings.Join(append(lines[i:], lines[:i]...), "")
		if got := c.Count(text); got != sum {
			t.Errorf("%d tokens; the lines have %d", got, sum)
		}
	}); n > 20 {
		t.Errorf("counting known lines takes %.0f allocations", n)
	}
}
