package retrieval

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Query is what a person typed, taken apart.
type Query struct {
	Words    []QueryWord // distinct, in order
	Phrases  [][]string  // each the terms of words that follow one another; all are required
	Prefixes []string    // beginnings of words, folded; distinct
	Aim      Aim         // of it
	Text     string      // as it was typed, folded
	English  bool        // its small words are English rather than of another language that has stems
}

// A QueryWord is a term to look for.
type QueryWord struct {
	Term   string
	Weight float64 // of its score, above 0, at most 1

	Spelling string // as it was typed, folded; of what can be misspelt, else empty
	Optional bool   // it counts where it is found, and is not missed

	// Roles are the terms under which texts stand that say who has the role that the word names. A name is a
	// [Bearer] token behind such a term.
	Roles []string

	word string // as it was typed, folded: what stems are made of; see Or
	made Kind   // of the token that it was made of, if others count as it
	lone bool   // none does

	small   bool // it carries no meaning in the language the query may be in
	run, at int  // of a pair: the number of its run, from 1, and where in it the pair begins
}

// Follows reports whether a pair of characters begins with the one that another pair ends with.
func (w *QueryWord) Follows(before *QueryWord) bool {
	return w.made == Pair && w.run != 0 && w.run == before.run && w.at == before.at+1
}

// Small reports whether it carries no meaning in the language the query may be in.
func (w *QueryWord) Small() bool { return w.small }

// Word is the word as it was typed, folded.
func (w *QueryWord) Word() string { return w.word }

// Forms are the terms under which texts have a word in some form: what a query with the word looks for.
func Forms(word string) []string {
	term, _ := Normalize(word)
	w := QueryWord{Term: term, word: word, made: Word}
	return w.Or([]string{term}, true)
}

// Or adds to a list the terms that count as the word: its stems in languages, unless no text has any, and what a text
// may have in its place. To find them takes longer than all else of [Parse], and who asks for the
// rarest words needs those of a few.
func (w *QueryWord) Or(terms []string, stems bool) []string {
	if w.lone {
		return terms
	}
	if w.made == Word {
		return addForms(terms, w.Term, w.word, stems)
	}
	terms = withAlternates(w.Term, nil, terms)
	if w.made == Pair {
		if digit := digitOf(w.Term); digit != "" {
			terms = append(terms, digit)
		}
	}
	return terms
}

// Weights of what a query finds beside its words. They keep a compound, which is
// asked for as a whole and by its parts, from drowning out the other words.
const (
	partWeight   = 0.5 // of a part of a word: "user" of "user_id"
	nameWeight   = 0.5 // of a name typed like the stop word: "will"
	singleWeight = 0.3 // of a Chinese character of a question beside the pairs it stands in
	mixedWeight  = 0.5 // of a pair of which one character has no content
	smallWeight  = 0.3 // of a small word of another language than English: "les"
)

// Bounds on what a search looks for in the words of every passage that may have it: phrases,
// and prefixes, and words of a phrase. A text that is pasted into a query may quote hundreds.
const (
	mostExact   = 16
	mostPhrased = 32
)

// Parse takes a query apart. Everything is text except
//
//   - "words in double quotes" (also “ ”), a phrase: the words in this order, with
//     nothing between them. An opening quote stands at the start or after a space or
//     a bracket, and needs a closing one;
//   - word*, the beginning of a word: at least two letters or digits between spaces.
//
// Words of a phrase are looked for like others, too. Stop words are left out unless
// the query has nothing else. At most limit words are kept, and the first 16 different
// phrases and prefixes; a phrase keeps its first 32 words.
func Parse(text string, limit int) Query {
	var q Query
	plain := q.takePrefixes(text, limit)
	for rest := plain; len(q.Phrases) < min(limit, mostExact); {
		phrase, after, ok := nextPhrase(rest)
		if !ok {
			break
		}
		rest = after
		terms := phraseTerms(phrase, min(limit, mostPhrased))
		had := func(phrase []string) bool { return slices.Equal(phrase, terms) }
		if len(terms) > 0 && !slices.ContainsFunc(q.Phrases, had) {
			q.Phrases = append(q.Phrases, terms)
		}
	}
	_, others, english := countSmall(fold(plain))
	q.Text = fold(plain)
	q.English, q.Aim = english > others, aimOf(plain)
	q.Words = q.wordsOf(nil, subject(plain, q.Aim), limit)
	return q
}

// AppendWords returns the words of [Parse] alone, in the memory of an empty list if it is enough.
func AppendWords(to []QueryWord, text string, limit int) []QueryWord {
	var q Query
	return q.wordsOf(to, q.takePrefixes(text, limit), limit)
}

// wordsOf returns the words of a text without the prefixes, in the memory of an empty list if it is enough.
func (q *Query) wordsOf(to []QueryWord, plain string, limit int) []QueryWord {
	c := collector{limit: limit, content: slices.Grow(to, min(limit, len(plain)/bytesOfWord+1))}
	analyze(plain, true, c.token)
	return c.words(len(q.Prefixes) == 0)
}

// HasWords reports whether there is anything to look for in a query: "?!" has nothing.
func HasWords(text string) bool {
	q := Parse(text, 1)
	return len(q.Words)+len(q.Phrases)+len(q.Prefixes) > 0
}

// HasContent reports whether a text has a word with content: "what was there" has none, nor has "what happened".
func HasContent(text string) bool {
	c := collector{limit: 1}
	analyze(text, true, func(t Token) {
		if t.Kind != Word || !happens[t.Text] {
			c.token(t)
		}
	})
	return c.strong
}

// happens are words that ask for whatever there is. Other languages have none here: their small words have content.
var happens = wordSet("happen happened happens happening going anything everything something notes memories entries events")

// mostAsked bounds the words of a query in which names are looked for.
const mostAsked = 256

// Names returns what reports whether a query has a word of a name, which is given as the terms of its
// words with spaces between them; "" is none. The query is taken apart when there is a name to look for.
func Names(query string) func(name string) bool {
	words := sync.OnceValue(func() map[string]bool {
		terms := map[string]bool{}
		for _, w := range Parse(query, mostAsked).Words {
			terms[strings.ToLower(w.Term)] = true // in capitals where the name is a small word, too: "Will"
		}
		return terms
	})
	return func(name string) bool {
		if name == "" { // most texts: what follows allocates
			return false
		}
		for term := range strings.FieldsSeq(name) {
			if words()[term] {
				return true
			}
		}
		return false
	}
}

// takePrefixes collects the prefixes of a text and returns the text without them.
func (q *Query) takePrefixes(text string, limit int) string {
	if !strings.Contains(text, "*") {
		return text
	}
	inPhrase := false
	return strings.Join(mapFields(text, func(field string) string {
		quotes := strings.Count(field, `"`) + strings.Count(field, "“") + strings.Count(field, "”")
		wasIn := inPhrase
		inPhrase = inPhrase != (quotes%2 == 1)
		stem, ok := strings.CutSuffix(field, "*")
		if !ok || wasIn || quotes > 0 {
			return field
		}
		stem = strings.ToLower(fold(stem))
		if utf8.RuneCountInString(stem) < 2 || len(stem) > maxTokenBytes || strings.IndexFunc(stem, func(r rune) bool {
			return isCJK(r) || !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.-", r)
		}) >= 0 {
			return field
		}
		if len(q.Prefixes) < min(limit, mostExact) && !slices.Contains(q.Prefixes, stem) {
			q.Prefixes = append(q.Prefixes, stem)
		}
		return ""
	}), "")
}

// mapFields returns the fields of a text, changed, with the spaces between them.
func mapFields(text string, change func(string) string) (out []string) {
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		switch end {
		case 0:
			_, end = utf8.DecodeRuneInString(text)
			out = append(out, text[:end])
		case -1:
			end = len(text)
			fallthrough
		default:
			out = append(out, change(text[:end]))
		}
		text = text[end:]
	}
	return out
}

// nextPhrase finds the first quoted phrase of a text.
func nextPhrase(text string) (phrase, rest string, ok bool) {
	before := ' '
	for i, r := range text {
		if (r == '"' || r == '“') && (unicode.IsSpace(before) || strings.ContainsRune("([{（", before)) {
			start := i + utf8.RuneLen(r)
			end := strings.IndexAny(text[start:], `"”`)
			if end < 0 {
				return "", "", false
			}
			_, width := utf8.DecodeRuneInString(text[start+end:])
			return text[start : start+end], text[start+end+width:], true
		}
		before = r
	}
	return "", "", false
}

func phraseTerms(phrase string, limit int) (terms []string) {
	Analyze(phrase, func(t Token) {
		if t.Kind.HasPosition() && len(terms) < limit {
			term, _ := Normalize(t.Text)
			terms = append(terms, term)
		}
	})
	return terms
}

// HasPhrase reports whether the terms of a phrase follow one another in a text.
func HasPhrase(text string, phrase []string) bool {
	var last []string // terms
	found := false
	Analyze(text, func(t Token) {
		if found || !t.Kind.HasPosition() {
			return
		}
		term, _ := Normalize(t.Text)
		if last = append(last, term); len(last) > 2*len(phrase) {
			last = append(last[:0], last[len(last)-len(phrase):]...)
		}
		found = len(last) >= len(phrase) && slices.Equal(last[len(last)-len(phrase):], phrase)
	})
	return found
}

// bytesOfWord is how many bytes a word of a query with content has at least, on average, with what stands between.
const bytesOfWord = 6

// collector gathers the words of a query in two lists: those with content, and
// those that count when there is no content.
type collector struct {
	limit          int
	content, empty []QueryWord
	strong         bool // content is more than a name that may be none
}

func (c *collector) token(t Token) {
	term, stop := Normalize(t.Text)
	weight := 1.0
	switch t.Kind {
	case Word:
		if stop {
			if c.strong && !nameable[term] { // it does not count
				return
			}
			c.empty = addWord(c.empty, &QueryWord{Term: term, Weight: 1, lone: true}, c.limit)
			if nameable[term] {
				name := QueryWord{Term: strings.ToUpper(term), Weight: nameWeight, lone: true}
				c.content = addWord(c.content, &name, c.limit)
			}
			return
		}
		if t.small {
			weight = smallWeight
		}
	case Part:
		if stop {
			return
		}
		weight = partWeight
	case Character:
		if t.alone && t.function { // a small word of Korean, such as "this"
			c.empty = addWord(c.empty, &QueryWord{Term: term, Weight: 1, lone: true}, c.limit)
			return
		}
		if !t.alone {
			if !t.sentence || t.function || !isHan(t.Text) {
				return
			}
			weight = singleWeight
		}
	case Pair:
		switch {
		case t.function:
			c.empty = addWord(c.empty, &QueryWord{Term: term, Weight: 1, lone: true}, c.limit)
			return
		case t.mixed:
			weight = mixedWeight
		}
	}
	c.strong = true
	w := QueryWord{Term: term, Weight: weight, Optional: t.optional, made: t.Kind, small: t.small, run: t.run, at: t.at}
	switch {
	case t.Kind == Word:
		w.word = t.Text
		if !t.chained {
			w.Roles = rolesOf(t.Text, t.owned)
		}
		if misspellable(t.Text) {
			w.Spelling = t.Text
		}
	case t.role != "":
		w.Roles, w.word = []string{string(rune(roleMark)) + t.role}, t.Text
	case t.Kind == Character, t.Kind == Pair && !t.optional:
	default:
		w.lone = true
		if t.Kind == Joined {
			w.Roles, w.word = rolesOf(t.Text, false), t.Text
		}
	}
	c.content = addWord(c.content, &w, c.limit)
}

// misspellable reports whether a word may be a typing error: letters alone, of a script
// that is not searched in pairs, and enough of them.
func misspellable(word string) bool {
	return utf8.RuneCountInString(word) >= leastMisspelt && allSpelled(word)
}

// words returns what to look for.
func (c *collector) words(needed bool) []QueryWord {
	words := c.content
	if !c.strong && needed {
		for i := range c.empty {
			words = addWord(words, &c.empty[i], c.limit)
		}
	}
	return words
}

// addWord adds a word while there is room, or keeps the greater weight of one that is there.
func addWord(words []QueryWord, w *QueryWord, limit int) []QueryWord {
	for i := range words {
		if words[i].Term == w.Term {
			words[i].Weight = max(words[i].Weight, w.Weight)
			words[i].Optional = words[i].Optional && w.Optional
			return words
		}
	}
	if len(words) == limit {
		return words
	}
	return append(words, *w)
}

// nameable are stop words that are names as well, and typed without a capital.
var nameable = wordSet("will may us it who")
