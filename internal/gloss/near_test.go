package gloss

import "testing"

// A misspelt word means something only if all that it may stand for means that.
func TestMisspeltWordsMeanOneThing(t *testing.T) {
	l := newLexicon("de", "laden=store\nlager=camp\nlaube=arbour\nlauben=arbour\nmaske=mask\n~lager=camp\n")
	for word, want := range map[string]string{
		"ladem": "store", "lagen": "", // one error from both of two
		"laubex": "arbour", "lagerx": "camp", "mask": "", "masken": "mask", "maskne": "mask", "xaske": "", "l": "",
	} {
		if got := l.near(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
