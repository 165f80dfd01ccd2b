package retrieval

import (
	"fmt"
	"slices"
	"testing"
)

// The languages of a text are remembered by what it is, and forgotten with all that is remembered of words.
func TestLanguagesAreTold(t *testing.T) {
	german, place := "der Hund ist im Garten", func(text string) uint64 { return sketchKeyOf(text)[0] % uint64(len(languagesTold.last)) }
	neutral := ""
	for i := 0; neutral == "" || place(neutral) != place(german); i++ {
		neutral = fmt.Sprint("walrus ", i)
	}
	for range 2 {
		for _, text := range []string{german, german, neutral, neutral} {
			of, english := languagesAndEnglish(text, text)
			want, english2 := countedLanguages(text, text)
			if !slices.Equal(of, want) || english != english2 {
				t.Errorf("%q is in %v, English %v; want %v, %v", text, of, english, want, english2)
			}
		}
	}
	for text, want := range map[string]bool{"the walrus is here": true, "walrus here": false} {
		for range 2 {
			if of, english := languagesAndEnglish(text, text); of != nil || english != want {
				t.Errorf("%q is in %v, English %v", text, of, english)
			}
		}
	}
	if key := sketchKeyOf("walrus here"); languagesTold.of(key) == 0 {
		t.Error("nothing is remembered of a text")
	}
	ForgetStems()
	if key := sketchKeyOf("walrus here"); languagesTold.of(key) != 0 {
		t.Error("something is remembered of a text that may be erased")
	}
}

// Where no text has a stem, a word counts as what it does elsewhere, without its stems.
func TestWordsWithoutStems(t *testing.T) {
	for _, word := range []string{"hearts", "gatos", "walrus", "dogs", "sterne", "qqq", "Будильники"} {
		term, _ := Normalize(word)
		w := QueryWord{Term: term, word: word, made: Word}
		want := slices.DeleteFunc(w.Or(nil, true), func(term string) bool { return term[0] == stemMark })
		for range 2 {
			if got := w.Or(nil, false); !slices.Equal(got, want) {
				t.Errorf("%s: %q; want %q", word, got, want)
			}
		}
	}
}

// A small word that may be a name is one behind a word with content, too, and others are no words then.
func TestSmallWordsBehindOthers(t *testing.T) {
	var terms []string
	for _, w := range AppendWords(make([]QueryWord, 0, 3), "the walrus and may of it", 10) {
		terms = append(terms, w.Term)
	}
	if !slices.Equal(terms, []string{"walrus", "MAY", "IT"}) {
		t.Errorf("the words are %q", terms)
	}
	if words := AppendWords(nil, "of the and", 10); len(words) != 3 {
		t.Errorf("a query of small words has %d words", len(words))
	}
}
