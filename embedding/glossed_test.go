package embedding_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// The same sentence in other words is nearer than one about something else, in each language, and so is what somebody asks in
// one language of a note in another.
func TestBuiltinKnowsWordsOfOtherLanguages(t *testing.T) {
	e := builtin(t)
	for _, c := range []struct{ query, near, far string }{
		{"Welche Allergien hat mein Sohn?", "Der Junge verträgt keine Nüsse, die Haut juckt dann.", "Der Junge fährt mit dem Fahrrad zur Schule."},
		{"¿Qué coche tiene mi vecina?", "La mujer de al lado conduce un automóvil rojo.", "La mujer de al lado toca el piano."},
		{"Quel est le métier de ma sœur ?", "Ma sœur travaille comme avocate dans un cabinet.", "Ma sœur aime les chats et les fleurs."},
		{"我妈妈得了什么病？", "母亲住院了，医生说是肺炎。", "母亲喜欢在公园里跳舞。"},
		{"父の仕事は何ですか", "お父さんは病院で医者として働いています。", "お父さんは毎朝犬と散歩します。"},
		{"아버지의 직업은 무엇입니까?", "아빠는 병원에서 의사로 일해요.", "아빠는 음악을 좋아해요."},
		{"Какая машина у моего брата?", "Брат купил красный автомобиль.", "Брат играет на гитаре."},
		{"What does my mother drink in the morning?", "Mutter trinkt morgens immer schwarzen Kaffee.", "Mutter wohnt in einem alten Haus am See."},
	} {
		got := rows(t, e, c.query, c.near, c.far)
		if near, far := cosine(got[0], got[1]), cosine(got[0], got[2]); near < far+0.03 {
			t.Errorf("%q: %.3f to %q, %.3f to %q", c.query, near, c.near, far, c.far)
		}
	}
}

// A word counts as much as its language's word for it weighs, and small words do not count. What is in English has
// the bits that it had when words of other languages were pieces.
func TestWordsOfOtherLanguagesAreWeighed(t *testing.T) {
	e, old := builtin(t), pieces(t)
	asked := map[string]float64{}
	weighed := e.EmbedWeighed("Wann trinkt der Hund Wasser in Köln?", func(word string) float64 {
		asked[word] = 2
		return 2
	})
	if want := []string{"hund", "koln", "trinkt", "wann", "wasser"}; !slices.Equal(slices.Sorted(maps.Keys(asked)), want) {
		t.Errorf("weights were asked of %q, want %q", slices.Sorted(maps.Keys(asked)), want)
	}
	if plain, err := e.EmbedQuery(t.Context(), "Wann trinkt der Hund Wasser in Köln?"); err != nil || math.Abs(cosine(plain, weighed)-1) > 1e-6 {
		t.Errorf("with equal weights the cosine is %v", cosine(plain, weighed))
	}
	if !slices.Equal(rows(t, e, "Hund und Wasser")[0], rows(t, old, "dog water")[0]) {
		t.Error("Hund und Wasser are not a dog and water")
	}
	two := old.EmbedWeighed("home house dog", func(word string) float64 { return map[string]float64{"dog": 1}[word]/2 + 0.5 })
	if got := rows(t, e, "la casa y el perro")[0]; !slices.Equal(got, two) { // casa means both
		t.Errorf("a house and a dog have the cosine %v to themselves", cosine(got, two))
	}
	english := "What does Zoë's dog drink? Water – 3 times a day."
	if !slices.Equal(rows(t, e, english)[0], rows(t, old, english)[0]) {
		t.Error("an English text has another vector")
	}
	mixed := "The restaurant 林晓 is in Berlin"
	if !slices.Equal(rows(t, e, mixed)[0], rows(t, old, strings.ReplaceAll(mixed, "林晓", ""))[0]) {
		t.Error("characters of a name that nobody knows change an English text")
	}
}

// A misspelt word of a query counts as the one it stands for, in its vector with weights and without, and in what is known of it. One of
// a text that is stored counts as its pieces.
func TestMisspeltWordsOfAQueryCount(t *testing.T) {
	e := builtin(t)
	const right, wrong = "Wo ist der Schlüssel?", "Wo ist der Schlüsel?"
	want, errRight := e.EmbedQuery(t.Context(), right)
	got, err := e.EmbedQuery(t.Context(), wrong)
	if err != nil || errRight != nil || !slices.Equal(got, want) {
		t.Errorf("the query has the cosine %v to the right one, %v", cosine(got, want), err)
	}
	if got := e.EmbedWeighed(wrong, func(string) float64 { return 1 }); !slices.Equal(got, want) {
		t.Errorf("with weights it has the cosine %v", cosine(got, want))
	}
	if got, want := e.Knows(wrong), 0.8*e.Knows(right); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v of it is known; want %v, as much less as a misspelt word weighs", got, want)
	}
	if slices.Equal(rows(t, e, wrong)[0], rows(t, e, right)[0]) {
		t.Error("a stored text is mended, too: its vector belongs to another space then")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := e.EmbedQuery(ended, right); !errors.Is(err, context.Canceled) {
		t.Errorf("a query of a call that ended: %v", err)
	}
}

// What is known of a query is the share of its words that mean something, each a little less than one in English, or stand
// in the vocabulary whole.
func TestBuiltinKnowsWhatItHasWordsFor(t *testing.T) {
	e := builtin(t)
	const glossed = 5.0 / 6
	for text, want := range map[string]float64{
		"过敏": glossed, "林晓对什么过敏？": glossed / 2, "Docker 容器怎么停": (1 + 2*glossed) / 3,
		"Wogegen ist meine Tochter allergisch?": glossed, "Wo wohnt Schnurzelpurz mit der Tochter?": 2 * glossed / 3,
		"지훈이": 0, "Где живёт Анна?": glossed / 2, "": 1, "?": 1, "什么": 1, "Where did Caroline travel to?": 1,
	} {
		if got := e.Knows(text); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
