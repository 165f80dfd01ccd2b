package retrieval

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
)

// allFolded is what fold says of a text without what it remembers.
func allFolded(text string) string {
	folded, _ := foldSlowly(text)
	return folded
}

// Texts fold to the same with what is remembered of characters and without, whatever stands beside what.
func TestFoldsStayAsTheyAre(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	var marks, joined []rune
	for r := rune(0x80); r < 0x30000; r++ {
		if unicode.IsMark(r) {
			marks = append(marks, r)
		}
	}
	for _, in := range []string{"가각각", "e\u0301ßçœæﬁ㎏ｶﾞİςẞ", "مُحَمَّدـ", "क्षिका", "ไทยก็", "❤️👍🏽", "漢字がﾊﾟ", "йёЙ", "שלום\u05b8", "abc A."} {
		joined = append(joined, []rune(in)...)
	}
	pick := func() string {
		switch random.IntN(9) {
		case 8: // letters with many marks
			marks := strings.Repeat(string(rune(0x300+random.IntN(0x70))), random.IntN(40))
			return string(rune('a'+random.IntN(26))) + marks
		case 0:
			return string(marks[random.IntN(len(marks))])
		case 1:
			return string(rune(random.IntN(0x110000)))
		case 2:
			return string([]byte{byte(0x80 + random.IntN(0x80))}) // no UTF-8
		case 3:
			return string(rune(random.IntN(0x500)))
		default:
			return string(joined[random.IntN(len(joined))])
		}
	}
	for range 20_000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(pick())
		}
		text := b.String()
		if got, want := fold(text), allFolded(text); got != want {
			t.Fatalf("%+q is %+q; want %+q", text, got, want)
		}
		if got, want := FoldWords(text), ligatures.Replace(strings.ToLower(allFolded(text))); got != want {
			t.Fatalf("the words of %+q are %+q; want %+q", text, got, want)
		}
	}
	for r := rune(0); r < 0x20000; r++ {
		if r > 0x3400 && r < 0xf900 && r%16 != 0 { // most of it is characters of Chinese and Korean, which are all alike
			continue
		}
		for _, text := range []string{string(r), "e" + string(r) + "é", "か" + string(r) + "\u3099", "I" + string(r) + "\u0323\u0301ᅡ\u0301"} {
			if got, want := fold(text), allFolded(text); got != want {
				t.Fatalf("%+q is %+q; want %+q", text, got, want)
			}
		}
	}
}

// A letter with marks of its own costs what it costs without: nothing is brought to normal forms, whatever the marks
// would join to.
func TestMarksBehindLettersCostNothing(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("e\u0301\u0327k\u0323 ", 500), strings.Repeat("α\u0301\u0345 ", 500), "a" + strings.Repeat("\u0301\u0323", 1000),
		strings.Repeat("I\u0307 ", 500), strings.Repeat("م\u064e\u0651 ", 500),
	} {
		fold(text)
		if got := testing.AllocsPerRun(5, func() { fold(text) }); got > 8 {
			t.Errorf("%.20s…: %v allocations", text, got)
		}
	}
}
