package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
)

// maxTokenBytes bounds a token; the rest of a longer word is not looked at, so
// that a megabyte without a space is not a key of the index.
const maxTokenBytes = 64

// A Token is a word of a text, or something a word can also be asked for by. Its
// text is folded (see [Analyze]) but not stemmed; [Normalize] gives the term.
type Token struct {
	Text string // 1 to 64 bytes
	Kind Kind

	// Of characters and pairs, told in queries only.
	function bool // without content of its own
	mixed    bool // half of it without content
	alone    bool // with no content beside it
	sentence bool // in a run with function characters: not only a word

	run, at  int    // of pairs: the number of the run, from 1, and of the first character in it, from 0
	small    bool   // of queries: carries no meaning in the language they may be in
	chained  bool   // of queries: a hyphen joins it to another word
	owned    bool   // of queries: it follows a possessive
	role     string // of pairs in queries: what they say that somebody is to the writer
	optional bool   // of queries: it counts where it is found, and is not missed
}

// Kind says what a token is of its text.
type Kind uint8

// The kinds of tokens. The words and characters of a text follow one another:
// they are what a phrase is compared with. The other kinds lie over them.
const (
	Word      Kind = iota // a word
	Character             // a character of a script that is searched in pairs
	Pair                  // two neighbouring characters
	Part                  // a part of a compound: "user" of "user_id"
	Joined                // a compound as one: "email" of "e-mail", "c++"
	Name                  // a stop word written as a name: "US"; in capitals
	Inflected             // the stem of a word in a language other than English; see stemMark
	Role                  // what somebody is to the writer: "daughter" of "my daughter Mia"; see [tokenizer.bear]
	Bearer                // who that is; it follows the role
	Wish                  // a mark of what the text says how somebody wants things; see [tokenizer.wish]
)

// HasPosition reports whether tokens of the kind follow one another in the text.
func (k Kind) HasPosition() bool { return k <= Character }

// Analyze splits a text into tokens and calls yield for each; those with a position come
// in order. Stored text and queries are split in the same way, on every store:
//
//   - text is brought to NFKC, letters to lower case, and marks are taken off
//     Latin, Greek, Arabic and Hebrew letters (Zürich = zurich), traditional Chinese
//     characters to simplified ones;
//   - words follow Unicode's boundaries, and end at a colon, at an apostrophe and
//     where the script changes to or from one searched in pairs;
//   - compounds (user_id, getUserName, foo.bar, well-known, 5km) give the whole and
//     the parts;
//   - a stop word with a capital inside a sentence (May, US) is a name as well;
//   - a run of Chinese, Japanese, Korean or South-East Asian characters gives each
//     character and each overlapping pair.
func Analyze(text string, yield func(Token)) { analyze(text, false, yield) }

func analyze(text string, query bool, yield func(Token)) {
	t := tokenizer{text: fold(text), yield: yield, query: query, opening: true}
	t.languages = languagesOf(text, t.text)
	if isPlain(t.text) {
		t.plainSegments(firstSegment)
		t.endChain()
		return
	}
	for it := words.FromString(t.text); it.Next(); {
		t.segment(it.Value(), it.Start())
	}
	t.endRun()
	t.endChain()
}

// firstSegment is how long a text is up to the first of Unicode's word boundaries behind its beginning.
func firstSegment(text string) int {
	it := words.FromString(text)
	it.Next()
	return it.End()
}

// tokenizer is the state between the segments of a text. Positions are bytes of
// the folded text.
type tokenizer struct {
	text  string
	yield func(Token)
	query bool // tell function characters

	languages []int  // that the text may be in
	previous  string // of a query: the word before, if only a space stands between
	spaced    int    // where the next word must start for that

	runStart, runEnd int  // characters of CJK that are not yielded yet
	runs             int  // that were yielded
	pointed          bool // of a query: it has pointed at somebody, as in 那位

	chain    []string // words joined by one sort of sign
	sign     byte     // between them; 0: none yet
	chainEnd int      // after the last word or sign
	open     bool     // a sign came last

	bearing bearing

	wished, ordered bool // the text has said how somebody wants things

	opening bool   // no word of the sentence came yet
	modal   string // "will" or "may" at the opening: a name, unless a question follows
	dot     int    // after a "." that stands before a word, as in ".NET"
}

// segment takes in what lies between two of Unicode's word boundaries.
func (t *tokenizer) segment(value string, start int) {
	for value != "" {
		part, paired := scriptRun(value)
		value = value[len(part):]
		end := start + len(part)
		switch first, _ := utf8.DecodeRuneInString(part); {
		case paired:
			if start != t.runEnd {
				t.endRun()
				t.runStart = start
			}
			t.endChain()
			t.runEnd, t.opening = end, false
		case first == '_' || unicode.IsLetter(first) || unicode.IsNumber(first) ||
			unicode.Is(unicode.Sc, first) || isEmoji(first):
			t.endRun()
			t.word(part, start)
		default:
			t.separator(part, start)
		}
		start = end
	}
}

// scriptRun returns the beginning of a segment that is of one sort: characters
// that are searched in pairs, or others. Marks belong to what they follow.
func scriptRun(word string) (run string, paired bool) {
	if word[0] < utf8.RuneSelf && len(word) == 1 {
		return word, false
	}
	for i, r := range word {
		if i == 0 {
			paired = isCJK(r)
		} else if r >= utf8.RuneSelf && isCJK(r) != paired && !unicode.Is(unicode.M, r) || r < utf8.RuneSelf && paired {
			return word[:i], paired
		}
	}
	return word, paired
}

// word takes in a segment with letters or digits: "due:friday" is two words, and
// so is "l'eau", while in "it's" and "Anna’s" what follows the apostrophe carries
// no meaning.
func (t *tokenizer) word(segment string, start int) {
	end := start + len(segment)
	if oneWord(segment) {
		t.single(segment, start, end, byPlace)
		return
	}
	segment = strings.Trim(segment, "_")
	pieces := strings.FieldsFunc(segment, func(r rune) bool { return r == ':' || r == '\'' || r == '’' })
	apostrophe := strings.IndexByte(segment, ':') < 0 && len(pieces) == 2
	if apostrophe {
		if base, ok := uncontracted(pieces[0], pieces[1]); ok {
			// "Will's" is somebody's, while "It's" is "it is".
			naming := never
			if strings.EqualFold(pieces[1], "s") && modals[strings.ToLower(base)] {
				naming = always
			}
			t.single(base, start, end, naming)
			return
		}
	}
	for i, piece := range pieces {
		naming := byPlace
		if i == 0 && !apostrophe {
			naming = always
		}
		t.single(piece, start, end, naming)
	}
	if apostrophe && allLetters(pieces[0]) && allLetters(pieces[1]) {
		t.emit(strings.ToLower(pieces[0]+pieces[1]), Joined) // O'Brien is asked for as obrien
	}
}

// uncontracted returns what is left of an English word with an apostrophe when
// its ending says nothing: Anna's, I'm, don't.
func uncontracted(before, after string) (base string, ok bool) {
	after = strings.ToLower(after)
	if contractions[after] {
		return before, true
	}
	if after == "t" && len(before) > 2 && before[len(before)-1]|0x20 == 'n' {
		switch base = strings.ToLower(before[:len(before)-1]); base {
		case "wo":
			base = "would" // as little as "will", and nobody's name
		case "ca", "sha":
			base = before
		}
		return base, true
	}
	return "", false
}

// contractions are what English joins to a word with an apostrophe.
var contractions = map[string]bool{"s": true, "d": true, "m": true, "ll": true, "re": true, "ve": true}

// naming says whether a stop word with a capital is a name.
type naming uint8

const (
	byPlace naming = iota // when it stands inside a sentence
	always
	never
)

// single takes in one word.
func (t *tokenizer) single(word string, start, end int, n naming) {
	if word == "" {
		return
	}
	shape := shapeOf(word)
	lower := word
	if shape.upper {
		lower = strings.ToLower(word)
	}
	lower = truncate(lower)
	t.settleModal(word)
	t.wordWithStems(lower, start, end)
	if !t.query {
		t.bear(lower, start, end, shape)
		t.wish(lower, start)
	}
	switch {
	case !shape.capital || n == never || lower == "i" || !stopWords[lower]:
	case !t.opening || n == always || strings.HasPrefix(t.text[end:], ":"):
		t.emit(strings.ToUpper(lower), Name)
	case modals[lower]:
		t.modal = lower
	}
	if shape.compound {
		t.parts(word, lower)
	}
	if t.dot == start && start > 0 {
		t.emit("."+lower, Joined)
	}
	t.opening = false
	t.link(lower, start, end)
}

// wordWithStems yields a word and what else it is found by: its stems, and in a query what
// it makes with the word before, if one of them has a digit (KX71 ABC).
func (t *tokenizer) wordWithStems(lower string, start, end int) {
	if !t.query {
		t.emit(lower, Word)
		t.stems(lower)
		return
	}
	if lower = truncate(lower); lower != "" {
		chained := start > 0 && t.text[start-1] == '-' || end < len(t.text) && t.text[end] == '-'
		t.yield(Token{Text: lower, Kind: Word, small: isSmall(lower, t.languages) || asks(lower, t.languages),
			chained: chained, owned: t.spaced == start && owns(t.previous)})
	}
	joined := t.spaced == start && start > 0 && t.text[start-1] == ' '
	if joined && len(t.previous) > 1 && len(lower) > 1 && digital(t.previous) != digital(lower) {
		t.yield(Token{Text: truncate(t.previous + lower), Kind: Joined, optional: true})
	}
	t.previous, t.spaced = lower, end+1
}

// stems yields the stems of a word in the languages that the text may be in.
func (t *tokenizer) stems(lower string) {
	if len(t.languages) == 0 || !hasStem(lower) {
		return
	}
	small, hash := smallMask(lower), stemHash(lower)
	for _, l := range t.languages {
		if small&(1<<l) == 0 {
			t.emit(languageStem(hash, lower, l), Inflected)
		}
	}
}

// digital reports whether a word has a digit.
func digital(word string) bool {
	for i := range len(word) {
		if '0' <= word[i] && word[i] <= '9' {
			return true
		}
	}
	return false
}

// oneWord reports whether a segment has nothing that words are parted by, or names begin and end with. It is asked
// of each: package strings would make a set of the signs, or look for them one by one.
func oneWord(segment string) bool {
	for i := range len(segment) {
		switch c := segment[i]; {
		case c == ':', c == '\'', c == '_', c == "’"[0] && strings.HasPrefix(segment[i:], "’"):
			return false
		}
	}
	return true
}

// cutWord returns the first word of letters in a text, and what follows it; "": there is none.
func cutWord(text string) (word, rest string) {
	plain := 0
	for plain < len(text) && text[plain] < utf8.RuneSelf && !isLetter(text[plain]) {
		plain++
	}
	text = text[plain:]
	if text == "" || !isLetter(text[0]) {
		start := strings.IndexFunc(text, unicode.IsLetter)
		if start < 0 {
			return "", ""
		}
		text = text[start:]
	}
	for plain = 0; plain < len(text) && isLetter(text[plain]); {
		plain++
	}
	if plain == len(text) || text[plain] < utf8.RuneSelf {
		return text[:plain], text[plain:]
	}
	if end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// settleModal decides whether "Will" or "May" at the opening of a sentence was a
// name, by the word that follows: "Will you" and "May the" are none.
func (t *tokenizer) settleModal(next string) {
	if t.modal == "" {
		return
	}
	if !shapeOf(next).capital && !subjects[next] {
		t.emit(strings.ToUpper(t.modal), Name)
	}
	t.modal = ""
}

// modals are verbs that open a question, and names.
var modals = wordSet("will may")

// subjects are what a verb at the opening of a question is followed by.
var subjects = wordSet(`i you he she it we they the this that there a an my your his her its our their these those any some all
	every everyone someone anyone each no not be`)

// emit yields a token that is not empty, cut to what the index keeps.
func (t *tokenizer) emit(text string, kind Kind) {
	if text = truncate(text); text != "" {
		t.yield(Token{Text: text, Kind: kind})
	}
}

func truncate(text string) string {
	if len(text) <= maxTokenBytes {
		return text
	}
	cut := maxTokenBytes
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// endRun yields the characters and pairs of a run.
func (t *tokenizer) endRun() {
	run := t.text[t.runStart:t.runEnd]
	t.runStart = t.runEnd
	if run == "" {
		return
	}
	t.runs++
	var function []bool // by character
	if t.query {
		function = functionCharacters(run)
	}
	if t.query {
		t.named(run)
		t.counted(run, t.runEnd-len(run))
	} else {
		t.bearRun(run)
		t.wishRun(run)
	}
	var roles map[int]string // by where the pair begins
	if t.query {
		roles = rolesIn(run, &t.pointed)
	}
	mark := func(i int) bool { return i < 0 || i >= len(function) || function[i] }
	_, width := utf8.DecodeRuneInString(run)
	single := width == len(run)
	for i := 0; run != ""; i++ {
		_, after := utf8.DecodeRuneInString(run[width:])
		c := Token{Text: run[:width], Kind: Character, alone: single}
		pair := Token{Text: run[:width+after], Kind: Pair, run: t.runs, at: i}
		if function != nil {
			c.function, c.sentence = mark(i), true
			c.alone = single || !c.function && mark(i-1) && mark(i+1) && (isHan(c.Text) || isHangul(c.Text))
			pair.function, pair.mixed = c.function && mark(i+1), c.function != mark(i+1)
		}
		pair.role = roles[i]
		t.yield(c)
		if after > 0 {
			t.yield(pair)
		}
		run, width = run[width:], after
	}
}

func isHan(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return unicode.Is(unicode.Han, r)
}

func isHangul(character string) bool {
	r, _ := utf8.DecodeRuneInString(character)
	return unicode.Is(unicode.Hangul, r)
}

// isCJK reports whether words of r's script are written without spaces, or, as in
// Korean, joined with particles, so that pairs of characters find more.
func isCJK(r rune) bool {
	if r < 0x0e01 { // Thai is the first of them
		return false
	}
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isEmoji(r rune) bool {
	return r >= 0x2190 && r != utf8.RuneError && unicode.Is(unicode.So, r)
}

// InPairs reports whether texts are indexed by the pairs of a character and its neighbours, not by whole words.
func InPairs(r rune) bool { return isCJK(r) }
