package retrieval

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Notes say once who somebody is ("my daughter Mia", "our dog Rex") and then use the name alone, while
// questions go on asking for the daughter and the dog. A text that says so is also indexed under the role
// and the name, so that a search for the role looks for the name, too, for as long as the text is there.
// Only roles that few bear are known, and only those of whoever writes: "her brother Tom" may be anybody's.
const (
	roleMark   = '\x02' // leads the text of a [Role] token
	bearerMark = '\x03' // leads that of a [Bearer] token, which follows it
)

// BearerOf returns the name, folded, that the text of a [Bearer] token stands for.
func BearerOf(text string) (name string, ok bool) {
	return strings.CutPrefix(text, string(rune(bearerMark)))
}

// BearerTerm is the text of the [Bearer] token of a name, folded.
func BearerTerm(name string) string { return string(rune(bearerMark)) + name }

// RolesOf are the terms under which texts stand that say who has the role that a word of a text names.
func RolesOf(word string) []string {
	if role := chineseRoles[word]; role != "" {
		return []string{string(rune(roleMark)) + role}
	}
	return rolesOf(word, false)
}

// RoleWords are the words, folded, for the role that the term of a [Role] token stands for.
func RoleWords(term string) []string {
	return wordsOfRoles()[strings.TrimPrefix(term, string(rune(roleMark)))]
}

// wordsOfRoles are the words for each role.
var wordsOfRoles = sync.OnceValue(func() map[string][]string {
	words := map[string][]string{}
	for _, of := range []map[string]string{roleOf, chineseRoles} {
		for _, word := range slices.Sorted(maps.Keys(of)) {
			words[of[word]] = append(words[of[word]], word)
		}
	}
	return words
})

// rolesOf are the terms under which texts stand that say who has the role that a word of a query names, which
// may follow a possessive.
func rolesOf(word string, owned bool) (terms []string) {
	if !roleGlance.may(word) {
		return nil
	}
	roles := roleOf[word]
	if owned {
		roles = cmp.Or(broadRoles[word], roles)
	}
	for key := range strings.FieldsSeq(roles) {
		terms = append(terms, string(rune(roleMark))+key)
	}
	return terms
}

// roleOf has words for what somebody is to a writer, in several languages and in the forms that follow a
// possessive, each with its role. Words with a hyphen are written together, as [Joined] tokens are.
//
//nolint:misspell // they are French and others
var roleOf = wordMap(`daughter daughters tochter fille hija filha figlia dochter дочь дочка дочери дочку дочке=daughter
	son sons sohn fils hijo filho figlio zoon сын сына сыну сыном=son
	brother brothers bruder frere hermano irmao fratello broer брат брата брату братом=brother
	sister sisters schwester soeur sœur hermana irma sorella zus сестра сестры сестре сестру=sister
	mother mom mum mama mutter mere madre mae moeder мама мать маме маму мамы=mother
	father dad papa vater pere padre pai vader папа отец отца отцу папе=father
	grandmother grandma granny oma grossmutter abuela avo nonna бабушка бабушки бабушке бабушку=grandmother
	grandfather grandpa opa grossvater abuelo nonno дедушка дедушки дедушке=grandfather
	wife husband spouse partner partnerin frau ehefrau mann ehemann femme mari epouse epoux esposa esposo mujer marido
	mulher moglie marito vrouw жена жены жене жену муж мужа мужу мужем=spouse
	fiance fiancee verlobte verlobter=fiance girlfriend freundin novia namorada подруга подруги подруге подругу=girlfriend
	boyfriend freund novio namorado=boyfriend
	friend ami amie amigo amiga amico amica vriend vriendin друг друга другу=friend
	aunt tante tia zia тетя тети=aunt uncle onkel oncle tio zio oom дядя дяди=uncle
	cousin cousine primo prima cugino cugina=cousin niece nichte sobrina=niece nephew neffe sobrino=nephew
	grandson enkel nieto=grandson granddaughter enkelin nieta=granddaughter
	motherinlaw schwiegermutter suegra=motherinlaw fatherinlaw schwiegervater suegro=fatherinlaw
	sisterinlaw schwagerin=sisterinlaw brotherinlaw schwager=brotherinlaw
	neighbour neighbor nachbar nachbarin voisin voisine vecino vecina vizinho vizinha vicino vicina соседка сосед=neighbor
	boss chef chefin jefe jefa capo начальник=boss manager=manager foreman=foreman supervisor=supervisor
	colleague coworker kollege kollegin collegue colega collega коллега=colleague assistant=assistant
	roommate flatmate housemate mitbewohner mitbewohnerin=roommate
	landlord landlady vermieter vermieterin=landlord
	doctor arzt arztin medecin medico=doctor dentist zahnarzt zahnarztin dentista dentiste=dentist therapist=therapist
	nanny babysitter=nanny
	dog puppy hund hundin chien chienne perro perra cane hond собака собаки собаке собаку=dog
	cat kitten katze kater chat chatte gato gata gatto gatta kat poes кошка кошки кошке кошку кот кота=cat
	horse pony pferd cheval caballo=horse rabbit kaninchen lapin conejo=rabbit parrot papagei perroquet loro=parrot
	hamster=hamster tortoise turtle schildkrote tortue tortuga=tortoise`)

var roleGlance = glanceOf(roleOf, broadRoles)

// broadRoles are words of queries that stand for several roles. Without a possessive they are anybody's.
var broadRoles = wordLists(`child children kid kids kind kinder enfant enfants hijos filhos figli: daughter son
	sibling siblings geschwister: brother sister
	parent parents eltern: mother father
	grandparents grosseltern: grandmother grandfather
	grandchild grandchildren grandkid grandkids: grandson granddaughter
	pet pets haustier mascota huisdier: dog cat horse rabbit parrot hamster tortoise
	partner: spouse girlfriend boyfriend fiance`)

// wordLists reads lines "word word: entry entry": each word leads to the entries of its line.
func wordLists(lines string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(lines) {
		words, entries, _ := strings.Cut(line, ":")
		for word := range strings.FieldsSeq(words) {
			out[word] = strings.TrimSpace(entries)
		}
	}
	return out
}

// possessives lead a role.
var possessives = wordSet(fold(`my our mein meine meinen meinem meiner unser unsere unseren unserem unserer mon ma notre mi nuestro nuestra
	meu minha nosso nossa mio mia nostro nostra mijn onze ons мой моя мою моей моего моему наш наша нашу нашей нашего нашему`))

// othersPossessives lead a role in a question of somebody else's.
var othersPossessives = wordSet("her his their your ihr ihre ihren ihrem sein seine seinen seinem dein deine son sa leur su sus suo sua zijn haar jouw")

// owns reports whether a word of a query is a possessive.
func owns(word string) bool {
	return ownGlance.may(word) && (possessives[word] || othersPossessives[word])
}

var ownGlance = glanceOf(possessives, othersPossessives)

// qualities may stand between a possessive and a role.
var qualities = wordSet(`best good old older oldest eldest elder young younger youngest little big kid twin middle late dear
	alte alter alterer altere altester alteste kleine kleiner grosse grosser jungere jungerer jungster jungste beste bester liebe lieber
	petite petit grande grand chere cher meilleure meilleur vieille vieux mayor menor mejor melhor querida querido oude beste kleine grote`)

// titles stand before a name.
var titles = wordSet("dr mr mrs ms miss prof herr frau monsieur madame mme don dona senor senora signor signora")

// unnamed are words with a capital behind a role that name nobody: days, months, and what people speak and are.
var unnamed = wordSet(fold(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
	september october november december christmas easter santa god english french german spanish italian portuguese dutch russian chinese
	japanese korean arabic latin greek polish turkish swedish american british indian montag dienstag mittwoch donnerstag freitag samstag
	sonntag januar februar marz mai juni juli oktober dezember today tonight tomorrow yesterday nobody somebody everybody everyone nothing
	something everything`))

// callings lead from a role to a name: "my dog is called Rex". German "ist" is none, as every noun may follow it.
var callings = wordSet(fold("is called named heisst est es s appelle se llama chama si chiama heet зовут"))

// germanPossessives lead a role that a name follows only where a sentence begins: behind a verb or a preposition
// it is followed by nouns, which have a capital as well ("hat mein Sohn Fieber").
var germanPossessives = wordSet("mein meine meinen meinem meiner unser unsere unseren unserem unserer")

// pluralRoles may be borne by the names on both sides of "and".
var pluralRoles = wordSet("daughters sons brothers sisters")

// bearing is how far a text has said that somebody bears a role.
type bearing struct {
	step  bearingStep
	end   int    // of the last word
	role  string // as it was written; the words of a compound as one
	name  string // a name that a role may follow: "Mia is my daughter"
	comma bool   // between the two
	title bool   // the last word was a title
}

// bearingStep is what the last word was.
type bearingStep uint8

const (
	noRole   bearingStep = iota
	named                // a name: "Mia"
	isName               // "is" behind it
	owned                // "my", or a quality behind it
	inRole               // the role: "my daughter"
	ofRole               // "my daughter's"
	isCalled             // "my daughter is", "my daughter's name is"
	listed               // the name of one of several: "my daughters Mia"
)

// heard is a word of a stored text, as it comes in.
type heard struct {
	lower  string
	end    int
	before bearing
	gap    string // between it and the word before
	bare   bool   // without an ending, such as that of "Mia's"
	small  bool   // it begins with a small letter
	name   bool   // it may be one
}

// bear takes in a word of a stored text: as it is in lower case, where it stands, and how it looks.
func (t *tokenizer) bear(lower string, start, end int, s shape) {
	before := t.bearing
	w := heard{lower: lower, end: end, before: before, bare: end-start == len(lower), small: !s.capital}
	w.name = s.capital && !s.compound && nameLike(lower)
	if before.end <= start { // else both are of one segment
		w.gap = t.text[before.end:start]
	}
	t.bearing = bearing{end: end, role: before.role}
	if !t.isPossessive(&w) && !t.isRole(&w) && !t.leadsOn(&w) && !t.isBearer(&w) {
		t.mayBear(&w)
	}
}

// isPossessive takes in "my", behind a name, too: "Mia is my daughter", "Mia, my daughter,".
func (t *tokenizer) isPossessive(w *heard) bool {
	if !w.bare || !ownGlance.may(w.lower) || !possessives[w.lower] || !t.opening && !w.small { // then it is a name: "Mia"
		return false
	}
	next, step := &t.bearing, w.before.step
	if next.step = owned; germanPossessives[w.lower] && !t.opening {
		next.step = noRole
	}
	if step == isName && w.gap == " " || step == named && w.gap == ", " && !WellSpelled(w.before.name) {
		next.step, next.name, next.comma = owned, w.before.name, step == named
	}
	return true
}

// isRole takes in what follows a possessive: a quality, and a role.
func (t *tokenizer) isRole(w *heard) bool {
	next, before := &t.bearing, &w.before
	switch {
	case before.step == inRole && w.gap == "-" && w.bare && w.small:
		next.step, next.role = inRole, before.role+w.lower
		return true
	case before.step != owned || w.gap != " ":
		return false
	case qualities[w.lower] && w.small:
		next.step, next.name, next.comma = owned, before.name, before.comma
		return true
	case roleOf[w.lower] == "":
		return false
	}
	if next.step, next.role = inRole, w.lower; !w.bare {
		next.step = ofRole
	}
	if before.name != "" && w.bare && t.endsAt(w.end, before.comma) {
		t.bears(w.lower, before.name)
		next.step = noRole
	}
	return true
}

// leadsOn takes in what may stand between a role and the name: a title, "is called", "'s name".
func (t *tokenizer) leadsOn(w *heard) bool {
	next, step := &t.bearing, w.before.step
	behind := step == inRole || step == isCalled
	switch {
	case behind && (w.gap == " " || w.gap == ", ") && titles[w.lower]:
		next.step, next.title = step, true
	case behind && (w.gap == " " || w.gap == "") && callings[w.lower],
		step == ofRole && w.gap == " " && w.lower == "name":
		next.step = isCalled
	case step == listed && w.gap == " " && w.lower == "and":
		next.step = listed
	default:
		return false
	}
	return true
}

// isBearer takes in the name of who bears the role before it.
func (t *tokenizer) isBearer(w *heard) bool {
	joined := w.gap == " " || w.before.title && w.gap == ". "
	switch w.before.step {
	case inRole:
		joined = joined || w.gap == ", " && t.at(w.end) == ','
	case isCalled:
		joined = joined && !WellSpelled(w.lower)
	case listed:
		joined = w.gap == " "
	default:
		joined = false
	}
	if !joined || !w.name {
		return false
	}
	t.bears(w.before.role, w.lower)
	if pluralRoles[w.before.role] {
		t.bearing.step = listed
	}
	return true
}

// mayBear takes in a name that a role may follow, and the "is" behind it.
func (t *tokenizer) mayBear(w *heard) {
	switch {
	case w.before.step == named && w.gap == " " && w.lower == "is":
		t.bearing.step, t.bearing.name = isName, w.before.name
	case w.bare && w.name:
		t.bearing.step, t.bearing.name = named, w.lower
	}
}

// at is the byte of the text at a place; 0 where it ends.
func (t *tokenizer) at(place int) byte {
	if place < len(t.text) {
		return t.text[place]
	}
	return 0
}

// endsAt reports whether a role may end at a place: "Mia is my daughter" goes on as it likes, but not with
// a compound; "Mia, my daughter," ends there, since "Yes, my daughter is" speaks of somebody else.
func (t *tokenizer) endsAt(place int, comma bool) bool {
	c := t.at(place)
	return c != '-' && (!comma || c == 0 || strings.IndexByte(",.;:!?)", c) >= 0)
}

// nameLike reports whether a word that is written with a capital may be a name.
func nameLike(lower string) bool {
	return utf8.RuneCountInString(lower) >= 2 && allLetters(lower) && !stopWords[lower] && !unnamed[lower] &&
		!titles[lower] && roleOf[lower] == ""
}

// bears yields that a name bears a role.
func (t *tokenizer) bears(role, name string) {
	if key := roleOf[role]; key != "" && len(name) < maxTokenBytes {
		t.yield(Token{Text: string(rune(roleMark)) + key, Kind: Role})
		t.yield(Token{Text: string(rune(bearerMark)) + name, Kind: Bearer})
	}
}
