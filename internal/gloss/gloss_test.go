package gloss_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/gloss"
)

// vocabulary is a little English.
func vocabulary(word string) bool {
	return slices.Contains(strings.Fields("hotel mutter die gift computer meeting with walrus acme likes"), word)
}

// read is what the words of a text mean: what nobody knows in brackets, what is left as it is in quotes; without small words.
func read(text string) string {
	return meanings(gloss.Words(text, vocabulary))
}

func meanings(words []gloss.Word) string {
	if words == nil {
		return "English"
	}
	var out []string
	for _, w := range words {
		switch {
		case w.Small:
		case w.In == "":
			out = append(out, `"`+strings.TrimSpace(w.Text)+`"`)
		case w.English == "":
			out = append(out, "("+w.Text+")")
		default:
			out = append(out, strings.ReplaceAll(w.English, " ", "_"))
		}
	}
	return strings.Join(out, " ")
}

// A query without a word that tells its language is in one that has a word one error away, unless English has one.
func TestMisspeltWordsTellALanguage(t *testing.T) {
	for text, want := range map[string]string{
		"bilbioteca": "library", "Bilbioteca": "English", // a name
		"windw": "English", "Schlüsssel": "key", "xxqqzz": "English", "bilbioteca xxqqzz qqxxzz": "English",
		"computer bilbioteca mutter": "English",
	} {
		got := meanings(gloss.Asked(text, vocabulary))
		if got != want {
			t.Errorf("asked %q: %s, want %s", text, got, want)
		}
		for _, w := range gloss.Asked(text, vocabulary) {
			if w.Guessed != (w.English != "") {
				t.Errorf("%q: %+v", text, w)
			}
		}
		if got := read(text); got != "English" && text != "Schlüsssel" {
			t.Errorf("stored %q: %s", text, got)
		}
	}
	for _, w := range gloss.Asked("Wo ist der Schlüssel", vocabulary) {
		if w.Guessed {
			t.Errorf("%+v is a guess", w)
		}
	}
}

// In what somebody looks for a word that nobody knows means what the only one means that a typing error makes of it. In a
// text that is stored it means nothing, and a name or a short word does nowhere.
func TestMisspeltWordsOfAQueryMeanWhatTheyStandFor(t *testing.T) {
	for text, want := range map[string]string{
		"Wo ist der Schlüsel":        "where key",
		"Wo ist der Schlüssle":       "where key",
		"Wo ist der Schlüsssel":      "where key",
		"Wo ist der Schlüssxl":       "where key",
		"Wo ist der Xchlüssel":       "where (xchlussel)", // the first letter
		"Wo ist der Schlüxxel":       "where (schluxxel)", // two errors
		"Wo ist der Hnd":             "where (hnd)",
		"Wo ist die Katzenbrille":    "where cat_glasses",
		"¿Dónde está la bilbioteca?": "where library",
		"Où est la bibliohtèque ?":   "where bookcase/library",
		"¿Dónde está Bilbioteca?":    "where (bilbioteca)", // a name
		"Где мой праспорт?":          "where passport",
		"Где мой Праспорт?":          "where (праспорт)",
		"Wo sind die Wohungen":       "where apartment", // by its stem
	} {
		if got := meanings(gloss.Asked(text, vocabulary)); got != want {
			t.Errorf("asked %q: %s, want %s", text, got, want)
		}
		if got := read(text); got == strings.TrimPrefix(want, "where ") && !strings.ContainsAny(want, "(_") {
			t.Errorf("stored %q: %s, too", text, got)
		}
	}
}

// What a question asks with has a meaning in what somebody looks for alone, the longest phrase first.
func TestQuestionsAskAsInEnglish(t *testing.T) {
	for text, want := range map[string]string{
		"讲座什么时候":             "when",
		"他几岁":                "how_old_age",
		"袁宇轩住在哪里":            "where",
		"犬は何歳":               "how_old_age",
		"언제 오나":              "when",
		"Wie alt ist Katze":  "how_old_age cat",
		"Quel âge a le chat": "how_old_age cat",
		"Сколько кошка":      "how_many cat",
		"كم قطة":             "how_many cat",
	} {
		if got := meanings(gloss.Asked(text, vocabulary)); !strings.Contains(got, want) {
			t.Errorf("asked %q: %s, want %s", text, got, want)
		}
		if got := read(text); strings.Contains(got, "how") || strings.Contains(got, "when") || strings.Contains(got, "where") {
			t.Errorf("stored %q: %s", text, got)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "English",
		"?!":                                   "English",
		"My daughter is allergic to nuts":      "English",
		"Likes walruses":                       "English",
		"Zoë's café is in Zürich":              "English",
		"Acme Kubernetes Postgres":             "English",
		"Likes trinken":                        "(likes) drink",
		"Computer hotel meeting trinken":       "English",
		"Unsere Katzenbrille":                  "cat_glasses",
		"지훈집이":                                 "(지훈집이)",
		"The die is cast":                      "English",
		"नमस्ते":                               "English", // nothing is known of the script
		"Meine Töchter trinken gern Milch":     "daughter drink (gern) milk",
		"Hund":                                 "dog",
		"Mutter trinkt immer schwarzen Kaffee": "mother drink always black coffee",
		"Der Zahnarzttermin ist am Montag":     "appointment monday",
		"Ich habe ein Meeting mit Kurt":        "meeting (kurt)",
		"Mi hermana vive en una casa grande":   "sister alive/live home/house big",
		"Ma sœur a acheté une machine à laver": "sister buy washing_machine",
		"Mia sorella lavora in ospedale":       "sister work hospital",
		"A minha irmã trabalha no hospital":    "sister work hospital",
		"Mijn zus werkt in het ziekenhuis":     "sister work hospital",
		"Моя сестра работает врачом":           "sister work doctor",
		"أختي تعمل طبيبة":                      "sister work doctor",
		"我女儿对花生过敏":                             "daughter peanut_allergy",
		"我女兒對花生過敏":                             "daughter peanut_allergy",
		"妹は病院で働いています":                          "younger_sister hospital work",
		"여동생은 병원에서 일해요":                        "sister hospital work",
		"请买狗粮":                                 "buy dog_food",
		"Docker 容器":                            `"Docker" container`,
		"喆婳很喜欢狗":                               "(喆婳) like dog",
	} {
		if got := read(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// What a text is read as is in the text, whatever the text.
func FuzzWords(f *testing.F) {
	for _, text := range []string{"Der Hund – 狗, 犬は собака", "\xff한국\xff어 كلب", "ー", "ー犬", "é", "ß", "の", "가가가"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range gloss.Words(text, func(string) bool { return false }) {
			if w.Text == "" || utf8.ValidString(text) && !utf8.ValidString(w.Text) || w.English != "" && w.In == "" {
				t.Errorf("%q: %+v", text, w)
			}
		}
	})
}

func BenchmarkWords(b *testing.B) {
	for name, text := range map[string]string{
		"English": "Caroline said that her daughter is allergic to nuts, and that she moved to Oslo in the spring of 2021.",
		"German":  "Caroline hat gesagt, dass ihre Tochter gegen Nüsse allergisch ist und sie im Frühling 2021 nach Oslo gezogen ist.",
		"Chinese": "卡罗琳说她女儿对坚果过敏，她二〇二一年春天搬到了奥斯陆。",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				gloss.Words(text, vocabulary)
			}
		})
	}
}
