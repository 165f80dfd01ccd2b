//go:build !race

// These tests count work and start no goroutine: the race detector has nothing to see, and
// `make test` runs them without it.

package token

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fresh returns a counter of each vocabulary that has counted nothing yet.
func fresh() []*Counter {
	return []*Counter{
		{
			name: o200k.name, codec: o200k.codec, piece: o200k.piece,
			known: new(words), texts: new(texts), lines: new(texts),
		},
		{
			name: cl100k.name, codec: cl100k.codec, piece: cl100k.piece,
			known: new(words), texts: new(texts), lines: new(texts),
		},
	}
}

// random returns a text of some letters.
func random(rng *rand.Rand, letters []rune, n int) string {
	var b strings.Builder
	for range n {
		b.WriteRune(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

var alphabets = []string{
	"a", "ab", "aA", "the", "abcdefghijklmnopqrstuvwxyz", "аБвГеж", "日本語漢字", "!=-/", " \n", "\r\n\t ", "12३", "aA1! é\n'",
	"'sStTrReEvVlLdDmM ſK", "aªʰBǅ\u0301\u0345 !1\u00a0\u3000\u2028\u0085", "\U0001D400\U0001F600\U000E0100a", "\x00\x7fé",
}

// Whatever is counted with tables has as many tokens as the codec says: two tokens side by side, where all is
// decided that a longer piece consists of, long pieces of few letters, and pieces that begin and end in all ways.
func TestTablesCountAsTheCodec(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range fresh() {
		m := newMerges(c.codec())
		same := func(text string) {
			if got, want := c.quickly(m, text), c.slowly(text); got != want {
				t.Fatalf("%s: %q has %d tokens, want %d", c.name, text, got, want)
			}
		}
		tokens := uint32(len(m.sorted))
		for range 500 {
			same(strings.ToValidUTF8(m.token(rng.Uint32N(tokens))+m.token(rng.Uint32N(tokens)), ""))
		}
		for _, alphabet := range alphabets {
			letters := []rune(alphabet)
			for range 12 {
				text := random(rng, letters, 1+rng.IntN(80))
				same(text)
				same(strings.ToValidUTF8(strings.Repeat(text[:1+rng.IntN(len(text))], 1+rng.IntN(20)), ""))
			}
		}
	}
}

// A piece ends where the pattern of the vocabulary says so, branch by branch.
func TestPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"日AB! 日Ab":          {"日|AB|!| 日Ab", "日AB|!| 日Ab"},
		"日ABb'll'S 'tis":    {"日ABb'll|'S| '|tis", "日ABb|'ll|'S| '|tis"},
		"12345 a\x7f\x7f-b": {"123|45| a|\x7f|\x7f|-b", "123|45| a|\x7f|\x7f|-b"},
		" \n \n  a   1//\n": {" \n| \n| | a|  | |1|//\n", " \n| \n| | a|  | |1|//\n"},
	} {
		for i, c := range fresh() {
			var all []string
			p := pieces{text, classes()}
			for at := 0; at < len(text); {
				end := max(at+1, c.piece(&p, at))
				all = append(all, text[at:end])
				at = end
			}
			if got := strings.Join(all, "|"); got != want[i] {
				t.Errorf("%s: %q, want %q", c.name, got, want[i])
			}
		}
	}
}

// The steps that counting takes grow with the text alone: no place in it is tried twice.
func TestStepsGrowWithTheText(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	m := newMerges(o200k.codec())
	for _, alphabet := range alphabets {
		text, r := random(rng, []rune(alphabet), 4000), row{}
		if m.count(text, &r); r.steps > 2*len(text) {
			t.Errorf("%d steps for %d bytes of %q", r.steps, len(text), alphabet)
		}
	}
}

// filled counts the places that have a word.
func filled(known *words) (n int) {
	for i := range known {
		if known[i][0].Load() != nil {
			n++
		}
	}
	return n
}

// Who counts little does not wait for the tables; who counts much has them, whatever the size of the texts.
func TestTablesAreMadeWhenTheyAreWorthIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, length := range map[string]int{"one long text": 300_000, "many short ones": 900} {
		c := fresh()[1]
		c.Count("once ")
		for at := 0; at < 300_000; at += length {
			if m := c.merges.Load(); m != nil && at < worthTables {
				t.Errorf("%s: tables after %d bytes", name, at)
			}
			c.Count(random(rng, []rune("abcdefgh"), length))
		}
		if c.merges.Load() == nil {
			t.Errorf("%s: no tables", name)
		}
		text := random(rng, []rune("abcdefgh"), 900)
		if n := testing.AllocsPerRun(20, func() { c.countWords(text, new(int)) }); n > 0 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
		if n, want := c.Count("a\xffb"+text), c.slowly("a\xffb"+text); n != want {
			t.Errorf("%s: what is not UTF-8 has %d tokens, want %d", name, n, want)
		}
		c.countWords(random(rng, []rune("abc defgh"), 50_000), new(int)) // 5,500 words
		if n := filled(c.known); n > 1000 {
			t.Errorf("%s: %d words of a strange text are remembered", name, n)
		}
	}
}

// A short text takes no place of a long one.
func TestShortTextsAreNotRemembered(t *testing.T) {
	c := fresh()[1]
	c.Count(strings.Repeat("xkcdqwzv", 64))
	for i := range c.texts {
		if c.texts[i].Load() != nil {
			t.Fatal("a text of 512 bytes is remembered")
		}
	}
}
