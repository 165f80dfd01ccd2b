package retrieval

import (
	"strings"
	"testing"
)

// traitsOf are the traits of a text.
func traitsOf(text string) Traits {
	var r TraitReader
	Analyze(text, func(t Token) { r.Read(&t) })
	return r.Of(text)
}

// A text shows whether it has a number or a time, whether it asks, and of whom it speaks.
func TestTextsHaveTraits(t *testing.T) {
	for text, want := range map[string]Traits{
		"":                                        0,
		"Bo lives in Oslo":                        0,
		"The shed is 12 feet long":                HasNumber,
		"The shed has twelve boards":              HasNumber,
		"A dozen eggs":                            HasNumber,
		"One never knows":                         0,
		"It opened in 1987":                       HasNumber | HasTime,
		"It cost 3987 crowns":                     HasNumber,
		"It cost 19a7":                            HasNumber,
		"Rent is due on Monday":                   HasTime,
		"The fair was last week":                  HasTime,
		"It lasts a week":                         0,
		"The last of every good week":             0,
		"The fair is in May":                      HasTime,
		"It may rain":                             0,
		"I have a dog":                            OfOneself,
		"It’s ours":                               OfOneself,
		"I'm here":                                OfOneself,
		"You look tired":                          ToOthers,
		"You look as tired as I am":               OfOneself,
		"Is the shop open?":                       Asks,
		"Is the shop open? 😊":                     Asks,
		"Is the shop open ?)\n":                   Asks,
		"Is it open? It is.":                      0,
		"What do you think?":                      Asks | AsksYou | ToOthers,
		"My dog is ill. What would you do":        OfOneself,
		"My dog is ill. Is yours?":                OfOneself | Asks | AsksYou,
		"You are right. Is it open?":              Asks | ToOthers,
		"Hast du Zeit?":                           Asks | AsksYou | ToOthers,
		"Ich habe Zeit":                           OfOneself,
		"Vous avez une minute ?":                  Asks | AsksYou | ToOthers,
		"你好吗？":                                    Asks | ToOthers,
		"我很好":                                     OfOneself,
		"?":                                       0,
		strings.Repeat("so ", 400) + "you?":       Asks | AsksYou | ToOthers,
		"you " + strings.Repeat("so ", 400) + "?": Asks | ToOthers, // too far away
	} {
		if got := traitsOf(text); got != want {
			t.Errorf("%.60q: %06b, want %06b", text, got, want)
		}
	}
}

// A question may have a letter alone.
func TestALetterMayAsk(t *testing.T) {
	for text, want := range map[string]Traits{"y?": Asks, "?": 0, "": 0, "du?": Asks | AsksYou} {
		var r TraitReader
		if got := r.Of(text); got != want {
			t.Errorf("%q: %06b, want %06b", text, got, want)
		}
	}
}

// Nothing of one text is left for the next.
func TestTraitReadersBeginAgain(t *testing.T) {
	var r TraitReader
	r.Read(&Token{Text: "i", Kind: Word})
	r.Read(&Token{Text: "last", Kind: Word})
	if got := r.Of("I last"); got != OfOneself {
		t.Errorf("first: %06b", got)
	}
	r.Read(&Token{Text: "week", Kind: Word})
	if got := r.Of("week"); got != 0 {
		t.Errorf("second: %06b", got)
	}
}

// A query says by its words what the answer has, or may be.
func TestQueriesWantTraits(t *testing.T) {
	for query, want := range map[string]Traits{
		"How many boards has the shed?":           HasNumber,
		"how  much, then":                         HasNumber,
		"So, how many?":                           HasNumber,
		"What is the price of the shed?":          HasNumber,
		"When did Ann move?":                      HasTime,
		"What year was it?":                       HasTime,
		"How long was Ann away?":                  HasNumber | HasTime,
		"Where was Ann when it rained?":           0,
		"When should I go to the gym?":            0, // asks for advice
		"How does it work?":                       0,
		"What did Bo ask Ann?":                    Asks | ToOthers,
		"What does Bo recommend?":                 ToOthers,
		"Wie viele Bretter?":                      0,
		"":                                        0,
		strings.Repeat("so ", 300) + "how many":   0,
		strings.Repeat("so ", 15) + "how":         0, // nothing is read behind the words
		"Did Bo say when is the fair, or did he?": Asks | ToOthers | HasTime,
	} {
		if got := Wanted(query); got != want {
			t.Errorf("%.60q wants %06b, want %06b", query, got, want)
		}
	}
}

// What a query asks for is not held against a text.
func TestTraitsCountForAQuery(t *testing.T) {
	for _, c := range []struct {
		text, wanted            Traits
		answers, asks, toOthers bool
	}{
		{0, HasNumber, false, false, false},
		{HasNumber, HasNumber, true, false, false},
		{HasTime, HasNumber, false, false, false},
		{HasTime | HasNumber, HasNumber | HasTime, true, false, false},
		{HasTime | Asks, HasNumber | HasTime, true, true, false},
		{Asks | ToOthers, 0, false, true, true},
		{Asks | ToOthers, Asks | ToOthers, false, false, false},
		{Asks | ToOthers, ToOthers, false, true, false},
	} {
		answers, asks, toOthers := c.text.For(c.wanted)
		if answers != c.answers || asks != c.asks || toOthers != c.toOthers {
			t.Errorf("%06b for %06b: %v %v %v", c.text, c.wanted, answers, asks, toOthers)
		}
	}
}

func BenchmarkTraits(b *testing.B) {
	text := "We met last week, in March 2024, and " + strings.Repeat("talked about boats ", 10) + ". How long did you stay?"
	var tokens []Token
	Analyze(text, func(t Token) { tokens = append(tokens, t) })
	for b.Loop() {
		var r TraitReader
		for i := range tokens {
			r.Read(&tokens[i])
		}
		r.Of(text)
	}
}
