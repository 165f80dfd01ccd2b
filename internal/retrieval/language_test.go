package retrieval

import (
	"strings"
	"testing"
)

// Words of another language tell it, and else letters.
func TestStrange(t *testing.T) {
	for text, want := range map[string]string{
		"Wo wohnt die Schwester?": "wo die", "Sortiere diese Bücher": "", "Sortiere den Text in Spalten": "den in", "¿Dónde está?": "donde esta",
	} {
		small := Strange(text)
		if small == nil {
			t.Errorf("%s is taken for English", text)
			continue
		}
		var got []string
		for word := range strings.FieldsSeq(strings.ToLower(fold(strings.Trim(text, "¿?")))) {
			if small(word) {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: small are %q", text, got)
		}
	}
	for _, text := range []string{"When did my son die in the war?", "Miller", "林晓对什么过敏", "Где Анна?", ""} {
		if Strange(text) != nil {
			t.Errorf("%q is taken for another language of Latin letters", text)
		}
	}
}
