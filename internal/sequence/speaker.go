package sequence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How a text begins that says whose it is: "user: …", "**Assistant:** …", "[AI] …",
// "2024-03-15 user (by phone): …", "The user said: …", {"role":"user", …}.
var (
	named = regexp.MustCompile(`^(?:\[?\d{4}-\d\d-\d\d[t \d:.z+-]*\]?[ ,:–-]*)?[*_[<(]{0,3}` +
		`(?:the )?(user|human|assistant|agent|ai|model|bot)` +
		`(?:[*_\])>]{0,3}(?: \([^()\n]{1,40}\))? ?[:：]|[\]>)]|(?: (?:said|says|asked|asks|wrote|replied|answered)\b))`)
	object = regexp.MustCompile(`^\{\s*"role"\s*:\s*"([a-z]{2,9})"`)
)

// How a text begins that says by name whose it is: "Ann: …", "**Ann Lee (by phone):** …",
// "[2024-03-15] Ann: …". A name is of one to three words with capitals, or of a script without.
var signed = regexp.MustCompile(`^(\s*(?:\[?\d{4}-\d\d-\d\d[Tt \d:.Zz+-]*\]?[ ,:–-]*)?[*_[<(]{0,3})(` + nameWord + `(?: ` + nameWord +
	`){0,2})(?:[*_\])>]{0,3}(?: \([^()\n]{1,40}\))? ?(?::[*_]{0,3}\s|：)|[\]>]\s)`)

const (
	nameWord   = `[\p{Lu}\p{Arabic}\p{Hebrew}\p{Devanagari}][\p{L}\p{M}\p{N}.'’-]{0,30}`
	signedHead = 120 // bytes in which a text says whose it is
)

// Name returns the name that a text begins with, of who says it, and what stands before it;
// "": there is none, or one of a side of a chat, which [SaidBy] tells.
func Name(text string) (before, name string) {
	head := text[:min(len(text), signedHead)]
	if !strings.ContainsAny(head, ":：]>") { // most texts: without the expression
		return "", ""
	}
	found := signed.FindStringSubmatch(head)
	if found == nil || SaidBy(text) != "" {
		return "", ""
	}
	return found[1], found[2]
}

// sides are what the two sides of a chat are called.
var sides = []string{"user", "human", "assistant", "agent", "ai", "model", "bot"}

// SaidBy returns who a text says is speaking, such as "user" or "assistant"; "": it does
// not.
func SaidBy(text string) string {
	head := strings.ToLower(strings.TrimLeft(text[:min(len(text), 120)], " \t\n"))
	if !containsAny(head, sides) { // most texts: without the expressions
		return ""
	}
	for _, form := range []*regexp.Regexp{named, object} {
		if found := form.FindStringSubmatch(head); found != nil {
			return found[1]
		}
	}
	return ""
}

const (
	headLength  = 400     // bytes in which a text says whose it is, and takes up what was said
	endLength   = 320     // bytes in which an offer stands
	readLength  = 8 << 10 // bytes of which words and lines are counted
	longReply   = 600     // bytes
	fewLines    = 3       // of lists and headings
	fewYous     = 3
	likelyVotes = 3
)

// openings are how assistants begin, and people seldom do: they take up what was said.
var openings = []string{
	"certainly", "absolutely", "of course", "sure thing", "got it", "understood", "great question", "great plan", "great idea",
	"great choice", "you're welcome", "you're very welcome", "you're most welcome", "you're absolutely right", "congratulations",
	"i'd be happy", "i'd be glad", "i would be happy", "i'm glad to", "i'm happy to", "i'm sorry to hear", "glad to hear", "happy to help",
	"that sounds", "it sounds", "this sounds", "that's a", "that's great", "that's good", "that's wonderful", "that's understandable",
	"it's great", "it's completely", "it's understandable", "it's natural", "it's wonderful", "it's important", "here are ",
	"here's ", "based on ", "given your", "natürlich", "selbstverständlich", "gerne!", "gerne,", "bien sûr", "certainement", "avec plaisir",
	"por supuesto", "claro que", "con gusto", "当然", "當然", "好的", "没问题", "もちろん", "承知し", "かしこまり", "물론", "네, ",
}

// offers are how assistants end.
var offers = []string{
	"feel free to", "let me know", "would you like", "if you have any", "if you need", "should you have", "should you need",
	"do you have any other", "do you have any more", "do you have any further", "is there anything else", "is there anything specific",
	"don't hesitate", "here to help", "happy to help", "hope this helps", "hope that helps", "good luck", "further assistance",
	"further questions", "sag bescheid", "sag einfach bescheid", "lass mich wissen", "weitere fragen", "möchtest du", "möchten sie",
	"n'hésite", "fais-moi savoir", "faites-moi savoir", "avísame", "házmelo saber", "no dudes en", "te gustaría",
	"随时告诉我", "告诉我", "请随时", "お知らせください", "お気軽に", "いかがでしょう", "알려주세요", "알려 주세요", "언제든",
}

// LikelyAssistant reports whether a text has the form of what an assistant says in a chat: it
// takes up what it was told or ends with an offer, speaks to a "you" rather than of an "I",
// and is long or in lists. People's own notes have lists and headings, too, so these
// alone say nothing.
func LikelyAssistant(text string) bool {
	text = strings.TrimSpace(text)
	endsAt := min(len(text), headLength)
	head, end := plain(text[:endsAt]), plain(text[max(endsAt, len(text)-endLength):])
	opens := beginsAny(strings.TrimLeftFunc(head, func(r rune) bool { return !unicode.IsLetter(r) }), openings)
	closes := containsAny(end, offers) || end == "" && containsAny(head, offers)
	long := len(text) >= longReply
	if !opens && !closes && !long { // most texts
		return false
	}
	// What lies between the two may be a draft in somebody's name.
	you, me := persons(head)
	later, mine := persons(end)
	you, me = you+later, me+mine
	if me > you || !long && 2*me > you {
		return false
	}
	votes := 0
	for _, vote := range []bool{
		opens, closes, long, you >= fewYous, lines(plain(text[:min(len(text), readLength)])) >= fewLines,
	} {
		if vote {
			votes++
		}
	}
	return votes >= likelyVotes
}

// plain brings a text, which may be cut inside of a character, to lower case and one apostrophe.
func plain(text string) string {
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return strings.ReplaceAll(strings.ToLower(text), "’", "'")
}

// persons counts how often a text speaks to somebody and of its writer.
func persons(text string) (you, me int) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' }) {
		word, _, _ = strings.Cut(word, "'")
		switch word {
		case "you", "your", "yours", "yourself":
			you++
		case "i", "my", "me", "mine", "myself":
			me++
		}
	}
	return you, me
}

// lines counts those of lists, headings and tables, and fences of code.
func lines(text string) (n int) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		mark := strings.TrimLeft(line, "0123456789#")
		if beginsAny(line, []string{"- ", "* ", "• ", "**", "|", "```"}) ||
			len(mark) < len(line) && beginsAny(mark, []string{". ", ") ", " "}) {
			n++
		}
	}
	return n
}

func beginsAny(text string, beginnings []string) bool {
	for _, s := range beginnings {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}

func containsAny(text string, parts []string) bool {
	for _, s := range parts {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}
