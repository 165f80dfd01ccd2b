package retrieval

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
)

// What a list has may be in it, and most other words are told from it.
func TestAGlanceTellsOfMostWordsAndOfNoneThatIsThere(t *testing.T) {
	for name, lists := range map[string]struct {
		g  *glance
		of []map[string]bool
	}{
		"small words": {smallGlance, []map[string]bool{keys(smallIn)}},
		"stop words":  {stopGlance, []map[string]bool{stopWords}},
		"roles":       {roleGlance, []map[string]bool{keys(roleOf), keys(broadRoles)}},
		"possessives": {ownGlance, []map[string]bool{possessives, othersPossessives}},
		"traits": {traitGlance(), []map[string]bool{
			amounts, moments, pointers, spans, keys(numbers), keys(pronouns),
		}},
	} {
		for _, list := range lists.of {
			for word := range list {
				if !lists.g.may(word) {
					t.Errorf("%s: %q is there", name, word)
				}
			}
		}
		told := 0
		others := strings.Fields("kubernetes deployment bidogu zafoke certificate orchard beehive lighthouse keyboard violin")
		for _, word := range others {
			if !lists.g.may(word) {
				told++
			}
		}
		if told < len(others)/2 {
			t.Errorf("%s: of %d other words %d are told", name, len(others), told)
		}
	}
}

func keys[T any](m map[string]T) map[string]bool {
	out := map[string]bool{}
	for k := range m {
		out[k] = true
	}
	return out
}

// A text of ASCII has the segments that Unicode's rules give it.
func TestPlainTextsAreCutByUnicodesRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pieces := strings.Fields("a Z 0 9 ab 12 _ . , : ; ' \" - $ % + # ! ? ( a.b 1.2 1,000 x:y it's v1.2.3 user_id foo-bar \x01 \x7f \v \f")
	pieces = append(pieces, " ", "  ", "\n", "\r", "\r\n", "\t", " ")
	for range 200_000 {
		var b strings.Builder
		for range rng.IntN(12) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		text := b.String()
		var want, got []Token
		slow := tokenizer{text: fold(text), query: rng.IntN(2) == 0, opening: true}
		slow.yield = func(t Token) { want = append(want, t) }
		slow.languages = languagesOf(text, slow.text)
		for it := words.FromString(slow.text); it.Next(); {
			slow.segment(it.Value(), it.Start())
		}
		slow.endRun()
		slow.endChain()
		analyze(text, slow.query, func(t Token) { got = append(got, t) })
		if !slices.Equal(got, want) {
			t.Fatalf("%q gives %v; want %v", text, got, want)
		}
	}
}

// Words without an ending that counts are not stemmed at all; they stay what stemming makes of them.
func TestWordsThatStayAreWhatStemmingMakesOfThem(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	endings := strings.Fields(`a b c d f g h j k l m n o p q r t u v w x z e i y s ed ing ation ement euse eaux issait aux que gue ogue
		ique oux ou u o io eo uo abli ogi au eau eu ieu oo ck th sh ph ow ew aw ov iv ex ox ez oz`)
	stayed := 0
	for range 300_000 {
		n := rng.IntN(9)
		word := make([]byte, n)
		for i := range word {
			word[i] = "aaeeiioouyybcdfghjklmnpqrstvwxz"[rng.IntN(31)]
		}
		w := string(word) + endings[rng.IntN(len(endings))]
		if staysEnglish(w) {
			stayed++
			if got := english.Stem(w, true); got != w {
				t.Fatalf("English %q becomes %q", w, got)
			}
		}
		if staysFrench(w) {
			stayed++
			if got := french.Stem(w, true); got != w {
				t.Fatalf("French %q becomes %q", w, got)
			}
		}
	}
	if stayed < 100_000 {
		t.Errorf("%d words stay", stayed)
	}
}

// The first word of a text is its first run of letters, of whatever script.
func TestCutWord(t *testing.T) {
	slow := func(text string) (word, rest string) {
		start := strings.IndexFunc(text, unicode.IsLetter)
		if start < 0 {
			return "", ""
		}
		text = text[start:]
		if end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
			return text[:end], text[end:]
		}
		return text, ""
	}
	rng := rand.New(rand.NewPCG(11, 12))
	pieces := strings.Split("a|Z|word|é|ß|日|я|1|_| |.|'|\x80|\xff|́|²|ª|@|[|`|{", "|")
	for range 100_000 {
		var b strings.Builder
		for range rng.IntN(8) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		word, rest := cutWord(b.String())
		if w, r := slow(b.String()); word != w || rest != r {
			t.Fatalf("%q is cut into %q and %q; want %q and %q", b.String(), word, rest, w, r)
		}
	}
}

// Nothing is remembered of a text that was compared once words are forgotten.
func TestSketchesAreForgotten(t *testing.T) {
	defer ForgetStems()
	older, newer := "Grandmother keeps seven beehives behind the orchard", "The certificate of the gateway expires in three weeks"
	key := sketchKeyOf(older)
	ForgetStems()
	NewComparison(newer).With(older)
	if _, known := sketchOf(key); !known {
		t.Fatal("a text that was compared is not remembered")
	}
	ForgetStems()
	if _, known := sketchOf(key); known {
		t.Error("a text is remembered after words are forgotten")
	}
}
