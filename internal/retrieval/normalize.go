package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Normalize returns the term a token is compared by, and whether it is a stop
// word. It depends on nothing but the token's text:
//
//   - irregular forms of English become the regular one (went = go, mice = mouse),
//     British spellings the American one (colour = color, organise = organize);
//   - other English words are stemmed (running = run), but not names such as Lucas,
//     which is not Luca, and not words that a stem would confuse (university,
//     universe);
//   - numbers from two to twenty and some more become digits;
//   - Russian and Arabic words are stemmed, by their script;
//   - whatever has a digit or a sign, or another letter outside of a–z, stays as it is.
func Normalize(token string) (term string, stop bool) {
	if stopGlance.may(token) && stopWords[token] {
		return token, true
	}
	for i := range len(token) {
		if c := token[i]; c < 'a' || c > 'z' {
			return foreign(token), false
		}
	}
	return cachedStem('t', token, termOfEnglish), false
}

// termOfEnglish is the term of a token of English letters that is no stop word.
func termOfEnglish(token string) string {
	if termGlance.may(token) {
		if n := numbers[token]; n != "" {
			return n
		}
		if base := irregular[token]; base != "" {
			token = base
		}
	}
	if len(token) <= 3 || fixedGlance.may(token) && fixed[token] {
		return token
	}
	if termGlance.may(token) {
		if base := overstemmed[token]; base != "" {
			return base
		}
	}
	term := englishStem(american(token))
	if base := travelled[term]; base != "" {
		return base
	}
	return term
}

// foreign is the term of a token that is not of English letters.
func foreign(token string) string {
	switch first, _ := utf8.DecodeRuneInString(token); {
	case first < utf8.RuneSelf || !allLetters(token):
	case unicode.Is(unicode.Cyrillic, first):
		return cyrillicStem(strings.ReplaceAll(token, "ё", "е"))
	case unicode.Is(unicode.Arabic, first):
		return arabicStem(token)
	}
	return token
}

// numbers are those that people write as words. One is left out: it is a pronoun, too.
var numbers = wordMap(`two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 fourteen=14
	fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80
	ninety=90 hundred=100 thousand=1000`)

// american respells a British word.
func american(word string) string {
	if i := strings.Index(word, "our"); i > 0 && ourRoots[word[:i]] {
		return word[:i] + "or" + word[i+3:]
	}
	for _, ending := range iseEndings {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) >= 3 {
			// Also "exercise": what is respelled everywhere is found everywhere.
			return root + strings.Replace(ending, "s", "z", 1)
		}
	}
	return word
}

var iseEndings = []string{"ise", "ised", "ises", "ising", "isation", "isations", "iser", "isers", "yse", "ysed", "ysing"}

// ourRoots come before "our", where American English writes "or".
var ourRoots = wordSet("arm behavi cand col endeav fav flav glam harb hon hum lab neighb od parl rum sav splend tum val vap vig")

// stopWords carry no meaning of their own in a question or a note. The list is
// short on purpose: "not", "no" and words of time and place stay searchable.
var stopWords = wordSet(`a an the and or but if of at by for with about to from in on
	is am are was were be been being do does did doing have has had having
	i me my mine myself we us our ours you yours your he him his she her hers it its they them their theirs
	this that these those what which who whom whose when where why how
	as so than then there here can could will would shall should may might must
	just also very too some any such`)

var stopGlance = glanceOf(stopWords)

// travelled are stems that British English doubles the last letter of.
var travelled = map[string]string{"travell": "travel", "cancell": "cancel", "modell": "model", "labell": "label", "levell": "level",
	"fuell": "fuel", "counsell": "counsel", "jewell": "jewel", "marvell": "marvel", "signall": "signal", "tunnell": "tunnel"}

// fixed are names and words in -s or -ing that are no plural and no verb form:
// without its s Lucas is Luca, Carlos Carlo, and evening is not even.
var fixed = wordSet(`james paris texas lucas carlos marcos andreas thomas nicholas jonas elias silas tobias matthias niklas dennis curtis
	travis louis lewis ellis alexis iris doris phyllis frances agnes hughes charles kansas arkansas dallas vegas angeles wales athens
	naples cyprus honduras philippines netherlands brussels mars jesus hans jens lars klaus linus williams adams evans
	mercedes evening wedding ceiling stocking
	news species series business physics`)

// overstemmed are words whose stem another word has, with a term of their own.
var overstemmed = wordMap(`universe universes=universe university universities=university organ organs=organs
	policy policies=policy police policing=police past=past paste pastes pasted pasting=paste businesses=business
	importance important importantly=important evenings=evening weddings=wedding
	generic=generic animate animated animation=animate`)

// irregular are the forms of English that no rule makes, in daily use. Forms that
// are words of their own are left out: rose, ground, wound, lay, bit, lives, leaves.
var irregular = wordMap(`went gone goes=go bought=buy brought=bring thought thoughts=think taught=teach caught=catch fought=fight sought=seek
	came=come became=become began begun=begin broke broken=break built=build burnt=burn chose chosen=choose dealt=deal dug=dig drew drawn=draw
	dreamt=dream drank drunk=drink drove driven=drive ate eaten=eat fell fallen=fall fed=feed felt=feel found=find flew flown=fly
	forbade forbidden=forbid forgot forgotten=forget forgave forgiven=forgive froze frozen=freeze got gotten=get gave given=give
	grew grown=grow hung=hang heard=hear hid hidden=hide held=hold kept=keep knelt=kneel knew known=know laid=lay led=lead learnt=learn
	left=leave lent=lend lit=light lost=lose made=make meant=mean met=meet mistook mistaken=mistake paid=pay proven=prove
	rode ridden=ride rang rung=ring risen=rise ran=run said=say saw seen=see sold=sell sent=send sewn=sew shook shaken=shake shone=shine
	shot=shoot shown=show shrank shrunk=shrink sang sung=sing sank sunk=sink sat=sit slept=sleep slid=slide spoke spoken=speak spent=spend
	spun=spin sprang sprung=spring stood=stand stole stolen=steal stuck=stick struck=strike swore sworn=swear swept=sweep swam swum=swim
	swung=swing took taken=take told=tell tore torn=tear threw thrown=throw understood=understand woke woken=wake wore worn=wear
	wept=weep won=win withdrew withdrawn=withdraw wrote written=write
	children=child men=man women=woman feet=foot teeth=tooth mice=mouse geese=goose wives=wife knives=knife shelves=shelf
	halves=half wolves=wolf thieves=thief loaves=loaf calves=calf scarves=scarf lice=louse oxen=ox
	criteria=criterion phenomena=phenomenon analyses=analysis crises=crisis theses=thesis bases=basis diagnoses=diagnosis
	indices=index appendices=appendix matrices=matrix vertices=vertex
	centre=center centres=center theatre=theater theatres=theater metre=meter metres=meter kilometre=kilometer kilometres=kilometer
	litre=liter litres=liter fibre=fiber fibres=fiber grey=gray defence=defense offence=offense licence=license practise practised practising=practice
	programme programmes=program catalogue catalogues=catalog dialogue dialogues=dialog aeroplane aeroplanes=airplane pyjamas=pajamas
	jewellery=jewelry cosy=cozy plough=plow sceptical=skeptical mould mouldy=mold moustache=mustache yoghurt yogurts yoghurts=yogurt
	enrol=enroll fulfil=fulfill skilful=skillful judgement=judgment ageing=aging doughnut doughnuts=donut mum mums=mom
	manoeuvre=maneuver paediatric=pediatric anaemia=anemia oestrogen=estrogen tyre tyres=tire cheque cheques=check`)

// What lists say of a token on its way to a term.
var (
	termGlance  = glanceOf(numbers, irregular, overstemmed)
	fixedGlance = glanceOf(fixed)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// wordMap reads "form form=base": each form leads to the base that follows it.
func wordMap(entries string) map[string]string {
	out := map[string]string{}
	var forms []string
	for _, entry := range strings.Fields(entries) {
		form, base, last := strings.Cut(entry, "=")
		forms = append(forms, form)
		if last {
			for _, f := range forms {
				out[f] = base
			}
			forms = forms[:0]
		}
	}
	return out
}
