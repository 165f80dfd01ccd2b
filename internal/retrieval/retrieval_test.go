package retrieval

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func anyText() *rapid.Generator[string] {
	part := rapid.OneOf(rapid.SampledFrom([]string{"word ", "Sentence ends here. ", "3.14 ", "漢字かな", "한국어 ", "e\u0301", "👨‍👩‍👧", "\r\n", ". ", "\"", "(x) ",
		strings.Repeat("x", 100), strings.Repeat("é", 90), strings.Repeat("\u0301", 50), "\x00", "http://a.b/c?d=e ", "\U0001F1E9"}), rapid.String())
	return rapid.Map(rapid.SliceOfN(part, 0, 300), func(parts []string) string { return strings.Join(parts, "") })
}

func TestChunkCoversEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := anyText().Draw(t, "text")
		size := rapid.OneOf(rapid.IntRange(64, 200), rapid.SampledFrom([]int{640, 8192})).Draw(t, "size")
		overlap := rapid.IntRange(0, (size-1)/2).Draw(t, "overlap")
		spans := Chunk(text, size, overlap)
		end := 0
		for i, s := range spans {
			n := utf8.RuneCountInString(text[s.Start:s.End])
			switch {
			case s.Start >= s.End || n > size:
				t.Fatalf("passage %d is %+v, %d characters", i, s, n)
			case s.Start > end || i == 0 && s.Start != 0:
				t.Fatalf("passage %d starts at %d, the one before ends at %d", i, s.Start, end)
			case i > 0 && (s.Start <= spans[i-1].Start || s.End <= end):
				t.Fatalf("no progress: %+v after %+v", s, spans[i-1])
			case i > 0 && utf8.RuneCountInString(text[s.Start:end]) > overlap:
				t.Fatalf("passage %d shares %q, more than %d characters", i, text[s.Start:end], overlap)
			case utf8.ValidString(text) && !utf8.ValidString(text[s.Start:s.End]):
				t.Fatalf("passage %d cuts a character", i)
			}
			end = s.End
		}
		if end != len(text) {
			t.Fatalf("%d of %d bytes are covered", end, len(text))
		}
	})
}

func TestSpansFitOrAreEmpty(t *testing.T) {
	for span, want := range map[Span]string{{0, 3}: "tea", {1, 2}: "e", {3, 3}: "", {0, 4}: "", {-1, 2}: "", {2, 1}: ""} {
		if got := span.Of("tea"); got != want {
			t.Errorf("%v: %q, want %q", span, got, want)
		}
	}
}

func TestChunkCutsAtSentences(t *testing.T) {
	text := "The first sentence is about forty characters. The second one is about as long as that. And a third."
	var got []string
	for _, s := range Chunk(text, 64, 20) {
		got = append(got, text[s.Start:s.End])
	}
	want := []string{"The first sentence is about forty characters. ", "forty characters. The second one is about as long as that. ", "as long as that. And a third."}
	if !slices.Equal(got, want) {
		t.Errorf("passages %q", got)
	}
}

// hostile are texts that make segmenters look far ahead or back.
var hostile = map[string]string{"letter": "a", "dots": "a.", "digits": ".1", "marks": "a\u0301", "joiners": "1.\u200d", "quotes": "א\"",
	"flags": "🇩", "brackets": ".)", "hangul": "한", "kana": "カ", "apostrophes": "a'", "colons": "a:", "ligature": "ﷺ", "underscores": "_"}

func TestWorkIsLinear(t *testing.T) {
	for name, unit := range hostile {
		allocs := func(n int) float64 {
			text := strings.Repeat(unit, n/len(unit))
			return testing.AllocsPerRun(1, func() {
				Analyze(text, func(Token) {})
				Chunk(text, 640, 96)
			})
		}
		small, large := allocs(32<<10), allocs(256<<10)
		if large > 16*small+64 {
			t.Errorf("%s: %v allocations for 32 KiB, %v for 256 KiB", name, small, large)
		}
	}
}

var prose = strings.Repeat("Anna prefers window seats on long flights and usually drinks tea in the morning. ", 3300)[:256<<10]

func BenchmarkChunk(b *testing.B) {
	b.SetBytes(int64(len(prose)))
	for b.Loop() {
		Chunk(prose, 640, 96)
	}
}

func BenchmarkAnalyze(b *testing.B) {
	for name, text := range map[string]string{"prose": prose, "one word": strings.Repeat("x", 256<<10), "japanese": strings.Repeat("東京都に住む", 14_000)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Analyze(text, func(Token) {})
			}
		})
	}
}
