package retrieval

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Traits are what a text looks like, apart from what it is about. A question for a number is answered by texts with a
// number, and what people tell of themselves is asked for more often than what they ask or say to each other.
type Traits uint8

// The traits that are told apart. Of ToOthers and OfOneself a text has one at most.
const (
	HasNumber  Traits = 1 << iota // in digits or in words
	HasTime                       // a date, a day, or a span such as "last week"
	Asks                          // it ends with a question
	AsksYou                       // which speaks to somebody
	OfOneself                     // it says "I" or "we"
	ToOthers                      // it says "you", and neither "I" nor "we"
	HasContact                    // a telephone number, or an address of mail
	OfSomebody                    // it says "he" or "she"

	TraitBits = iota // how many there are
)

// Has reports whether a text has all of some traits.
func (t Traits) Has(all Traits) bool { return t&all == all }

// Persons says of a text whether it asks somebody, whether it says "I", and whether it says "he" or "she".
func (t Traits) Persons() (asksYou, ofOneself, ofSomebody bool) {
	return t.Has(AsksYou), t.Has(OfOneself), t.Has(OfSomebody)
}

// For says of a text whether it has what a query wants that asks for a number or a time, and whether it asks or speaks
// to others while the query does not ask for that.
func (t Traits) For(wanted Traits) (answers, asks, toOthers bool) {
	answered := wanted & (HasNumber | HasTime)
	if wanted.Has(HasContact) { // of which any number says little
		answered = HasContact
	}
	return t&answered != 0, t.Has(Asks) && !wanted.Has(Asks), t.Has(ToOthers) && !wanted.Has(ToOthers)
}

// A TraitReader finds the traits of a text. The zero value is ready for its first token.
type TraitReader struct {
	found    Traits
	pointing bool // the word before was "last", "next" or the like
	spanning bool // it was a span of time
	counting bool // it was a number in digits
}

// Read takes in a token that [Analyze] made of a text.
func (r *TraitReader) Read(t *Token) {
	word := t.Text
	switch {
	case t.Kind == Character:
		r.person(word)
		if r.counting && strings.Contains(timeCharacters, word) {
			r.found |= HasTime
		}
		r.counting = false
	case t.Kind == Pair:
		r.pair(word)
	case t.Kind == Name && word == "MAY":
		r.found |= HasTime
	case t.Kind == Word:
		r.counting = digital(word)
		if !r.counting && !traitGlance().may(word) {
			r.pointing, r.spanning = false, false
			return
		}
		r.person(word)
		switch {
		case r.counting:
			r.found |= HasNumber
			if isYear(word) {
				r.found |= HasTime
			}
		case numbers[word] != "" || amounts[word]:
			r.found |= HasNumber
		case moments[word] || r.pointing && spans[word] || r.spanning && pointers[word]:
			r.found |= HasTime
		}
		r.pointing, r.spanning = pointers[word], spans[word]
	}
}

// traitGlance tells of most words that they say nothing of a text's traits.
var traitGlance = sync.OnceValue(func() *glance {
	g := glanceOf(amounts, moments, pointers, spans)
	for _, more := range []*glance{glanceOf(numbers), glanceOf(pronouns)} {
		g.add(more)
	}
	return g
})

// person takes in a word that may be a pronoun.
func (r *TraitReader) person(word string) {
	r.found |= pronouns[word]
}

// longestQuestion is how much of the last sentence of a text is looked at, in bytes.
const longestQuestion = 512

// Of returns the traits of a text of which every token was read, and is ready for another one.
func (r *TraitReader) Of(text string) Traits {
	found := r.found
	*r = TraitReader{}
	if found.Has(OfOneself) {
		found &^= ToOthers
	}
	if found.Has(HasNumber) && hasContact(text) || strings.Contains(text, "@") && hasContact(text) {
		found |= HasContact
	}
	end := strings.LastIndexFunc(text, func(r rune) bool { return unicode.In(r, unicode.L, unicode.N) })
	if end < 0 {
		return found
	}
	letter, size := utf8.DecodeRuneInString(text[end:])
	questioned := strings.ContainsAny(text[end:], "?？؟")
	if !questioned && letter < otherScripts { // mostly
		return found
	}
	last := text[max(0, end-longestQuestion) : end+size]
	last = last[strings.LastIndexAny(last, ".!?\n。！？؟")+1:]
	asking := endsAsking(last)
	if !asking && !questioned {
		return found
	}
	found |= Asks
	if asking || strings.ContainsAny(last, "你您") {
		found |= AsksYou
	}
	other := func(r rune) bool { return !unicode.IsLetter(r) }
	for word := range strings.FieldsFuncSeq(last, other) {
		if secondPerson[strings.ToLower(word)] {
			found |= AsksYou
		}
	}
	return found
}

// isYear reports whether a word with a digit is a year of the last or of this century.
func isYear(word string) bool {
	return len(word) == 4 && (word[:2] == "19" || word[:2] == "20") && digital(word[2:3]) && digital(word[3:])
}

// firstPerson are the pronouns of who speaks, folded, in languages that have stems, and in Chinese.
var firstPerson = wordSet(`i me my mine myself we us our ours ourselves ich mich mir mein meine meinen meinem meiner wir uns unser unsere je moi mon
	mes nous notre nos yo mi mis nosotros nuestro nuestra eu meu minha io mio mia noi ik mij mijn wij ons onze я мне меня мой моя мы нас 我`)

// secondPerson are those of who is spoken to; words that are others, too, such as German "sie", are left out.
var secondPerson = wordSet(`you your yours yourself yourselves du dich dir dein deine deinen deinem deiner euch euer eure tu toi vous votre vos
	usted ustedes voce teu tua tuo voi jij jou jouw jullie ты тебе тебя твой твоя вы вас вам ваш 你 您`)

// thirdPerson are those of who is spoken of; words that are small ones elsewhere are left out, such as Spanish "el".
var thirdPerson = wordSet(fold(`he she him her his hers himself herself ihm ihn ihr ihre ihren ihrem elle ella ele ela lui lei hij zij haar
	он она его её ему ей им ним ней нее него هو هي 他 她`))

// pronouns are whom each stands for.
var pronouns = func() map[string]Traits {
	of := map[string]Traits{}
	lists := map[Traits]map[string]bool{OfOneself: firstPerson, ToOthers: secondPerson, OfSomebody: thirdPerson}
	for traits, words := range lists {
		for word := range words {
			of[word] = traits
		}
	}
	return of
}()

// amounts say a number, beside [numbers].
var amounts = wordSet("dozen dozens hundreds thousands million millions billion twice couple half " + fold(foreignAmounts))

// moments say when.
var moments = wordSet(`yesterday today tomorrow tonight ago monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
	thursdays fridays saturdays sundays january february march april june july august september october november december ` + fold(foreignMoments))

// pointers stand before a span of time that they point to, as in "last week".
var pointers = wordSet("last next this past every following previous " + fold(foreignPointers))

// spans are of time.
var spans = wordSet(`night morning afternoon evening day week weekend month year spring summer autumn fall winter semester quarter days weeks
	months years ` + fold(foreignSpans))

// wanted are the words by which a question says which traits its answer has, or may have.
var wanted = wantedTraits(map[Traits]string{
	HasNumber: `how many,how much,how old,how often,how tall,how far,how big,how large,how heavy,how wide,how high,how deep,how fast,
		how expensive,what number,what percentage,what age,what size,what price,number of,amount of,percentage of,price of,cost of`,
	HasTime: `when did,when do,when does,when is,when was,when were,when are,when will,when has,when have,when had,when can,
		when could,when would,since when,until when,what year,what date,what day,what month,what time,which year,which date,which day,
		which month,how long ago,how recently`,
	HasNumber | HasTime: `how long`,
	Asks | ToOthers:     `ask,asks,asked,asking,question,questions,wonder,wonders,wondered,tell,tells,told,said,say,says`,
	ToOthers: `advice,advise,advises,advised,suggest,suggests,suggested,suggestion,recommend,recommends,recommended,recommendation,
		thank,thanked,thanks,congratulate,congratulated,encourage,encouraged,compliment,complimented,praise,praised,warn,warned,
		remind,reminded`,
}, wantedInWords)

func wantedTraits(lists ...map[Traits]string) map[string]Traits {
	all := map[string]Traits{}
	for _, list := range lists {
		for traits, list := range list {
			for phrase := range phrases(list) {
				all[FoldWords(phrase)] |= traits
			}
		}
	}
	return all
}

// opensWanted are the words with which phrases of [wanted] begin.
var opensWanted = func() map[string]bool {
	first := map[string]bool{}
	for phrase := range wanted {
		if word, _, more := strings.Cut(phrase, " "); more {
			first[word] = true
		}
	}
	return first
}()

// mostWanting bounds the words of a query that are looked at for what it wants.
const mostWanting = 256

// mostWantingBytes bounds what is looked through for phrases of scripts of their own.
const mostWantingBytes = 1024

// Wanted returns the traits that what a query asks for has or may have, by its words.
func Wanted(query string) (want Traits) {
	folded := strings.ToLower(fold(query))
	words := make([]string, 0, 16)
	foreign := func(r rune) bool { return r > 'z' || !isLetter(byte(r)) }
	for word := range strings.FieldsFuncSeq(folded, foreign) {
		if words = append(words, word); len(words) == mostWanting {
			break
		}
	}
	if len(folded) <= mostWantingBytes && InOtherScript(folded) {
		for phrase, traits := range wantedInScripts {
			if traits&^want != 0 && strings.Contains(folded, phrase) {
				want |= traits
			}
		}
	}
	for i, word := range words {
		want |= wanted[word]
		if !opensWanted[word] {
			continue
		}
		for n := 2; n <= 3 && i+n <= len(words); n++ {
			want |= wanted[strings.Join(words[i:i+n], " ")]
		}
	}
	return want
}
