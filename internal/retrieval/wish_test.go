package retrieval

import "testing"

// marksOf are the marks that a text gets.
func marksOf(text string) (wish, order bool) {
	Analyze(text, func(t Token) {
		if t.Kind == Wish {
			wish, order = wish || t.Text == WishTerm, order || t.Text == OrderTerm
		}
	})
	return wish, order
}

// What somebody likes, avoids or always wants is told from what is merely so.
func TestTextsSayHowSomebodyWantsThings(t *testing.T) {
	for text, want := range map[string][2]bool{
		"I can't stand crowds.":                                    {true, false},
		"I can’t stand crowds.":                                    {true, false},
		"On trips I always take hand luggage":                      {true, false},
		"I'd rather pay more":                                      {true, false},
		"We never eat fried food":                                  {true, false},
		"Wool makes my skin itch":                                  {true, false},
		"The user prefers dark mode":                               {true, false},
		"Her favourite tea is Assam":                               {true, false},
		"Allergic to nuts":                                         {true, false},
		"Always use metric units":                                  {false, true},
		"Thanks. Never put meetings on a Wednesday":                {false, true},
		"Show the tests first when I ask about code":               {false, true},
		"From now on, answer in French":                            {false, true},
		"I never deploy on Fridays. Always ask me":                 {true, true},
		"I went to Rome and it rained":                             {false, false},
		"The office is always closed on Mondays":                   {false, false},
		"We met when I asked for the way":                          {false, false},
		"Can you show me how I can write a test for it":            {false, false},
		"Always great to see you! Never thought so":                {false, false},
		"Always wanted one":                                        {false, false},
		"Es gibt immer Kuchen":                                     {false, false},
		"Ich mag keine Oliven":                                     {true, false},
		"Ich möchte Brot":                                          {false, false},
		"J’aime le thé":                                            {true, false},
		"No me gusta el ruido":                                     {true, false},
		"Eu não gosto de filas":                                    {true, false},
		"Non sopporto il caldo":                                    {true, false},
		"Ik eet geen vlees":                                        {true, false},
		"Я люблю горы":                                             {true, false},
		"أحب الجبال":                                               {true, false},
		"我受不了人多的地方":                                                {true, false},
		"コーヒーは苦手です":                                                {true, false},
		"매운 음식을 싫어해요":                                              {true, false},
		"Ab jetzt auf Deutsch":                                     {false, true},
		"Sí. A partir de ahora, en metros":                         {false, true},
		"以后请用公制单位":                                                 {false, true},
		"今後は日本語で":                                                  {false, true},
		"我昨天去了罗马":                                                  {false, false},
		"":                                                         {false, false},
		"I":                                                        {false, false},
		"I pneumonoultramicroscopicsilicovolcanoconiosis and more": {false, false},
	} {
		if wish, order := marksOf(text); wish != want[0] || order != want[1] {
			t.Errorf("%q: wish %v, order %v", text, wish, order)
		}
	}
}

// The marks have no place in the text, and a query has none.
func TestMarksOfWishesStandNowhere(t *testing.T) {
	if Wish.HasPosition() {
		t.Error("a mark has a place")
	}
	if got := Parse("I hate crowds, always", 10).Words; len(got) != 3 {
		t.Errorf("words %+v", got)
	}
}

// Who asks for advice is told from who asks what is so, or what was said.
func TestQueriesHaveAnAim(t *testing.T) {
	for query, want := range map[string]Aim{
		"Recommend me a restaurant in Lisbon":         ForAdvice,
		"can you help me plan my week?":               ForAdvice,
		"It is cold in Tampere. What should I wear?":  ForAdvice,
		"In winter, which coat should I take?":        ForAdvice,
		"Any ideas for Saturday?":                     ForAdvice,
		"I’m looking for a gym":                       ForAdvice,
		"Where do I work?":                            ForFacts,
		"What is the wifi password?":                  ForFacts,
		"When is the deadline":                        ForFacts,
		"Can you list what I told you about the app?": ForRecord,
		"When did Anna suggest the trip?":             ForRecord,
		"Can you walk me through what we discussed":   ForRecord,
		"What advice does Ann give?":                  ForFacts,
		"How should criticism be given to her?":       ForFacts,
		"Was kostet das?":                             ForFacts,
		"推荐一家餐馆":                                      ForAdvice,
		"我昨天说过什么，帮我想想":                                ForRecord,
		"我老婆住在哪里":                                     ForFacts,
		"おすすめの店は？":                                    ForAdvice,
		"카페 추천해 줘":                                    ForAdvice,
		"Посоветуй ресторан":                          ForAdvice,
		"اقترح مطعما":                                 ForAdvice,
		"Kannst du mir helfen?":                       ForAdvice,
		"Es regnet. Was soll ich anziehen?":           ForAdvice,
		"Je voudrais un vélo":                         ForAdvice,
		"¿Puedes elegir un vino?":                     ForAdvice,
		"Gostaria de viajar":                          ForAdvice,
		"Vorrei cambiare lavoro":                      ForAdvice,
		"Kun je een boek kiezen?":                     ForAdvice,
		"?!":                                          ForFacts,
	} {
		if got := Parse(query, 10).Aim; got != want {
			t.Errorf("%q: aim %d, want %d", query, got, want)
		}
	}
}
