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
		"你好吗？":                                    Asks | AsksYou | ToOthers,
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

// Whom a text speaks of is told at once.
func TestTraitsOfPersons(t *testing.T) {
	for traits, want := range map[Traits][3]bool{
		0: {}, AsksYou: {true, false, false}, OfOneself | HasTime: {false, true, false},
		OfSomebody: {false, false, true},
	} {
		if a, b, c := traits.Persons(); [3]bool{a, b, c} != want {
			t.Errorf("%08b: %v %v %v", traits, a, b, c)
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
		"Wie viele Bretter?":                      HasNumber,
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

// In other languages, too, a text shows what it has, and of whom it speaks.
func TestTextsOfOtherLanguagesHaveTraits(t *testing.T) {
	for text, want := range map[string]Traits{
		"十二个人报名":                                    HasNumber,
		"我有一个弟弟":                                    OfOneself,
		"讲座下周三下午两点开始":                               HasNumber | HasTime,
		"10月27号是小李的生日":                              HasNumber | HasTime,
		"会议在三楼":                                     HasNumber,
		"她的手机号是13012345678":                         HasNumber | HasContact | OfSomebody,
		"有事写信到ann@mail.cn":                          HasContact,
		"Ruf +49 170 123 45 67 an":                  HasNumber | HasContact,
		"Call 555-0199":                             HasNumber | HasContact,
		"From 2019-2024 it was in 30 to 4000 homes": HasNumber | HasTime,
		"Since 2024-03-15":                          HasNumber | HasTime,
		"Version 1.2.3 of 4 parts":                  HasNumber,
		"Meet @ six, or ann @ home":                 HasNumber,
		"你喜欢喝茶吗":                                    Asks | AsksYou | ToOthers,
		"还在下雨呢":                                     0,
		"どこに住んでいますか":                                Asks | AsksYou,
		"私の犬は三歳です":                                  HasNumber | OfOneself,
		"彼女は昨日来た":                                   HasTime | OfSomebody,
		"어디 가나요":                                    Asks | AsksYou,
		"저는 내일 가요":                                  HasTime | OfOneself,
		"3월 2일에 만나":                                 HasNumber | HasTime,
		"Wir treffen uns am Dienstag":               HasTime | OfOneself,
		"Zwölf Leute waren da":                      HasNumber,
		"La semaine dernière il a plu":              HasTime,
		"Nächste Woche regnet es":                   HasTime,
		"Viene el jueves a las siete":               HasTime | HasNumber,
		"L'anno scorso ho comprato tre bici":        HasTime,
		"Domingo choveu":                            HasTime,
		"Vorige week was het koud":                  HasTime,
		"Он приедет в пятницу":                      HasTime | OfSomebody,
		"Двадцать человек":                          HasNumber,
		"ولدت في يناير":                             HasTime,
		"She called":                                OfSomebody,
	} {
		if got := traitsOf(text); got != want {
			t.Errorf("%.60q: %08b, want %08b", text, got, want)
		}
	}
}

// A query says in other languages, too, what its answer has.
func TestQueriesOfOtherLanguagesWantTraits(t *testing.T) {
	for query, want := range map[string]Traits{
		"讲座是什么时候？":                      HasTime,
		"有几个人报名":                        HasNumber,
		"他的电话是多少":                       HasNumber | HasContact,
		"要持续多久":                         HasNumber | HasTime,
		"住在哪里":                          0,
		"我跟你说过什么":                       Asks | ToOthers,
		"会議は何時ですか":                      HasTime,
		"犬は何歳？":                         HasNumber,
		"회의는 언제예요?":                     HasTime,
		"Wann beginnt es?":              HasTime,
		"Wie alt ist der Hund":          HasNumber,
		"Quel âge a Léa ?":              HasNumber,
		"¿Cuántas sillas hay?":          HasNumber,
		"A que horas começa?":           HasTime,
		"Quanto tempo dura?":            HasNumber | HasTime,
		"Qual è il numero di telefono":  HasContact,
		"Hoe laat begint het?":          HasTime,
		"Когда концерт?":                HasTime,
		"كم عمر الكلب؟":                 HasNumber,
		"What is Ann's phone number?":   HasContact,
		"多少" + strings.Repeat("好", 400): 0, // too long
	} {
		if got := Wanted(query); got != want {
			t.Errorf("%.60q wants %08b, want %08b", query, got, want)
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
		{HasNumber, HasNumber | HasContact, false, false, false}, // any number says little
		{HasContact, HasNumber | HasContact, true, false, false},
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
