package retrieval

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// oddWords are what texts are made of here: words that mean the same, values, marks, small words, and others.
var oddWords = strings.Fields(`the a not now The It's don't Anna's dogs' likes liked tea TEA coffee 5 5mW MW mW 5.5kg 2026-05-01 three
	9:30 #1 -100 100% $500 ` + "`code`" + ` a/b c++ C# user_id (maybe) "quoted" runs ran running Berlin Hamburg on off in out
	actually My favorite favourite colour color is was blue red, green. moved from to Mb MB 's '' . , - Ltd. x1y2z3 0x1F
	averyveryveryveryveryveryveryveryveryveryveryveryverylongwordofmorethan64 naïve 日本 d’accord`)

func oddText(rng *rand.Rand) string {
	var b strings.Builder
	for range rng.IntN(24) {
		b.WriteString([]string{" ", "  ", "\t", "\n", "\v", "\f\r"}[max(0, rng.IntN(12)-6)])
		b.WriteString(oddWords[rng.IntN(len(oddWords))])
		b.WriteString(" ")
	}
	return b.String()
}

// changed is a text with some words in other places, or left out, or with others in their place.
func changed(rng *rand.Rand, text string) string {
	words := strings.Fields(text)
	for range rng.IntN(4) {
		if len(words) == 0 {
			break
		}
		switch at := rng.IntN(len(words)); rng.IntN(3) {
		case 0:
			words = slices.Delete(words, at, at+1)
		case 1:
			words[at] = oddWords[rng.IntN(len(oddWords))]
		default:
			words = slices.Insert(words, at, oddWords[rng.IntN(len(oddWords))])
		}
	}
	return strings.Join(words, " ")
}

// What is quick for texts of ASCII says what is said of any text.
func TestPlainTextsAreComparedAsOthers(t *testing.T) {
	rng, found := rand.New(rand.NewPCG(1, 2)), map[Relation]int{}
	decided, atOnce := 0, 0
	for range 50_000 {
		older := oddText(rng)
		newer := oddText(rng)
		switch rng.IntN(40) {
		case 0: // about as many words as are compared
			older = strings.Repeat("tea red ", rng.IntN(maxCompared)) + older
		case 1:
			newer = "a now " + newer
		default:
			if rng.IntN(2) == 0 {
				newer = changed(rng, older)
			}
		}
		if fold, ok := foldPlain(older); ok && fold != foldAny(older) {
			t.Fatalf("%q is folded to %q; want %q", older, fold, foldAny(older))
		}
		fold := foldAny(older)
		values := appendValues(nil, fold+" é") // whose last word is not of ASCII, and left out again
		if n := len(values); values[n-1] == "é" {
			values = values[:n-1]
		}
		if got := appendValues(nil, fold); !slices.Equal(got, values) {
			t.Fatalf("%q has the values %q; want %q", fold, got, values)
		}
		c := NewComparison(newer)
		want := c.apart(older)
		if got := c.With(older); got != want {
			t.Fatalf("%q is %s to %q; want %s", older, got, newer, want)
		}
		if s, known := sketchOf(sketchKeyOf(older)); known && c.unlikeAtOnce(s) {
			if atOnce++; want != Unrelated {
				t.Fatalf("by its sketch %q is unlike %q; want %s", older, newer, want)
			}
		}
		if of := compared(older, fold); len(of.words) > 0 && len(of.words) <= maxCompared { // as what is saved is remembered
			s, known := sketchOf(sketchKeyOf(older))
			if _, plain := foldPlain(older); plain && known && (s != sketch{of.terms, uint16(of.loose)}) {
				t.Fatalf("the sketch of %q is %v; want %v", older, s, of)
			}
			of.remember(sketchKeyOf(older), len(of.words))
			if got := c.With(older); got != want {
				t.Fatalf("by the sketch of a saved text %q is %s to %q; want %s", older, got, newer, want)
			}
		}
		if c.unlike(older, sketchKey{}) {
			if decided++; want != Unrelated {
				t.Fatalf("%q is unlike %q; want %s", older, newer, want)
			}
		}
		found[want]++
	}
	if decided < 5_000 || atOnce < 2_000 || found[Same] < 1000 || found[Changed] < 100 || found[Rephrased] < 1000 {
		t.Errorf("of 50,000 texts %d are decided quickly, %d by their sketches, and found are %v", decided, atOnce, found)
	}
}

// Of a long text no more is looked at than shows that it is not compared.
func TestALongPlainTextIsNotReadToItsEnd(t *testing.T) {
	c := NewComparison("The service listens on port 80.")
	beyond := strings.Repeat("tea ", maxCompared+1)
	if !c.unlike(beyond+"日本", sketchKey{}) {
		t.Error("a text of too many words is read on")
	}
	if c.unlike(beyond[4:]+"日本", sketchKey{}) {
		t.Error("a text of as many words as are compared is not read")
	}
}

// A text with a verb of change may correct one that shares little with it.
func TestWhatTellsOfAChangeIsTakenApart(t *testing.T) {
	older := "Grandmother keeps seven beehives behind the orchard and sells honey at the village market every autumn morning"
	for verb, want := range map[string]bool{"moved": false, "cooked": true} {
		c := NewComparison("Aunt Agnes " + verb + " near Hamburg with both dogs, three cats, her piano, old books and two fridges")
		if got := c.unlike(older, sketchKey{}); got != want {
			t.Errorf("%s: unlike at a glance %v; want %v", verb, got, want)
		}
	}
}

// A comparison with a text that is unlike makes nothing.
func TestComparingPlainTextsMakesNothing(t *testing.T) {
	older := "Deploys to the staging cluster failed twice on Tuesday because certificates had expired during the night shift"
	c := NewComparison("Grandmother keeps seven beehives behind the orchard and sells honey at the village market every autumn morning")
	if !c.unlike(older, sketchKey{}) {
		t.Fatal("the two are not unlike")
	}
	if n := testing.AllocsPerRun(100, func() { c.With(older) }); n != 0 {
		t.Errorf("a comparison makes %v pieces of memory; want none", n)
	}
}

// A text whose words stand as they should is folded by its bytes, and any other as its words are.
func TestTextsAreFoldedByTheirBytes(t *testing.T) {
	rng, easy := rand.New(rand.NewPCG(3, 4)), 0
	for range 20_000 {
		text := oddText(rng)
		if rng.IntN(2) == 0 {
			text = strings.Join(strings.Fields(text), " ")
		}
		folded, ok := foldEasily(text)
		if !ok {
			continue
		}
		if easy++; folded != foldAny(text) {
			t.Fatalf("%q is folded to %q; want %q", text, folded, foldAny(text))
		}
	}
	if easy < 1000 {
		t.Errorf("%d texts are folded by their bytes", easy)
	}
}
