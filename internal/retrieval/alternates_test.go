//go:build !race

package retrieval

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"
)

// numeralWords are numbers as words of languages other than English, whose own are terms
// already. Left out are words that mean something else in a language with Latin letters: on,
// due, once, cent, bin.
const numeralWords = `
de: 2=zwei 3=drei 4=vier 5=fünf 6=sechs 7=sieben 8=acht 9=neun 10=zehn 11=elf 12=zwölf 13=dreizehn 14=vierzehn 15=fünfzehn 16=sechzehn
	17=siebzehn 18=achtzehn 19=neunzehn 20=zwanzig 30=dreißig 40=vierzig 50=fünfzig 60=sechzig 70=siebzig 80=achtzig 90=neunzig 100=hundert 1000=tausend
fr: 2=deux 3=trois 4=quatre 5=cinq 6=six 7=sept 8=huit 9=neuf 10=dix 11=onze 12=douze 13=treize 14=quatorze 15=quinze 16=seize 20=vingt 30=trente
	40=quarante 50=cinquante 60=soixante 1000=mille
es: 2=dos 3=tres 4=cuatro 5=cinco 6=seis 7=siete 8=ocho 9=nueve 10=diez 12=doce 13=trece 14=catorce 16=dieciséis 17=diecisiete 18=dieciocho
	19=diecinueve 20=veinte 30=treinta 40=cuarenta 50=cincuenta 60=sesenta 70=setenta 80=ochenta 90=noventa 100=cien 100=ciento
pt: 2=dois 2=duas 3=três 4=quatro 5=cinco 6=seis 7=sete 8=oito 9=nove 10=dez 11=onze 12=doze 13=treze 20=vinte 30=trinta 40=quarenta 50=cinquenta 100=cem
it: 3=tre 4=quattro 5=cinque 7=sette 8=otto 9=nove 10=dieci 11=undici 12=dodici 13=tredici 20=venti 30=trenta 40=quaranta 50=cinquanta 100=cento 1000=mille
nl: 2=twee 3=drie 4=vier 5=vijf 6=zes 7=zeven 8=acht 9=negen 10=tien 11=elf 12=twaalf 13=dertien 20=twintig 30=dertig 40=veertig 50=vijftig 100=honderd 1000=duizend
ru: 2=два 2=две 3=три 4=четыре 5=пять 6=шесть 7=семь 8=восемь 9=девять 10=десять 11=одиннадцать 12=двенадцать 20=двадцать 30=тридцать 40=сорок
	50=пятьдесят 100=сто 1000=тысяча
pl: 2=dwa 2=dwie 3=trzy 4=cztery 5=pięć 6=sześć 7=siedem 8=osiem 9=dziewięć 10=dziesięć 12=dwanaście 20=dwadzieścia
tr: 2=iki 3=üç 4=dört 5=beş 6=altı 7=yedi 8=sekiz 9=dokuz 20=yirmi 30=otuz 40=kırk 50=elli 60=altmış 70=yetmiş 80=seksen 90=doksan
el: 2=δύο 3=τρία 4=τέσσερα 5=πέντε 6=έξι 7=επτά 8=οκτώ 9=εννέα 10=δέκα 20=είκοσι 100=εκατό
ar: 2=اثنان 3=ثلاثة 4=أربعة 5=خمسة 6=ستة 7=سبعة 8=ثمانية 9=تسعة 10=عشرة 20=عشرون 100=مئة
he: 2=שניים 2=שתיים 3=שלושה 3=שלוש 4=ארבעה 4=ארבע 5=חמישה 5=חמש 6=שישה 7=שבעה 7=שבע 8=שמונה 9=תשעה 10=עשרה 10=עשר 20=עשרים
hi: 2=दो 3=तीन 4=चार 5=पाँच 5=पांच 6=छह 7=सात 8=आठ 9=नौ 10=दस 20=बीस 100=सौ`

// Bounds on what names an emoji: a word that stands alone as its name or as a keyword,
// unless so many emoji have it, more where the name has it, too.
const (
	mostByName    = 32
	mostByKeyword = 8
	mostNames     = 12 // of an emoji, so that a query with it costs little
	leastName     = 3  // letters; shorter words are mostly small ones of some language
)

// emojiSource reads testdata/cldr/emoji.tsv.gz: language, emoji, name, keywords.
func emojiSource(t *testing.T) (rows [][]string) {
	t.Helper()
	packed, err := os.ReadFile("testdata/cldr/emoji.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}

// marks are the marks of the languages with stems of their own.
var marks = map[string]byte{"de": 'd', "fr": 'f', "es": 's', "pt": 'p', "it": 'i', "nl": 'n'}

// isFunction reports whether a word is a small one in a language.
func isFunction(word string) bool {
	return word == "not" || stopWords[word] || slices.ContainsFunc(languages, func(l language) bool { return l.stop[word] })
}

// englishBy are the terms of the English words that would have a short stem in another language. Long
// words have none.
var englishBy = sync.OnceValue(func() map[string][]string {
	by := map[string][]string{}
	for at := range wordsListed() {
		word, _, _ := strings.Cut(englishText[at:], "\n")
		if len(word) > 6 {
			continue
		}
		term, _ := Normalize(word)
		for l := range languages {
			key := alternatesStem + stemAs(word, l)[1:]
			if isShort(key) && !slices.Contains(by[key], term) {
				by[key] = append(by[key], term)
			}
		}
	}
	return by
})

// isShort reports whether a key is a stem of few letters.
func isShort(key string) bool {
	return strings.HasPrefix(key, alternatesStem) && utf8.RuneCountInString(key) <= len(alternatesStem)+1+leastName
}

// isEnglish reports whether a key is a short stem that fewer English words have for the emoji than for
// something else: Spanish "hombre" leaves what "home" does.
func isEnglish(key, emoji string, table sets) bool {
	means := 0
	for _, term := range englishBy()[key] {
		if table[term][emoji] {
			means++
		} else {
			means--
		}
	}
	return means < 0
}

// keysOf are the terms by which a query has a name of one word, in a language; nil: it has
// more words.
func keysOf(name, code string) (keys []string) {
	name = strings.ToLower(fold(name))
	if strings.IndexFunc(name, isCJK) >= 0 {
		other := func(r rune) bool { return !isCJK(r) }
		if strings.IndexFunc(name, other) < 0 && utf8.RuneCountInString(name) <= mostNamed {
			return []string{name}
		}
		return nil
	}
	if !allName(name) || isFunction(name) || utf8.RuneCountInString(name) < leastName {
		return nil
	}
	term, _ := Normalize(name)
	keys = append(keys, term)
	if at := slices.IndexFunc(languages, func(l language) bool { return l.mark == marks[code] }); at >= 0 {
		if s := stemIn(name, at); s != "" && utf8.RuneCountInString(name) >= leastInflected {
			keys = append(keys, alternatesStem+s[1:])
		}
	}
	return keys
}

// allName reports whether a text is one word.
func allName(text string) bool {
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }
	return text != "" && strings.IndexFunc(text, other) < 0
}

// holdsWord reports whether a name has a word.
func holdsWord(name, word string) bool {
	fields := strings.Fields(strings.ToLower(fold(name)))
	return slices.ContainsFunc(fields, func(f string) bool { return f == word || f == word+"s" })
}

// A set of terms by a term.
type sets map[string]map[string]bool

func (s sets) add(key, term string) {
	if s[key] == nil {
		s[key] = map[string]bool{}
	}
	s[key][term] = true
}

// madeAlternates makes the table of its sources.
func madeAlternates(t *testing.T) string {
	table := sets{}
	byLanguage := map[string][2]sets{}
	for _, row := range emojiSource(t) {
		l := row[0]
		if byLanguage[l][0] == nil {
			byLanguage[l] = [2]sets{{}, {}}
		}
		emoji := fold(row[1])
		if !isEmoji([]rune(emoji)[0]) || utf8.RuneCountInString(emoji) > 1 {
			continue // several characters: their words are too many for one
		}
		for _, word := range append(strings.Split(row[3], "|"), row[2]) {
			by := 1
			if holdsWord(row[2], strings.ToLower(fold(word))) {
				by = 0
			}
			for _, key := range keysOf(word, l) {
				byLanguage[l][by].add(key, emoji)
			}
		}
	}
	names := map[string]map[string]int{} // by emoji: terms, and how many emoji they name
	for _, of := range byLanguage {
		for i, most := range []int{mostByName, mostByKeyword} {
			for key, emoji := range of[i] {
				if len(emoji) > most {
					continue
				}
				for e := range emoji {
					table.add(key, e)
					if i == 0 && !strings.HasPrefix(key, alternatesStem) && utf8.RuneCountInString(key) > 1 {
						if names[e] == nil {
							names[e] = map[string]int{}
						}
						names[e][key] = max(names[e][key], len(emoji)) // of the languages that have the word
					}
				}
			}
		}
	}
	for e, terms := range names {
		sorted := slices.SortedFunc(maps.Keys(terms), func(a, b string) int {
			if terms[a] != terms[b] {
				return terms[a] - terms[b]
			}
			return strings.Compare(a, b)
		})
		for i, term := range sorted {
			inPairs := strings.IndexFunc(term, isCJK) == 0 && utf8.RuneCountInString(term) > 2
			if i < mostNames && !inPairs {
				table.add(e, term)
			}
		}
	}
	for key, emoji := range table {
		maps.DeleteFunc(emoji, func(e string, _ bool) bool { return isEnglish(key, e, table) })
		if len(emoji) == 0 {
			delete(table, key)
		}
	}
	for line := range strings.SplitSeq(numeralWords, "\n") {
		for _, field := range strings.Fields(line) {
			if digits, word, ok := strings.Cut(field, "="); ok {
				term, _ := Normalize(strings.ToLower(fold(word)))
				table.add(digits, term)
				table.add(term, digits)
			}
		}
	}
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(table)) {
		out.WriteString(key + "\t" + strings.Join(slices.Sorted(maps.Keys(table[key])), " ") + "\n")
	}
	return out.String()
}

// The table is what its sources and the analyser make of it: after a change of stems it is
// written again, with go test ./internal/retrieval -update.
func TestAlternatesAreThoseOfTheirSources(t *testing.T) {
	made := madeAlternates(t)
	if *update {
		if err := os.WriteFile("alternates.txt", []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
		alternatesText = made
		if err := os.WriteFile("alternates.bits", bitsOf(made), 0o644); err != nil {
			t.Fatal(err)
		}
		alternatesBits = string(bitsOf(made))
	}
	if made != alternatesText {
		t.Fatalf("the table has %d bytes, its sources give %d: run go test ./internal/retrieval -update, and look at what changed", len(alternatesText), len(made))
	}
	if alternatesBits != string(bitsOf(made)) {
		t.Fatal("the bits are not those of the table: run go test ./internal/retrieval -update")
	}
	for term, want := range map[string]string{
		"dog": "🐕", "^dhund": "🐕", "собак": "🐕", "熊猫": "🐼", "강아지": "🐶", "3": "drei", "zehn": "10", "tada": "🎉", "🍕": "pizza",
	} {
		if got := alternatesOf(term); !slices.Contains(got, want) {
			t.Errorf("%q stands for %q, not for %s", term, got, want)
		}
	}
	for _, term := range []string{"", "up", "not", "die", "a", "zzzz", "\x00", "\U0010ffff"} {
		if got := alternatesOf(term); got != nil {
			t.Errorf("%q stands for %q", term, got)
		}
	}
}

// bitsOf are the bits of the terms of a table.
func bitsOf(table string) []byte {
	bits := make([]byte, 1<<16)
	for line := range strings.Lines(table) {
		key, _, _ := strings.Cut(line, "\t")
		bit := alternatesBit(key)
		bits[bit/8] |= 1 << (bit % 8)
	}
	return bits
}

// Each term of the table is found, the first and the last as well.
func TestAlternatesAreFound(t *testing.T) {
	for line := range strings.Lines(alternatesText) {
		key, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if got, ok := alternatesLine(key); !ok || got != rest {
			t.Fatalf("%q stands for %q, want %q", key, got, rest)
		}
	}
}

// A query looks for what means the same in another writing, in both directions: a name for
// its emoji, whatever the colour of its skin, and a number in words for its digits.
func TestQueriesLookForAlternates(t *testing.T) {
	for _, c := range []struct{ query, text string }{
		{"dogs", "sends 🐕 every day"}, {"hunde", "🐕"}, {"pizza", "🍕🍕"}, {"🍕", "we had pizza"}, {"👍", "👍🏽 said Lena"}, {"thumbs up", "👍🏿"},
		{"熊猫的照片", "🐼来了"}, {"강아지가", "🐶 사진"}, {"3 kisten", "drei Kisten"}, {"drei", "3 Kisten"}, {"25 beds", "twenty-five beds"},
		{"twenty-five", "25"}, {"5階", "五階にあります"}, {"五階", "5階にあります"}, {"7 утра", "семь утра"},
	} {
		terms := map[string]bool{}
		Analyze(c.text, func(token Token) {
			term, _ := Normalize(token.Text)
			terms[term] = true
		})
		if found := slices.ContainsFunc(Parse(c.query, 40).Words, func(w QueryWord) bool {
			// The word itself, or what stands for it; a counter or a noun alone is no answer.
			return terms[w.Term] && w.Term != "kist" && w.Term != "утр" && w.Term != "bed" && !isCJK([]rune(w.Term)[0]) ||
				slices.ContainsFunc(w.Or(nil, true), func(s string) bool { return terms[s] && s[0] != stemMark }) ||
				w.Optional && terms[w.Term]
		}); !found {
			t.Errorf("%q does not look for what %q has: %+v", c.query, c.text, Parse(c.query, 40).Words)
		}
	}
	for query, not := range map[string]string{"三星": "3", "4711点": "一点", "twenty": "25"} {
		for _, w := range Parse(query, 40).Words {
			if w.Term == not || slices.Contains(w.Or(nil, true), not) {
				t.Errorf("%q looks for %q", query, not)
			}
		}
	}
}

// Few words that are not in the table are looked for in its lines.
func TestAlternatesPassOverWords(t *testing.T) {
	const words = 10_000
	looked := 0
	for i := range words {
		bit := alternatesBit("word" + strconv.Itoa(i))
		looked += int(alternatesBits[bit/8] >> (bit % 8) & 1)
	}
	if looked > words/8 {
		t.Errorf("%d of %d words that are not in the table are looked for in it", looked, words)
	}
}

func BenchmarkAlternates(b *testing.B) {
	for b.Loop() {
		alternatesOf("birthday")
		alternatesOf("zebra")
		alternatesOf("quarterly")
	}
}
