package retrieval

import (
	"slices"
	"strings"
	"sync"
)

// A query for what was said may say more of the answer than of what it is about: "Can you list the order in which I
// brought up the garden throughout our conversations? Mention only five items." Everybody's memories have the words of
// the frame, and none of them is about it.

// A step of a pattern is one of some words; it may be missing, or there may be several.
type step struct {
	words          map[string]bool
	optional, many bool
}

// patternOf reads a pattern: words with "|" between those of one step, and "?" or "*" behind a step.
func patternOf(text string) (steps []step) {
	for field := range strings.FieldsSeq(text) {
		words, optional := strings.CutSuffix(field, "?")
		words, many := strings.CutSuffix(words, "*")
		steps = append(steps, step{wordSet(strings.ReplaceAll(words, "|", " ")), optional || many, many})
	}
	return steps
}

// frames are patterns: what a sentence begins with, what stands anywhere, and what a sentence ends with.
var frames = sync.OnceValue(func() (all [3][][]step) {
	const asks = "can|could|would|will? you? please? "
	for where, texts := range [...][]string{
		{asks + `give|show|tell|provide|write|make|list|walk me|us? through|with? a|an|the? clear|complete|comprehensive|brief|short|quick|detailed|full*
			summary|overview|recap of`,
			asks + "summarize|summarise|recap|outline",
			asks + `give|show|tell|list|walk? me|us? through? the order|sequence in? which|that? i|we first? brought|mentioned|discussed|raised|covered|talked|spoke
			up|about? different|various? aspects|parts? of?`},
		{"throughout|through|across|over|during|in all? of? our|my past|previous|earlier? conversations|conversation|chats|chat|discussions|talks"},
		{"in chronological|that|this? order", "over time", "so far"},
	} {
		for _, text := range texts {
			all[where] = append(all[where], patternOf(text))
		}
	}
	return all
})

const (
	framesOpening = iota
	framesAnywhere
	framesEnding
)

// forms begin and make a sentence that says what an answer looks like.
var (
	formsOpening = wordSet("mention list give include name answer reply respond keep limit use show write")
	formsSay     = wordSet("only item items bullet bullets point points sentence sentences word words brief short concise")
)

// framed is a word of a query, and where it stands.
type framed struct {
	text     string // in lower case
	from, to int
	opens    bool // a sentence
	ends     bool // one, or a part of it
}

// Subject is a query without what it says of its answer, if it asks for what was said or done. One that is about
// nothing else stays as it is.
func Subject(query string) string { return subject(query, aimOf(query)) }

// subject is Subject of a query with a known aim.
func subject(query string, aim Aim) string {
	if aim != ForRecord || strings.ContainsAny(query, `"“”*`) {
		return query
	}
	words := framedWords(query)
	out := make([]bool, len(words))
	for i := range words {
		for where, patterns := range frames() {
			if where == framesOpening && !words[i].opens {
				continue
			}
			longest := 0
			for _, p := range patterns {
				if n := matches(words[i:], p); where != framesEnding || n > 0 && words[i+n-1].ends {
					longest = max(longest, n)
				}
			}
			for n := range longest {
				out[i+n] = true
			}
		}
	}
	leaveForms(words, out)
	if !slices.Contains(out, true) {
		return query
	}
	var b strings.Builder
	from := 0
	for i := range words {
		if out[i] {
			b.WriteString(query[from:words[i].from])
			from = words[i].to
		}
	}
	b.WriteString(query[from:])
	if rest := b.String(); HasContent(rest) {
		return rest
	}
	return query
}

// leaveForms leaves out sentences behind the first one that say what an answer looks like.
func leaveForms(words []framed, out []bool) {
	for from := 0; from < len(words); {
		to := from + 1
		for to < len(words) && !words[to].opens {
			to++
		}
		if from > 0 && formsOpening[words[from].text] &&
			slices.ContainsFunc(words[from:to], func(w framed) bool { return formsSay[w.text] }) {
			for i := from; i < to; i++ {
				out[i] = true
			}
		}
		from = to
	}
}

// framedWords are the words of a query.
func framedWords(query string) (words []framed) {
	opens := true
	for i := 0; i < len(query); {
		n := strings.IndexFunc(query[i:], func(r rune) bool { return strings.ContainsRune(" \t\n.,;:!?", r) })
		if n < 0 {
			n = len(query) - i
		}
		if n > 0 {
			words = append(words, framed{strings.ToLower(query[i : i+n]), i, i + n, opens, i+n == len(query)})
			opens = false
		}
		if i += n; i < len(query) {
			if strings.IndexByte(".,;:!?\n", query[i]) >= 0 && len(words) > 0 {
				words[len(words)-1].ends = true
				opens = opens || strings.IndexByte(".!?\n", query[i]) >= 0
			}
			i++
		}
	}
	return words
}

// matches is how many of the words a pattern stands for, 0 if it is not what they begin with.
func matches(words []framed, pattern []step) (n int) {
	for _, s := range pattern {
		found := false
		for n < len(words) && s.words[words[n].text] && (!found || s.many) {
			found = true
			n++
		}
		if !found && !s.optional {
			return 0
		}
	}
	return n
}

// tellings are what somebody does who says something, as in "did you recommend" and "you recommended".
var (
	tellings = wordSet("recommend suggest advise tell say explain give propose mention show describe list answer write")
	toldYou  = wordSet("recommended suggested advised told said explained gave given proposed mentioned showed described listed answered wrote written")
	summings = wordSet("summary summarize summarise overview recap")
)

// OfAssistant reports whether a query asks for what an assistant said ("What did you recommend?", "the steps you gave
// me"), or for a summary, to which both sides of a talk belong. It is told in English.
func OfAssistant(query string) bool {
	var before, last string // words
	other := func(r rune) bool { return r != '\'' && r != '’' && (r|0x20 < 'a' || r|0x20 > 'z') }
	for word := range strings.FieldsFuncSeq(query, other) {
		word = strings.ToLower(word)
		switch {
		case summings[word], toldYou[word] && (last == "you" || before == "you"),
			tellings[word] && (last == "did you" || before == "did you"):
			return true
		}
		if word == "you" && last == "did" {
			word = "did you"
		}
		before, last = last, word
	}
	return false
}
