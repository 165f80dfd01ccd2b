package storetest

import "github.com/loci-memory/loci"

// told asks for words, and returns what else was searched for.
func (b *bench) told(text string, f loci.Filter) (found []loci.ID, by [][]string) {
	b.Helper()
	p := words(text)
	p.Corrected = func(word string, words []string) { by = append(by, append([]string{word}, words...)) }
	return hitIDs(b.match(p, f, 100)), by
}

var bearerCases = []testCase{
	{"who asks for a role finds its bearer while a record says who that is", func(b *bench) {
		says := record(1, "My daughter Mia is nine.")
		b.put(says, record(2, "Mia cannot eat hazelnuts."), record(3, "A walrus ate hazelnuts."))
		found, by := b.told("daughter", loci.Filter{})
		b.same("hits", found, ids(2, 1))
		b.same("what was searched for", by, [][]string{{"daughter", "daughter", "mia"}})
		hits := b.byID(words("daughter"), 10)
		if hits[id(2)].Keyword >= hits[id(1)].Keyword || hits[id(2)].Covered >= hits[id(1)].Covered {
			b.Errorf("hits %+v; want 1, which says the word, above 2", hits)
		}
		_, by = b.told("daughter Mia", loci.Filter{})
		b.same("what was searched for beside the name", by, nil)
		found, by = b.told("Tochter", loci.Filter{}) // a word that nobody has
		b.same("hits of another language", found, ids(2, 1))
		b.same("what was searched for instead", by, [][]string{{"tochter", "tochter", "mia"}})
		b.apply(erasure(says))
		found, by = b.told("daughter", loci.Filter{})
		b.same("hits after the erasure", found, nil)
		b.same("what was searched for then", by, nil)
	}},
	{"a name beside a role changes no score of what says the role", func(b *bench) {
		b.put(record(1, "My daughter Mia is nine."), record(2, "My daughter Ida is nine."), record(3, "walrus"),
			record(7, "His daughter is nine soon."))
		before := b.byID(words("daughter nine"), 10)
		b.put(record(4, "Mia swims."), record(5, "walrus"))
		b.apply(erasure(record(3, "walrus")))
		b.apply(erasure(record(5, "walrus")))
		b.put(record(6, "walrus"))
		b.same("hits before", len(before), 3)
		after := b.byID(words("daughter nine"), 10)
		b.same("hits", len(after), 4)
		b.exactly("what says a name, too", after[id(1)].Keyword, after[id(7)].Keyword)
		b.exactly("what is covered", after[id(1)].Covered, 1)
	}},
	{"a role that many bear, or nobody who is searched, tells nothing", func(b *bench) {
		for i, name := range []string{"Tom", "Ann", "Kim"} {
			b.put(record(i+1, "my friend "+name))
		}
		elsewhere := placed(record(8, "my dog Rex"), "user", "other")
		b.put(elsewhere, record(9, "Rex sleeps"))
		_, by := b.told("friend", loci.Filter{})
		b.same("names of three", by, [][]string{{"friend", "friend", "ann", "kim", "tom"}})
		b.put(record(4, "my friend Lee"))
		_, by = b.told("friend", loci.Filter{})
		b.same("names of four", by, nil)
		_, by = b.told("dog", loci.Filter{})
		b.same("the dog of all", by, [][]string{{"dog", "dog", "rex"}})
		_, by = b.told("dog", loci.Filter{Within: []loci.Namespace{{"user", "u"}}})
		b.same("the dog of another place", by, nil)
		p := words("dog")
		p.Quick = true
		p.Corrected = func(string, []string) { b.Error("a quick search looks for names") }
		b.match(p, loci.Filter{}, 10)
	}},
	{"what is replaced says nothing of a role", func(b *bench) {
		old := record(1, "my boss Veerle")
		b.put(old, record(2, "Veerle called"), record(3, "Joris called"))
		_, by := b.told("boss", loci.Filter{})
		b.same("names", by, [][]string{{"boss", "boss", "veerle"}})
		newer := next(old)
		newer.Text, newer.Passages = cut("my boss Joris")
		b.put(newer)
		found, by := b.told("boss", loci.Filter{})
		b.same("names after the change", by, [][]string{{"boss", "boss", "joris"}})
		b.same("hits after the change", found, ids(3, 1))
		_, by = b.told("boss", loci.Filter{Tags: []string{"work"}})
		b.same("names in records without the tag that is searched", by, nil)
	}},
	{"a word that is misspelt and in another form is found by its stem", func(b *bench) {
		b.put(record(1, "an allergy to walnuts"), record(2, "Das Fahrrad ist in der Werkstatt."), record(3, "leaving by a telescope"), record(4, "Мы купили новые окна"), record(5, "La sorella di Marco lavora."))
		for query, want := range map[string]loci.ID{
			"alergies": id(1), "Fahrader": id(2), "die Fahhräder": id(2), "Werkstaten": id(2), "окнами новвыми": id(4), "sorlle": id(5),
		} {
			b.same("hits of "+query, b.found(words(query)), []loci.ID{want})
		}
		_, by := b.told("alergies", loci.Filter{})
		b.same("what was searched for", by, [][]string{{"alergies", "allergy"}})
		_, by = b.told("Werkstaten", loci.Filter{})
		b.same("what was searched for of a stem", by, [][]string{{"werkstaten", "werkstatten"}})
		for _, query := range []string{"leak", "the sorlle of my friend", "brrleaving", "xelescopings"} {
			b.same("hits of "+query, b.found(words(query)), nil)
		}
	}},
	{"what a misspelt word was meant for is found in all of its forms", func(b *bench) {
		b.put(record(1, "Die Wohnung ist neu."), record(2, "Der Preis für Wohnungen steigt."))
		b.same("hits", b.found(words("Wohnugn")), ids(2, 1))
	}},
}
