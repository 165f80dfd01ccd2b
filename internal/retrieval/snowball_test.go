package retrieval

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/russian"
)

// Words of English, French and Russian have the stems that package snowball gives them, whatever they are made of.
func TestStemsAreThoseOfSnowball(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	parts := func(letters string, lists ...*endings) []string {
		all := strings.Split(letters, "")
		for _, list := range lists {
			for _, endings := range list {
				for _, ending := range endings {
					all = append(all, strings.ToLower(ending))
				}
			}
		}
		return all
	}
	for _, c := range []struct {
		name        string
		parts       []string
		stem, given func(string) string
	}{
		{"French", append(parts("aeiouybcdfglmnpqrstvxzéàw",
			frenchSuffixes, frenchVerbs, frenchVerbsI, frenchRests, frenchDoubles),
			"par", "col", "qu", "iv", "at", "ic", "eus", "abl"),
			frenchSnowball, func(w string) string { return french.Stem(w, true) }},
		{"English", append(parts("aeiouybcdefghijklmnopqrstuvwxyzyé'", englishPlurals, englishVerbs, englishDoubles, englishCut,
			englishNouns, englishQualities, englishRests), "gener", "commun", "arsen", "sky", "proceed", "news", "y", "yy", "ay"),
			englishStem, func(w string) string { return english.Stem(w, true) }},
		{"Russian", parts("абвгдежзийклмнопрстуфхцчшщъыьэюяё", russianGerunds, russianReflexives, russianAdjectives,
			russianParticiples, russianVerbs,
			russianNouns, russianQualities, superlatives),
			russianSnowball, func(w string) string { return russian.Stem(w, true) }},
	} {
		for range 300_000 {
			var word strings.Builder
			for range random.IntN(7) {
				word.WriteString(c.parts[random.IntN(len(c.parts))])
			}
			if got, want := c.stem(word.String()), c.given(word.String()); got != want {
				t.Fatalf("the stem of the %s word %q is %q; want %q", c.name, word.String(), got, want)
			}
		}
	}
}
