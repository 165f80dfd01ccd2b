package retrieval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// corrects reports whether a text says of the same subject what an older one says, with
// another value in place of the old one. It is meant to be right where it says yes, and
// silent where words alone do not tell: two texts of one form are mostly two things.
//
// Three forms are known. Both say the same, and one denies it. Both begin alike up to a
// predicate that has one value at a time, and only the value behind it differs. Or the
// newer one tells that something moved or changed, of the same subject.
func corrects(older, newer string) bool {
	a, b := sentenceOf(older), sentenceOf(newer)
	if len(a.words) == 0 || len(b.words) == 0 {
		return false
	}
	if a.negations%2 != b.negations%2 {
		return slices.EqualFunc(a.words, b.words, sameWord)
	}
	return replaces(a, b) || moves(a, b)
}

// A sentence is a text, ready to be laid beside another one.
type sentence struct {
	words     []word
	negations int
}

// A word of a sentence. Articles are no words, only marks of the word behind them.
type word struct {
	low, term  string
	name       bool // begins with a capital, and not because the text does
	definite   bool // follows "the" or the like
	indefinite bool // follows "a" or the like
}

func sameWord(a, b word) bool { return a.term == b.term }

func isPredicate(w word) bool { return predicateOf(w) != noPredicate }

// isPlace reports whether a verb adds nothing but where or when: is parked on.
func isPlace(w word) bool { return predicateOf(w) == placing || predicateOf(w) == timing }

func (w *word) isFunction() bool { return prepositions[w.low] || functionWordsCompared[w.low] }

// sentenceOf takes a text apart. What only says that it is new, such as "now", goes.
func sentenceOf(text string) (s sentence) {
	text = strings.ReplaceAll(text, "’", "'")
	fields, folded := strings.Fields(text), strings.Fields(Fold(text))
	var definite, indefinite bool
	var parts []string
	s.words = make([]word, 0, len(folded))
	for i, field := range folded {
		parts = appendValues(parts[:0], field)
		if strings.Trim(field, "=") == "" {
			parts = append(parts[:0], "=")
		}
		for j, low := range parts {
			low, denied := deny(low)
			if denied {
				s.negations++
			}
			switch {
			case low == "" || fillers[low]:
				continue
			case definiteArticles[low]:
				definite = true
				continue
			case indefiniteArticles[low]:
				indefinite = true
				continue
			}
			first, _ := utf8.DecodeRuneInString(strings.TrimLeft(fields[i], "\"'`(["))
			w := word{low: low, term: termOf(low), definite: definite, indefinite: indefinite}
			w.name = len(s.words) > 0 && j == 0 && unicode.IsUpper(first)
			s.words = append(s.words, w)
			definite, indefinite = false, false
		}
		if strings.HasSuffix(field, ":") && len(s.words) > 0 && i < len(folded)-1 {
			s.words = append(s.words, word{low: "=", term: "="})
		}
	}
	return s
}

// termOf is what a word is compared by: a user is "I" and "user", a value is led by
// "is" or by a colon.
func termOf(low string) string {
	switch {
	case speakers[low]:
		return "user"
	case low == "is":
		return "="
	case low == "has": // "does not have"
		return "have"
	}
	return comparedTerm(low)
}

// deny takes the negation out of a word; "" where nothing is left.
func deny(low string) (rest string, denied bool) {
	switch {
	case low == "cannot":
		return "can", true
	case negations[low]:
		return "", true
	case low == "can't" || low == "won't":
		return strings.TrimSuffix(low, "'t"), true
	case strings.HasSuffix(low, "n't"):
		return strings.TrimSuffix(low, "n't"), true
	case strings.HasPrefix(low, "n'"):
		return strings.TrimPrefix(low, "n'"), false // "ne" counts with the "pas" behind it
	}
	return low, false
}

// replaces reports whether two sentences differ in nothing but the value of a predicate.
func replaces(a, b sentence) bool {
	p := 0
	for p < min(len(a.words), len(b.words)) && sameWord(a.words[p], b.words[p]) {
		p++
	}
	s := 0
	for s < min(len(a.words), len(b.words))-p && sameWord(a.words[len(a.words)-1-s], b.words[len(b.words)-1-s]) {
		s++
	}
	x, y := a.words[p:len(a.words)-s], b.words[p:len(b.words)-s]
	if len(x) == 0 || len(y) == 0 || len(x) > maxSpan || len(y) > maxSpan {
		return false // something more is said, or something else
	}
	slot := slot{before: a.words[:p], x: x, y: y, after: a.words[len(a.words)-s:]}
	slot.verb = slices.IndexFunc(slot.before, isPredicate)
	return slot.isValue()
}

// maxSpan is how many words a value may have.
const maxSpan = 5

// A slot is where two sentences of one form differ.
type slot struct {
	before, x, y, after []word
	verb                int // in before; -1: there is none
}

// isValue reports whether the slot holds the value of a predicate of one value.
func (s *slot) isValue() bool {
	if s.opposite() || s.unit() && len(s.before) > 1 {
		return true
	}
	if s.verb < 0 {
		// "PostgreSQL 16", where the text is nothing more
		return len(s.before) == 1 && len(s.after) == 0 && len(s.x) == 1 && len(s.y) == 1 &&
			s.typed() && !identified[s.before[0].low]
	}
	if s.x[0].definite != s.y[0].definite || s.x[0].indefinite != s.y[0].indefinite {
		return false // "is a nurse" and "is tall" are no values of one thing
	}
	if f := s.x[0].isFunction() || s.y[0].isFunction(); f && !s.typed() ||
		prepositions[s.x[0].low] || prepositions[s.y[0].low] {
		return false // "on Monday" and "in room 4" neither
	}
	return s.valueOf(s.before[s.verb])
}

// opposite reports whether the slot holds a word and its opposite, behind the predicate
// or as the predicate.
func (s *slot) opposite() bool {
	if len(s.x) != 1 || len(s.y) != 1 {
		return false
	}
	x, y := s.x[0].low, s.y[0].low
	if antonym(verbAntonyms, x, y) {
		return true
	}
	return s.verb >= 0 && antonym(antonyms, x, y)
}

// between is what stands between the predicate and the slot.
func (s *slot) between() []word { return s.before[s.verb+1:] }

// valueOf decides by the kind of predicate.
func (s *slot) valueOf(verb word) bool {
	said := contentOf(s.between())
	switch predicateOf(verb) {
	case copula:
		return s.ofCopula(said)
	case placing: // lives in, is called: one at a time
		return len(said) == 0 && !activity(s.between()) && s.alike()
	case timing: // starts at, costs: one, if it is a number or a time
		return s.typed() && (len(said) == 0 || s.version(said))
	case measuring: // has 3 children: one, if the number comes first or is a version
		return s.typed() && (len(s.between()) == 0 || s.version(said))
	case choosing: // prefers tea over water: one, where it is said in what
		return s.alike() && len(said) <= 1 && (len(contentOf(s.after)) > 0 || len(said) > 0)
	case using: // uses X for parsing
		return s.inRole() || s.typed() && s.version(said)
	}
	return false
}

// inRole reports whether what follows says what it is used for.
func (s *slot) inRole() bool {
	return len(s.between()) == 0 && len(s.after) > 1 && roles[s.after[0].low] && s.alike()
}

// ofCopula decides what "is" says. Of a person many things are true at once, of a
// deadline one.
func (s *slot) ofCopula(said []word) bool {
	said = slices.DeleteFunc(said, func(w word) bool { return isPlace(w) || isDated(w.low) })
	between := s.between()
	switch {
	case s.typed():
		return len(said) == 0 || len(said) == 1 && (s.version(said) || s.attribute())
	case len(said) > 0 || !s.alike():
		return len(said) == 1 && s.attribute() && s.alike() && len(contentOf(s.after)) > 0 && !s.x[0].name
	case len(between) > 0: // in Leeds, parked on, married to
		return locating[between[len(between)-1].low] ||
			slices.ContainsFunc(between, func(w word) bool { return predicateOf(w) == placing })
	case s.attribute():
		return !slices.ContainsFunc(slices.Concat(s.x, s.y), func(w word) bool { return prepositions[w.low] })
	}
	return s.subjectDefinite() && s.names(s.x) && s.names(s.y)
}

// attribute reports whether the subject names what has one value: a name, a color, the
// boss of somebody.
func (s *slot) attribute() bool {
	subject := s.before[:s.verb]
	if slices.ContainsFunc(subject, func(w word) bool {
		return selecting[w.term] ||
			strings.HasPrefix(w.low, "lieblings")
	}) {
		return true
	}
	return slices.ContainsFunc(subject, func(w word) bool { return attributes[w.low] || attributes[w.term] })
}

// subjectDefinite reports whether the subject is "the database", and not a person.
func (s *slot) subjectDefinite() bool {
	subject := s.before[:s.verb]
	return len(subject) > 0 && subject[0].definite && !persons[subject[len(subject)-1].term]
}

// version reports whether the slot is a number behind the one word that it is of:
// PostgreSQL 16. A ticket 16 is another ticket.
func (s *slot) version(said []word) bool {
	return len(said) == 1 && s.before[len(s.before)-1].low == said[0].low &&
		!identified[said[0].low] && hasDigit(s.x[0].low) && hasDigit(s.y[0].low)
}

// typed reports whether both sides are numbers, times, units or addresses.
func (s *slot) typed() bool {
	return isTyped(s.x) && isTyped(s.y)
}

// unit reports whether the slot is the unit of the number before it.
func (s *slot) unit() bool {
	return len(s.before) > 0 && hasDigit(s.before[len(s.before)-1].low) &&
		len(s.x) == 1 && len(s.y) == 1 && isUnit(s.x[0].low) && isUnit(s.y[0].low)
}

func isTyped(span []word) bool {
	content := contentOf(span)
	for i, w := range content {
		if !isDated(w.low) && !isAddress(w.low) && (i == 0 || !isUnit(w.low)) {
			return false
		}
	}
	return len(content) > 0
}

// alike reports whether both sides are of one sort: typed, names, or neither. They must
// not share a word: then something else differs twice.
func (s *slot) alike() bool {
	for _, w := range contentOf(s.x) {
		if slices.ContainsFunc(s.y, func(v word) bool { return sameWord(v, w) }) {
			return false
		}
	}
	return isTyped(s.x) == isTyped(s.y) && s.names(s.x) == s.names(s.y)
}

// names reports whether all that has content in a span is a name.
func (*slot) names(span []word) bool {
	content := contentOf(span)
	return len(content) > 0 && !slices.ContainsFunc(content, func(w word) bool { return !w.name && !hasDigit(w.low) })
}

// moves reports whether the newer text tells that what the older one says is no longer
// so: the subject moved, changed, left.
func moves(a, b sentence) bool {
	j := slices.IndexFunc(a.words, isPredicate)
	k := slices.IndexFunc(b.words, func(w word) bool { return changing[w.term] || changing[w.low] })
	if j < 1 || k < 1 || len(b.words) > maxMoved ||
		slices.ContainsFunc(a.words, func(w word) bool { return sameWord(w, b.words[k]) }) {
		return false
	}
	subject := subjectOf(b.words[:k])
	if len(subject) == 0 || !slices.EqualFunc(subjectOf(a.words[:j]), subject, sameWord) {
		return false
	}
	value := slices.DeleteFunc(contentOf(a.words[j+1:]), isPlace)
	next := contentOf(b.words[k+1:])
	if len(value) == 0 || len(next) == 0 {
		return false
	}
	told := !slices.ContainsFunc(value, func(w word) bool {
		return !slices.ContainsFunc(next, func(v word) bool { return sameWord(v, w) })
	})
	typed := isTyped(value) && isTyped(next)
	lives := slices.ContainsFunc(a.words[j:], func(w word) bool { return residing[w.low] })
	renamed := b.words[k].term == "renam" && predicateOf(a.words[len(a.words)-1-len(value)]) == placing
	moved := relocating[b.words[k].term] && lives && (&slot{}).names(value) && (&slot{}).names(next)
	return told || typed || renamed || moved
}

// maxMoved is how long a text may be that tells of a change.
const maxMoved = 24

// subjectOf leaves out what helps a verb: has moved, was postponed.
func subjectOf(words []word) []word {
	return slices.DeleteFunc(slices.Clone(words), func(w word) bool { return auxiliaries[w.low] })
}

// contentOf leaves out words that carry no content.
func contentOf(words []word) []word {
	return slices.DeleteFunc(slices.Clone(words), func(w word) bool { return w.isFunction() })
}

// activity reports whether "works on" is meant: of that there are many at a time.
func activity(between []word) bool { return len(between) > 0 && doing[between[0].low] }

func hasDigit(w string) bool { return strings.ContainsFunc(w, unicode.IsDigit) }

func isUnit(w string) bool { return units[strings.ToLower(w)] }

// isDated reports whether a word is a number, a time or part of a date.
func isDated(w string) bool { return isValue(w) || dateWords[w] }

// isAddress reports whether a word is a path, an address or a name with a sign in it.
func isAddress(w string) bool {
	dot := strings.IndexByte(w, '.')
	return strings.ContainsAny(w, "/@") || dot > 0 && dot < len(w)-1
}

func antonym(pairs map[string]string, x, y string) bool {
	if strings.Contains(" "+pairs[x]+" ", " "+y+" ") || strings.Contains(" "+pairs[y]+" ", " "+x+" ") {
		return true
	}
	for _, un := range []string{"un", "in", "im", "dis", "non-"} {
		if len(x) > 3 && y == un+x || len(y) > 3 && x == un+y {
			return true
		}
	}
	return false
}
