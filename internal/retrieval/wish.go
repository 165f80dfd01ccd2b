package retrieval

import (
	"strings"
	"sync"
)

// People say once how they want things ("I can't stand crowds", "Always show the units") and later ask for
// something that this bears on, in other words. A text that says so is also indexed under that, so that a
// search for a request finds it.
const (
	wishMark = '\x04' // leads the text of a [Wish] token
	// WishTerm is the term under which texts stand that say what somebody likes or avoids.
	WishTerm = string(rune(wishMark)) + "wish"
	// OrderTerm is that of texts that say what is always or never to be done.
	OrderTerm = string(rune(wishMark)) + "order"
)

// phrases reads lists with commas between phrases.
func phrases(list string) map[string]bool {
	set := map[string]bool{}
	for phrase := range strings.SplitSeq(list, ",") {
		set[strings.TrimSpace(phrase)] = true
	}
	return set
}

// wishes are what a sentence begins with, from "I" on, that says what its writer likes or avoids.
var wishes = phrases(`i prefer,i hate,i love,i like,i enjoy,i dislike,i avoid,i always,i never,i only,i refuse,i detest,i loathe,i despise,i adore,
	i favor,i favour,i won't,i will not,i will only,i'd rather,i'd prefer,i'd much rather,i would rather,i would prefer,
	i would much rather,i tend to,i'm allergic,i am allergic,i'm not comfortable,i am not comfortable,i'm uncomfortable,
	i am uncomfortable,i'm afraid of,i am afraid of,i'm scared of,i am scared of,i'm not a fan,i am not a fan,i'm a big fan,
	i am a big fan,i'm fond,i am fond,i'm vegan,i am vegan,i'm vegetarian,i am vegetarian,i'm a vegan,i'm a vegetarian,
	i am a vegetarian,i am a vegan,i feel uneasy,i feel uncomfortable,i struggle with,i don't like,i do not like,i don't want,
	i do not want,i don't eat,i do not eat,i don't drink,i do not drink,i don't trust,i don't enjoy,i do not enjoy,i don't use,
	i don't do,i don't wear,i don't care for,i can't stand,i cannot stand,i can't bear,i cannot bear,i can't eat,i cannot eat,
	i can't drink,i can't have,i can't tolerate,i can't digest,i get anxious,i get nervous,i get seasick,i get carsick,
	i get migraines,i get motion,i have a phobia,i have an allergy,i have a fear,i have a strong preference,i want my,i want our,
	i want everything,i want all,i like my,i need my,i need at,i find it,i keep forgetting,i hate it,i've given up,i gave up,
	i stopped,i'm against,i am against,i learn best,i work best,i think best,i insist,i really like,i really love,i really hate,
	i'm passionate,i am passionate,i'm sensitive,i am sensitive,i'm intolerant,i am intolerant,i'm lactose,i am lactose,
	i'm picky,i am picky,i'm most,i am most,i'm at my best,i have no patience,i have trouble,i'm trying to avoid,
	i am trying to avoid,i try to avoid,i'm trying to cut,i am trying to cut,i try to cut,i'm trying to eat,i am trying to eat,
	i try to eat,i'm trying to drink,i am trying to drink,i try to drink,i'm trying to reduce,i am trying to reduce,
	i try to reduce,i'm trying to stop,i am trying to stop,i try to stop,i'm trying to quit,i am trying to quit,i try to quit,
	i'm trying to live,i am trying to live,i try to live,i try not to,i'm trying not to,i'm trying to spend less,
	i am trying to spend less`)

// wishWords say in a note of somebody's what he likes or avoids.
const wishWords = "prefers dislikes hates avoids likes loves enjoys refuses allergic intolerant vegetarian vegan favourite favorite "

// orders are what a sentence begins with that says what is always or never to be done.
var orders = phrases(`always,never,please always,please never,please don't ever,don't ever,do not ever,from now on,whenever i ask,when i ask,
	whenever i,any time i ask,every time i ask,only ever,make sure to always,be sure to always,in future,in the future`)

// noOrders follow "always" and "never" where a sentence lacks its "I am" or "it is".
var noOrders = wordSet(`a an the at in on up so too very really such been great good nice fun glad happy proud thankful grateful amazing lovely
	here there thought knew heard had was were got felt saw went did done seen said mind more again before know wonderful better worth love`)

// whens are what asksWhen begins with.
var whens = wordSet("when whenever if")

// asksWhen is in an order behind what it is about.
var asksWhen = phrases("when i ask,whenever i ask,if i ask,when i request,whenever i request")

// toMe is what follows "makes" in a wish.
var toMe = phrases(`me,my,us`)

// wish takes in a word of a stored text.
func (t *tokenizer) wish(lower string, start int) {
	opening := t.opening && !t.ordered
	if !opening && !wishGlance().may(lower) { // mostly
		return
	}
	rest := t.text[start:]
	switch {
	case !t.wished && t.isWish(lower, rest):
		t.wished = true
		t.yield(Token{Text: WishTerm, Kind: Wish})
	case !t.ordered && (t.opening && isOrder(lower, rest) || whens[lower] && saysOneOf(asksWhen, "", rest)):
		t.ordered = true
		t.yield(Token{Text: OrderTerm, Kind: Wish})
	}
}

// isOrder reports whether a sentence begins with an order. "Always great to see you" and "Never thought so" are none.
func isOrder(lower, sentence string) bool {
	if saysOneOf(foreignOrders, "", sentence) {
		return true
	}
	if !saysOneOf(orders, "", sentence) {
		return false
	}
	next, _ := cutWord(sentence[len(lower):])
	next = strings.ToLower(next)
	return lower != "always" && lower != "never" || !noOrders[next] && !strings.HasSuffix(next, "ed") && !strings.HasSuffix(next, "ing")
}

// wishGlance tells of most words that no wish begins with them, and no order is about them.
var wishGlance = sync.OnceValue(func() *glance {
	g := glanceOf(wishKinds)
	g.add(glanceOf(whens))
	return g
})

// isWish reports whether a text from some word on says what somebody likes or avoids.
func (t *tokenizer) isWish(lower, text string) bool {
	switch wishKinds[lower] {
	case opensEnglish:
		return saysOneOf(wishes, "i", text[len(lower):])
	case opensToMe:
		return saysOneOf(toMe, "", text[len(lower):])
	case opensForeign:
		return saysOneOf(foreignWishes, "", text)
	case saysWish:
		return true
	}
	return false
}

// Bounds of a phrase: its words, and its bytes.
const (
	mostPhrase    = 6
	longestPhrase = 40
)

// saysOneOf reports whether a text begins with a phrase of a list, behind what was read of it.
func saysOneOf(list map[string]bool, said, text string) bool {
	var room [longestPhrase + 2]byte
	key := append(room[:0], said...)
	for range mostPhrase {
		n := 0
		for n < len(text) && text[n] == ' ' {
			n++
		}
		if n > 0 && len(key) > 0 {
			key = append(key, ' ')
		}
		text = text[n:]
		for text != "" {
			c := text[0]
			switch {
			case strings.HasPrefix(text, "’"):
				c, text = '\'', text[len("’")-1:]
			case isLetter(c):
				c |= 0x20
			case c != '\'':
				return list[string(key)]
			}
			text = text[1:]
			if key = append(key, c); len(key) > longestPhrase {
				return false
			}
			if text != "" && text[0] == ' ' {
				break
			}
		}
		if list[string(key)] {
			return true
		}
	}
	return false
}

// An Aim is what a query is for.
type Aim uint8

// What queries are for.
const (
	ForFacts  Aim = iota // what is so
	ForAdvice            // something is to be done, or advised
	ForRecord            // what was said or done
)

// adviceWords ask for advice wherever they stand.
var adviceWords = wordSet("recommend recommendation recommendations suggest suggestion suggestions advise advice tips ideas propose")

// advicePhrases do so, or ask for something to be done, where a sentence begins.
var advicePhrases = phrases(`help,can you,could you,would you,will you,please,should i,should we,shall i,shall we,may i,could i,could we,can i,can we,
	how can i,how can we,how could i,how could we,how shall,what should i,what should we,what shall,what can i,what can we,
	what could i,what could we,what would you,what would be,what is the best,what's the best,what are some,what are the best,
	what are good,what do you think,where can i,where can we,where shall,when shall,which would,which one should,is it better,
	is there a good,are there any,any idea,any ideas,any good,any tips,do you have any,do you know any,give,tell,show,write,plan,
	create,make,design,draft,explain,summarise,summarize,book,order,find,pick,choose,list,build,implement,generate,compare,
	describe,organise,organize,prepare,arrange,set up,schedule,translate,refactor,review,fix,i need,i'm looking for,
	i am looking for,i'm planning,i am planning,i'm trying to decide,i want to,i'd like,i would like,i'm thinking,i am thinking,
	i'm considering,i am considering,i'm looking to,i am looking to,we need,we want to,let's,walk me through,teach,outline,
	would a,would an,would it,would this,would that,would the,how should i,how should we,where should i,where should we,
	when should i,when should we,who should i,who should we,whom should i,whom should we,how would you suggest`)

// shoulds ask for advice inside of a sentence.
var shoulds = phrases("should i,should we")

// recordWords ask for what was said or done, in whatever form: "Can you list what I told you".
var recordWords = wordSet(`did were had happen happened happens said told asked mentioned discussed brought talked spoke conversation
	conversations chats chronological chronologically sequence summary summarize summarise overview recap remind remember`)

// aimOf is what a query is for.
func aimOf(text string) (aim Aim) {
	text = fold(text)
	if InOtherScript(text) {
		switch lower := strings.ToLower(text); {
		case containsOne(lower, recordInScripts):
			return ForRecord
		case containsOne(lower, adviceInScripts):
			aim = ForAdvice
		}
	}
	facts := false
	for i, opening := 0, true; i < len(text); {
		if !isLetter(text[i]) {
			opening = opening || strings.IndexByte(".!?\n,;:", text[i]) >= 0
			i++
			continue
		}
		word := text[i:]
		if end := strings.IndexFunc(word, func(r rune) bool { return r > 'z' || !isLetter(byte(r)) }); end >= 0 {
			word = word[:end]
		}
		lower := strings.ToLower(word)
		switch {
		case recordWords[lower]:
			return ForRecord
		case lower == "does" || lower == "has": // of somebody, or something: "What advice does Ann give?"
			facts = true
		case adviceWords[lower], foreignAdvice[lower], opening && saysOneOf(advicePhrases, "", text[i:]),
			opening && saysOneOf(foreignRequests, "", text[i:]),
			lower == "should" && saysOneOf(shoulds, "", text[i:]):
			aim = ForAdvice
		}
		opening, i = false, i+len(word)
	}
	if facts {
		return ForFacts
	}
	return aim
}

// isLetter reports whether a byte is an English letter.
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
