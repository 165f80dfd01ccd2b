package retrieval

import (
	"slices"
	"testing"
)

// A stem fits a misspelt word if a word that is one error away has it: an error in an ending, or where it begins,
// makes another stem.
func TestSlipsFindTheFormsOfStems(t *testing.T) {
	for _, c := range []struct {
		word     string
		language byte
		stem     string
		form     string // "": none
	}{
		{"ternes", 's', "tren", "trenes"},          // two that are swapped
		{"mauesn", 'd', "maus", "mausen"},          // where the ending begins
		{"sttein", 'd', "stein", "stein"},          // a letter too many
		{"sttein", 'd', "steine", ""},              // which is no stem
		{"vvir", 's', "viv", "vivir"},              // one too few, in the stem
		{"padrias", 'p', "pad", "padias"},          // in the ending: one of several
		{"arsivare", 'i', "arriv", "arrivare"},     // another one
		{"trabajae", 's', "trabaj", "trabaje"},     // in the ending
		{"trabajax", 's', "trabaj", "trabaja"},     // one too many behind it
		{"xrabajar", 's', "trabaj", "trabajar"},    // the first letter
		{"xxabajar", 's', "trabaj", ""},            // two errors
		{"trabajxxr", 's', "trabaj", ""},           // two in the ending
		{"hausxn", 'd', "haus", "hausen"},          // in the ending alone
		{"kastanie", 'd', "kast", ""},              // what follows is no ending
		{"posa", 's', "pas", ""},                   // a word of four letters that is one error away
		{"куипть", RussianStems, "куп", "купить"},  //
		{"деей", RussianStems, "дет", "детей"},     //
		{"الكتتاب", ArabicStems, "كتاب", "الكتاب"}, //
		{"vivirr", 'x', "viv", ""},                 // a language that nobody knows
		{"vivirr", 's', "", ""},                    //
		{"нет", 's', "viv", ""},                    //
		{"maisonns", 'f', "maison", "maisons"},     //
		{"travailliat", 'f', "travaill", "travaillait"},
	} {
		form, ok := SlipsOf(c.word).Form(c.language, c.stem)
		if form != c.form || ok != (form != "") {
			t.Errorf("%s with the stem %s of %c: %q, %v; want %q", c.word, c.stem, c.language, form, ok, c.form)
		}
		if ok && Distance(c.word, form, 2) != 1 {
			t.Errorf("%s and %s are not one error apart", c.word, form)
		}
	}
}

// Of English words those count that the list has and that are one error away.
func TestSlipsFindEnglishWords(t *testing.T) {
	for word, want := range map[string][]string{
		"windw": {"wind", "winds", "windy", "window"}, "kniife": {"knife"}, "arsivare": nil, "куипть": nil, "braek": {"brak", "brake", "break"},
		"tteach": {"teach"}, "xxteach": nil,
	} {
		got := SlipsOf(word).English()
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}

// The language of terms is that of the script.
func TestTermLanguage(t *testing.T) {
	for word, want := range map[string]byte{"word": 0, "слово": RussianStems, "كتاب": ArabicStems, "λόγος": 0} {
		if got := SlipsOf(word).TermLanguage(); got != want {
			t.Errorf("%s: %c, want %c", word, got, want)
		}
	}
}

// A syllable of Hangul may have another first letter, another vowel, and another last letter or none.
func TestMistypedSyllables(t *testing.T) {
	others := Mistyped('간')
	if len(others) != hangulFirsts-1+hangulVowels-1+hangulLasts-1 {
		t.Errorf("%d syllables", len(others))
	}
	for _, r := range "난건가각강" {
		if !slices.Contains(others, r) {
			t.Errorf("%c is none of them", r)
		}
	}
	for _, r := range "간너군" {
		if slices.Contains(others, r) != (r == '군') {
			t.Errorf("%c: %v", r, r != '군')
		}
	}
	for _, r := range "a漢かㄱ\uABFF\uD7A4" {
		if got := Mistyped(r); got != nil {
			t.Errorf("%c: %d syllables", r, len(got))
		}
	}
}

// Vowels that are written on letters are letters of a word that may be misspelt.
func TestMarksOfVowelSigns(t *testing.T) {
	if m := MarkOf("मुझे"); m.letters() != 4 || m.Edits() != 1 || Distance("मुेझ", "मुझे", 1) != 1 {
		t.Errorf("a word of %d letters, and %d errors are mended", m.letters(), m.Edits())
	}
	if words := Parse("मुेझ", 8).Words; len(words) != 1 || words[0].Spelling == "" {
		t.Errorf("a query of it: %+v", words)
	}
}
