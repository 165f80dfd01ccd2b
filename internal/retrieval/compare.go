package retrieval

import (
	"slices"
	"strings"
	"unicode"
)

// A Relation says what a text is to an older one.
type Relation int

// The relations of two texts. None but Same is reason enough to keep only one.
const (
	Unrelated Relation = iota
	Same               // the same except for white space and letter case
	Rephrased          // mostly the same words, none in place of another
	Changed            // the same subject with another value: a number, a name, a date, a unit, a negation
)

// String names the relation.
func (r Relation) String() string {
	return [...]string{"unrelated", "same", "rephrased", "changed"}[r]
}

// Bounds of what is compared, and from where on texts have to do with one another.
const (
	maxCompared = 200 // words of each text; what is longer is not compared
	minOverlap  = 0.5 // share of the words of content that both have
)

// Compare says what a text is to an older one. It knows words, not meanings: where it
// says Changed, both are about one subject (see [corrects]); two that differ in more
// than that are Unrelated, however much they look alike.
func Compare(older, newer string) Relation { return NewComparison(newer).With(older) }

// A Comparison is a text that others are compared with.
type Comparison struct {
	text, fold string
	comparison
}

// NewComparison prepares a text for [Comparison.With], which is then quicker for each.
func NewComparison(newer string) *Comparison {
	fold := Fold(newer)
	c := &Comparison{text: newer, fold: fold, comparison: compared(newer, fold)}
	return c
}

// With is what [Compare] says of the text and an older one.
func (c *Comparison) With(older string) Relation {
	key := sketchKeyOf(older)
	if s, known := sketchOf(key); known {
		if c.unlikeAtOnce(s) {
			return Unrelated
		}
		key = sketchKey{} // it is remembered already
	}
	if c.unlike(older, key) {
		return Unrelated
	}
	return c.apart(older)
}

// apart is With of any texts.
func (c *Comparison) apart(older string) Relation {
	fold := Fold(older)
	if fold == c.fold {
		return Same
	}
	a, b := compared(older, fold), c.comparison
	if len(a.words) == 0 || len(b.words) == 0 || len(a.words) > maxCompared || len(b.words) > maxCompared {
		return Unrelated
	}
	common, onlyA, onlyB := difference(a.content, b.content)
	if (c.changing || mayReplace(&a, &b, onlyA.all, onlyB.all)) && corrects(older, c.text) {
		return Changed
	}
	// Words that are no values say what the two are about.
	about, removed, added := common.telling, onlyA.telling, onlyB.telling
	switch {
	case about == 0 || float64(about)/float64(about+max(removed, added)) < minOverlap:
		return Unrelated
	case onlyA.all > 0 && onlyB.all > 0:
		return Unrelated // each says what the other does not
	case a.negations%2 != b.negations%2, opposed(a.words, b.words):
		return Unrelated
	case onlyA.all == 0 && onlyB.all == 0 && len(a.words) == len(b.words) && !slices.Equal(a.content, b.content):
		return Unrelated // who did it to whom, from where to where
	}
	return Rephrased
}

// mayReplace is a quick test before [corrects]: two texts of one form have the same words
// except for a value, counted without the words that corrects replaces or leaves out.
// Taking all other texts apart would cost as much as the rest of a comparison.
func mayReplace(a, b *comparison, onlyA, onlyB int) bool {
	most := maxSpan + a.loose + b.loose
	return onlyA <= most && onlyB <= most
}

// Fold takes out what two ways of writing the same text differ in: white space and
// letter case. The case of a unit behind a number stays: 5 mW are not 5 MW.
func Fold(text string) string {
	if folded, ok := foldPlain(text); ok {
		return folded
	}
	return foldAny(text)
}

// foldAny is Fold of any text.
func foldAny(text string) string {
	words := strings.Fields(text)
	for i, w := range words {
		if !caseTells(words, i) {
			words[i] = strings.ToLower(w)
		}
	}
	return strings.Join(words, " ")
}

// caseUnits are units, in small letters, that another case makes another unit.
var caseUnits = wordSet("m g t s h f k c b mw mhz mv ma mpa ms mb mbit mbps mbit/s mb/s mib kb kbps kb/s gb gbps gb/s gbit tb tbps pb ml mg")

// caseTells reports whether a word is, or ends in, such a unit behind a number.
func caseTells(words []string, i int) bool {
	w := strings.TrimRight(words[i], ".,;:!?)")
	number := strings.TrimLeft(w, "0123456789.,")
	if len(number) == len(w) && (i == 0 || strings.TrimLeft(words[i-1], "0123456789.,") != "") {
		return false
	}
	return caseUnits[strings.ToLower(number)]
}

// A comparison is a text as it is compared.
type comparison struct {
	words     []string // all, folded
	content   []said   // without those that carry no content; with negations left out
	negations int
	loose     int    // words that [corrects] reads in another way
	changing  bool   // has a word that tells of a change
	terms     uint64 // a bit for each term of content: see [comparedWord]
}

// A said is a word of content.
type said struct {
	term    string
	telling bool // it is no value
}

// compared takes a text apart, whose fold is given: so much of it as shows whether it is
// compared.
func compared(text, fold string) (c comparison) {
	if strings.Contains(text, "’") {
		fold = Fold(strings.ReplaceAll(text, "’", "'"))
	}
	c.words = appendValues(make([]string, 0, min(strings.Count(fold, " "), maxCompared)+2), fold)
	c.content = make([]said, 0, len(c.words))
	for _, w := range c.words {
		k := knownWord(w)
		c.changing = c.changing || k.changing
		if k.loose {
			c.loose++
		}
		switch {
		case k.negation:
			c.negations++
		case !k.function:
			c.content, c.terms = append(c.content, k.said), c.terms|1<<k.bit
		}
	}
	return c
}

// appendValues cuts a text into words: punctuation goes, digits part from letters, and
// characters that are not written in words stand alone. It stops beyond maxCompared words.
func appendValues(words []string, text string) []string {
	plain := isPlain(text)
	for field := range strings.FieldsSeq(text) {
		if len(words) > maxCompared {
			break
		}
		if plain {
			for field = trimPlain(field); field != ""; {
				n := plainValue(field)
				words, field = append(words, field[:n]), field[n:]
			}
			continue
		}
		field = strings.TrimFunc(field, func(r rune) bool {
			return unicode.IsPunct(r) && !strings.ContainsRune("#%-+", r) || r == '`'
		})
		field = strings.TrimSuffix(field, "'s")
		start, last := 0, rune(0)
		for i, r := range field {
			if i > start && (standsAlone(r) || standsAlone(last) ||
				unicode.IsDigit(r) && unicode.IsLetter(last) || unicode.IsLetter(r) && unicode.IsDigit(last)) {
				words = append(words, field[start:i])
				start = i
			}
			last = r
		}
		if start < len(field) {
			words = append(words, field[start:])
		}
	}
	return words
}

// standsAlone reports whether a character is a word of its own.
func standsAlone(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) // those begin there
}

// opposed reports whether one text has a word where the other has its opposite: words
// too frequent to say what a text is about, which still turn it into another one.
func opposed(a, b []string) bool {
	for _, pair := range opposites {
		for _, p := range [][2]string{pair, {pair[1], pair[0]}} {
			if hasOnly(a, p[0], p[1]) && hasOnly(b, p[1], p[0]) {
				return true
			}
		}
	}
	return false
}

// hasOnly reports whether a text has a word and does not have another one.
func hasOnly(text []string, word, other string) bool {
	return slices.Contains(text, word) && !slices.Contains(text, other)
}

// comparedTerm stems words; values stay as they are.
func comparedTerm(w string) string {
	if isValue(w) {
		return w
	}
	term, _ := Normalize(w)
	return term
}

// isValue reports whether a word is a number, a date or a part of one.
func isValue(w string) bool {
	return numberWords[w] || strings.ContainsFunc(w, unicode.IsDigit)
}

// A share is how many words two texts have in common, or one alone.
type share struct {
	all     int
	telling int // that are no values
}

func (s *share) add(w said) {
	s.all++
	if w.telling {
		s.telling++
	}
}

// difference counts each word as often as it comes, of texts of at most maxCompared words.
func difference(a, b []said) (common, onlyA, onlyB share) {
	var matched [maxCompared]bool // of b
	for _, w := range a {
		at := -1
		for i := range b {
			if !matched[i] && b[i].term == w.term {
				at = i
				break
			}
		}
		if at < 0 {
			onlyA.add(w)
			continue
		}
		matched[at] = true
		common.add(w)
	}
	for i, w := range b {
		if !matched[i] {
			onlyB.add(w)
		}
	}
	return common, onlyA, onlyB
}

var (
	negations = wordSet("not no never none nobody nothing neither nor cannot without nicht kein keine keinen nie niemals ohne ne pas jamais sans nunca sin non mai 不 没 没有")

	numberWords = wordSet(`zero one two three four five six seven eight nine ten eleven twelve dozen twenty thirty forty fifty sixty seventy eighty ninety
		hundred thousand million billion half twice first second third fourth fifth monday tuesday wednesday thursday friday saturday sunday
		january february march april may june july august september october november december today tomorrow yesterday am pm`)

	opposites = [][2]string{{"on", "off"}, {"in", "out"}, {"from", "to"}, {"for", "against"}, {"he", "she"}, {"his", "her"}, {"him", "her"}, {"my", "your"},
		{"my", "his"}, {"my", "her"}, {"i", "you"}, {"i", "he"}, {"i", "she"}, {"this", "that"}, {"should", "can"}}

	functionWordsCompared = wordSet(`a an the is are was were be been being to of in on at for with and or that this these those it its he she they his her
		their my your our i we you me him them us do does did has have had will would shall should can could as by s
		der die das ein eine ist sind und von zu im la le les un une el los las de des et y`)
)
