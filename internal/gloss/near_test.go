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

// What a letter too much, or two that are swapped, make of a word comes before what another letter makes of it.
func TestWhatCanBeUndoneComesFirst(t *testing.T) {
	l := newLexicon("es", "~llav=key\n~plan=plan\n~plano=piano\n~tren=train\n~tern=suit\nsola=alone\nsolar=sun\n")
	for word, want := range map[string]string{
		"trenees": "train", "llavve": "key", "solra": "", // both of two
	} {
		if got := l.near(word); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// Syllables of words are known, others are not.
func TestSyllablesOfWords(t *testing.T) {
	for r, want := range map[rune]bool{'가': true, '사': true, '뷁': false, 'a': false} {
		if HasSyllable(r) != want {
			t.Errorf("%c: %v", r, !want)
		}
	}
}
