//go:build !race

// These tests count work and start no goroutine: the race detector has nothing to see, and
// `make test` runs them without it.

package token

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer/codec"
)

// fresh returns a counter of each vocabulary that has counted nothing yet.
func fresh() []*Counter {
	return []*Counter{
		newCounter(o200k.name, o200kTokens, o200k.piece), newCounter(cl100k.name, cl100kTokens, cl100k.piece),
	}
}

// judges are the codecs of what fresh returns.
var judges = []*codec.Codec{codec.NewO200kBase(), codec.NewCl100kBase()}

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

// The files hold what the codec says. LOCI_TOKENS=write makes them, after a change of it.
func TestVocabularies(t *testing.T) {
	t.Parallel()
	for i, c := range fresh() {
		var lengths, text []byte
		for id := uint(0); ; id++ {
			one, err := judges[i].Decode([]uint{id})
			if err != nil {
				break // behind the last
			}
			if len(one) == 0 || len(one) > math.MaxUint8 {
				t.Fatalf("%s: token %d has %d bytes", c.name, id, len(one))
			}
			lengths, text = append(lengths, byte(len(one))), append(text, one...)
		}
		file := slices.Concat(binary.LittleEndian.AppendUint32(nil, uint32(len(lengths))), lengths, text)
		if os.Getenv("LOCI_TOKENS") == "write" {
			if err := os.WriteFile(c.name+".tokens", file, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if have := []string{o200kTokens, cl100kTokens}[i]; have != string(file) {
			t.Errorf("%s.tokens has %d bytes that are not the codec's %d", c.name, len(have), len(file))
		}
		v := c.open()
		for id := range uint32(v.size()) {
			if found := v.find(v.token(id)); found != id {
				t.Fatalf("%s: token %d is found as %d", c.name, id, found)
			}
		}
	}
}

// Whatever is counted has as many tokens as the codec says, with tables and without: two tokens side by side, where all
// is decided that a longer piece consists of, long pieces of few letters, and pieces that begin and end in all ways.
func TestTablesCountAsTheCodec(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for i, c := range fresh() {
		m := newMerges(c.open().vocabulary)
		same := func(text string) {
			want, err := judges[i].Count(text)
			if err != nil {
				t.Fatal(err)
			}
			c.cut.Store(math.MinInt64) // it is never worth them
			if quick, slow := c.cutUp(m, valid(text)), c.count(text); quick != want || slow != want {
				t.Fatalf("%s: %q has %d tokens by tables and %d without, want %d", c.name, text, quick, slow, want)
			}
		}
		tokens := uint32(len(m.sorted))
		for range 500 {
			same(m.token(rng.Uint32N(tokens)) + m.token(rng.Uint32N(tokens)))
		}
		for _, alphabet := range alphabets {
			letters := []rune(alphabet)
			for range 12 {
				text := random(rng, letters, 1+rng.IntN(80))
				same(text)
				same(strings.Repeat(text[:1+rng.IntN(len(text))], 1+rng.IntN(20)))
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
	m := newMerges(o200k.open().vocabulary)
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
		if known[i][0].Load() != 0 {
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
		if n := testing.AllocsPerRun(20, func() { c.countWords(c.open(), text, new(int)) }); n > 0 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
		if n, want := c.Count("a\xffb"+text), c.cutUp(nil, valid("a\xffb"+text)); n != want {
			t.Errorf("%s: what is not UTF-8 has %d tokens, want %d", name, n, want)
		}
		c.countWords(c.open(), random(rng, []rune("abc defgh"), 50_000), new(int)) // 5,500 words
		if n := filled(&c.open().known); n > 1000 {
			t.Errorf("%s: %d words of a strange text are remembered", name, n)
		}
	}
}

// A short text takes no place of a long one.
func TestShortTextsAreNotRemembered(t *testing.T) {
	c := fresh()[1]
	c.Count(strings.Repeat("xkcdqwzv", 64))
	for i := range c.open().texts {
		if c.open().texts[i].said.Load() != 0 {
			t.Fatal("a text of 512 bytes is remembered")
		}
	}
}

// Lines that were counted are not cut into tokens again where they stand among others, though their words are too long to be remembered.
func TestKnownLinesAreNotCutAgain(t *testing.T) {
	c := newCounter("o200k_base", o200kTokens, (*pieces).o200k) // without tables, so that it says what it cuts
	text, sum := "", 0
	for i := range 20 {
		line := "- " + strings.Repeat(string(rune('A'+i)), longestWord+1) + "\n"
		text, sum = text+line, sum+c.Count(line)
	}
	cut := c.cut.Load()
	if n := c.Count(text); n != sum {
		t.Errorf("%d tokens; the lines have %d", n, sum)
	}
	if n := c.cut.Load() - cut; n > 0 {
		t.Errorf("%d bytes were cut", n)
	}
}
