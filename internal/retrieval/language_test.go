package retrieval

import (
	"slices"
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

// Forms of a word have one stem in their language, as a text has it without marks; words that are merely alike do not.
func TestStemsOfForms(t *testing.T) {
	for mark, rows := range map[byte]string{
		'd': "haus hauser hausern hauses|zahn zahne|stern sterne|termin termine terminen|verein vereine|arbeiten arbeitet arbeitest arbeitete|schlussel schlusseln" +
			"|ergebnis ergebnisse|hof hofe|lehrerin lehrerinnen|kochen kocht kochend|rat|ratte" +
			"|kaufen gekauft gekaufte gekauften|absagen abgesagt abgesagter|melden gemeldet|sammeln gesammelt|zuruckschicken zuruckgeschickt" +
			"|schicht|geschichte geschichten|sicht|gesicht gesichter|schaf|geschaft|dach dacher|gedacht|fahren|gefahr|niesen|geniessen|richten|gericht",
		'f': "cle cles|commander commandees commandee|manger mangent mange|vendre vendent|journal journaux|moment|client clients",
		's': "luz luces|pez peces|buscar busque|pagar pague|empezar empiezan|poder puede|cancion canciones|coche coches|cocer|quemar quema|pie",
		'p': "pao paes|violao violoes|morar moramos|comprar comprei compraria comprassem|papel papeis|luz luzes|ficar fique|jardim jardins",
		'i': "banca banche|lago laghi|lavorare lavora lavoravano|amico amici amiche|bosco boschi|poggio",
		'n': "boom bomen|pot potten|brief brieven|werken werkt werkte|kat katten|man",
	} {
		l := slices.IndexFunc(languages, func(l language) bool { return l.mark == mark })
		of := map[string]string{} // the first form by stem
		for row := range strings.SplitSeq(rows, "|") {
			forms := strings.Fields(row)
			for _, form := range forms {
				if got, want := stemIn(form, l), stemIn(forms[0], l); got != want || got == "" {
					t.Errorf("%c: %s has the stem %q, %s has %q", mark, form, got, forms[0], want)
				}
			}
			if other, ok := of[stemIn(forms[0], l)]; ok {
				t.Errorf("%c: %s and %s have one stem", mark, other, forms[0])
			}
			of[stemIn(forms[0], l)] = forms[0]
		}
	}
}

// A text without small words is in the languages of its letters, unless it is English by a small word.
func TestLettersTellALanguage(t *testing.T) {
	for text, want := range map[string]string{
		"Bücher zurückgeben": "d", "Limões comprados": "p", "Canción nueva": "sp", "Città": "fpi", "ÄRZTE": "d", "Bu\u0308cher": "d",
		strings.Repeat("x", 600) + " é": "", // far behind the first words
		"Books for the café":            "", "Books returned": "", "Wir essen Pâté": "d", "Привет": "",
	} {
		got := ""
		for _, l := range languagesOf(text, fold(text)) {
			got += string(languages[l].mark)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
