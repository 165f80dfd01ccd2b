package embedding_test

import (
	"math"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
)

var _ loci.KnowingEmbedder = (*embedding.Static)(nil)

// TestKnows checks words of each kind against a vocabulary made for it.
func TestKnows(t *testing.T) {
	m := small(4)
	m.tokens = append(append([]string{}, smallTokens...), "a", "7", "42", "##7", "на", "п", "##р", "##и", "##ович", "x", "##y", "##zz")
	for len(m.scales) < len(m.tokens) {
		m.scales = append(m.scales, 0.01)
		m.codes = append(m.codes, 1, 2, 3, 4)
	}
	e := static(t, m.file())
	for text, want := range map[string]float64{
		"":                 1,
		"! 7 a":            1, // signs, digits and letters say nothing
		"the car":          1,
		"cars":             1, // car ##s
		"427":              1, // 42 ##7
		"茶":                0,
		"茶茶茶 tea":          0.25,
		"tea! 茶":           0.5,
		"quux":             0, // [UNK]
		"quux tea":         0.5,
		"при":              0,   // letter by letter
		"на при":           0.5, // a word of it is known
		"привич":           0,   // [UNK]: no piece for its end
		"пович":            1,   // п ##ович: most of it
		"xyzz":             1,   // x ##y ##zz
		"xy":               0,   // x ##y
		"the car 7 ! tea茶": 0.75,
	} {
		if got := e.Knows(text); math.Abs(got-want) > 1e-12 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	m.spoil = func(header map[string]any, payload []byte) { payload[0]++ }
	if got := static(t, m.file()).Knows("茶"); got != 1 {
		t.Errorf("a damaged model knows %v", got)
	}
}

// The model of English knows English, and no Chinese, Japanese or Korean as long as nobody says what their words mean.
func TestPiecesKnowEnglish(t *testing.T) {
	e := pieces(t)
	for text, want := range map[string][2]float64{
		"Where did Caroline travel to in the summer of 2023?": {0.99, 1},
		"What is Zoya's favourite hors d'oeuvre?":             {0.8, 1},
		"林晓对什么过敏？":                                            {0, 0}, "中村さんの犬の名前は何ですか": {0, 0}, "지훈이 좋아하는 음식은?": {0, 0},
		"Docker 容器怎么停": {0.1, 0.3}, "Где живёт Анна?": {0, 0.4},
	} {
		if got := e.Knows(text); got < want[0] || got > want[1] {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// A vocabulary of English spells words of other languages of Latin letters out in pieces that
// mean nothing there: all of their texts are alike by them.
func TestPiecesDoNotKnowOtherLatinLanguages(t *testing.T) {
	e := pieces(t)
	for text, want := range map[string][2]float64{
		"Wogegen ist meine Tochter allergisch?":                 {0, 0},
		"¿Qué no puede comer nunca mi hija?":                    {0, 0},
		"Quand vais-je chez le dentiste ?":                      {0, 0},
		"en la casa del pueblo":                                 {0, 0}, // all of these are in it whole
		"Wie starte ich den Docker Container neu?":              {0, 0.5},
		"Combien font 17 pour cent de 240 ?":                    {0, 0.5}, // whole words, but of French
		"When did my son die in the war?":                       {1, 1},   // "son", "die" and "war" are small elsewhere
		"die hard":                                              {1, 1},
		"photosynthesis":                                        {1, 1}, // a rare word, and nothing says that it is foreign
		"Which café did Zoë and I visit on our trip to Norway?": {1, 1},
	} {
		if got := e.Knows(text); got < want[0] || got > want[1] {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func BenchmarkKnows(b *testing.B) {
	e := builtin(b)
	e.Knows("")
	b.ReportAllocs()
	for b.Loop() {
		e.Knows("Where did Caroline travel to in the summer of 2023?")
	}
}

// With weights of 1 the vector equals that of Embed to the bit. A word of weight 0 counts as
// absent, and without any word there is no vector.
func TestWordsAreWeighed(t *testing.T) {
	m := small(4)
	m.tokens = append(append([]string{}, smallTokens...), "harbour")
	m.scales = append(m.scales, 0.01)
	m.codes = append(m.codes, 4, -3, 2, 1)
	e := static(t, m.file())
	embed := func(text string) []float32 {
		rows, err := e.Embed(t.Context(), []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return rows[0]
	}
	var asked []string
	all := e.EmbedWeighed("the cars! tea harbour", func(word string) float64 { asked = append(asked, word); return 1 })
	if !slices.Equal(all, embed("the cars! tea harbour")) {
		t.Errorf("with weights of 1 %v, want %v", all, embed("the cars! tea harbour"))
	}
	if !slices.Equal(asked, []string{"the", "cars", "!", "tea", "harbour"}) {
		t.Errorf("asked for the weights of %q", asked)
	}
	without := e.EmbedWeighed("cars tea", func(word string) float64 {
		if word == "cars" {
			return 0
		}
		return 1
	})
	if !slices.Equal(without, embed("tea")) || slices.Equal(without, embed("cars tea")) {
		t.Errorf("without cars %v, want %v", without, embed("tea"))
	}
	if row := e.EmbedWeighed("tea harbour", func(string) float64 { return 0 }); row != nil {
		t.Errorf("of nothing %v", row)
	}
}

// What is only spelled out in letters of another script adds nothing to a vector: a text of
// nothing else has none, and is like no query. A code in Latin letters keeps its own, and so do
// Chinese characters, each of which is a word.
func TestSpelledOutWordsOfOtherScriptsMeanNothing(t *testing.T) {
	e := pieces(t)
	zero := func(text string) bool {
		return !slices.ContainsFunc(rows(t, e, text)[0], func(x float32) bool { return x != 0 })
	}
	for _, text := range []string{"اشتريت الكتب القديمة", "Соседи залили нашу", "मेरी बहन"} {
		if !zero(text) {
			t.Errorf("%q has a direction", text)
		}
	}
	for _, text := range []string{"KX71ABC", "peanuts", "我对花生过敏", "ラーメン屋", "지훈이 좋아하는"} {
		if zero(text) {
			t.Errorf("%q has no direction", text)
		}
	}
	plain, mixed := rows(t, e, "Docker")[0], rows(t, e, "Docker القديمة")[0]
	if !slices.Equal(plain, mixed) || !slices.Equal(plain, e.EmbedWeighed("Docker القديمة", func(string) float64 { return 1 })) {
		t.Error("the Arabic word of a text adds to its vector")
	}
}
