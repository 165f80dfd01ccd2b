package retrieval

import (
	"strings"
	"unicode/utf8"
)

// Texts of ASCII are folded, cut into words and compared without anything being made of them. What is said here
// of them is what the functions for all texts say (docs/adr/0140); those are asked where this does not decide.

// What a character of ASCII is to a comparison.
const (
	plainSpace  = 1 << iota
	plainMark   // is taken off at both ends of a word
	plainDigit  //
	plainLetter //
)

// plainKinds has them by character; those of other characters are never asked for.
var plainKinds = func() (kinds [256]uint8) {
	for c := range len(kinds) {
		switch {
		case strings.IndexByte(" \t\n\v\f\r", byte(c)) >= 0:
			kinds[c] = plainSpace
		case strings.IndexByte("!\"&'()*,./:;?@[\\]_{}`", byte(c)) >= 0:
			kinds[c] = plainMark
		case c >= '0' && c <= '9':
			kinds[c] = plainDigit
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			kinds[c] = plainLetter
		}
	}
	return kinds
}()

// A plainReader reads the words of a text as [Fold] writes them, as long as they are of ASCII and no longer than
// the words of an index.
type plainReader struct {
	text string
	at   int
	last string // the word before, as it is in the text
	room [maxTokenBytes]byte
}

// next returns the next word, good until the next call; none: the text is over. ok is false where it cannot be read.
func (p *plainReader) next() (word []byte, ok bool) {
	at := p.at
	for at < len(p.text) && plainKinds[p.text[at]] == plainSpace {
		at++
	}
	start, n := at, 0
	for ; at < len(p.text); at++ {
		c := p.text[at]
		if plainKinds[c] == plainSpace {
			break
		}
		if c >= 0x80 || n == len(p.room) {
			return nil, false
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		p.room[n] = c
		n++
	}
	field := p.text[start:at]
	if startsWithDigit(field) || startsWithDigit(p.last) {
		pair := [2]string{p.last, field}
		if p.last != "" && caseTells(pair[:], 1) || p.last == "" && caseTells(pair[1:], 0) {
			copy(p.room[:], field)
		}
	}
	p.at, p.last = at, field
	return p.room[:n], true
}

// startsWithDigit reports whether a word may begin with a number.
func startsWithDigit(w string) bool {
	return w != "" && (w[0] >= '0' && w[0] <= '9' || w[0] == '.' || w[0] == ',')
}

// foldPlain is [Fold] of a text of ASCII.
func foldPlain(text string) (folded string, ok bool) {
	if folded, ok = foldEasily(text); ok {
		return folded, true
	}
	p := plainReader{text: text}
	var to strings.Builder
	to.Grow(len(text))
	for {
		word, ok := p.next()
		if !ok {
			return "", false
		}
		if len(word) == 0 {
			return to.String(), true
		}
		if to.Len() > 0 {
			to.WriteByte(' ')
		}
		to.Write(word)
	}
}

// foldEasily is foldPlain of a text with single spaces between its words, where no capital stands in a word that begins
// as a number does, or behind one: it might be a unit.
func foldEasily(text string) (folded string, ok bool) {
	var small []byte // the text, if it has capitals
	opening, number, before := true, false, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if opening && plainKinds[c] != plainSpace {
			opening, number = false, startsWithDigit(text[i:])
		}
		for isSmallLetter(c) { // mostly
			if i++; i == len(text) {
				break
			}
			c = text[i]
		}
		switch {
		case i == len(text):
		case c >= utf8.RuneSelf:
			return "", false
		case plainKinds[c] == plainSpace:
			if c != ' ' || opening || i == len(text)-1 {
				return "", false
			}
			opening, before = true, number
		case c >= 'A' && c <= 'Z':
			if number || before {
				return "", false
			}
			if small == nil {
				small = []byte(text)
			}
			small[i] = c + 'a' - 'A'
		}
	}
	if small == nil {
		return text, true
	}
	return string(small), true
}

// trimPlain takes off a word of ASCII what [appendValues] takes off.
func trimPlain[T string | []byte](word T) T {
	start, end := 0, len(word)
	for start < end && plainKinds[word[start]] == plainMark {
		start++
	}
	for start < end && plainKinds[word[end-1]] == plainMark {
		end--
	}
	if end-start >= 2 && word[end-1] == 's' && word[end-2] == '\'' {
		end -= 2
	}
	return word[start:end]
}

// plainValue is how long the first value of a word of ASCII is: digits part from letters.
func plainValue[T string | []byte](word T) int {
	last := plainKinds[word[0]]
	for i := 1; i < len(word); i++ {
		now := plainKinds[word[i]]
		if last|now == plainDigit|plainLetter {
			return i
		}
		last = now
	}
	return len(word)
}

// unlike reports whether an older text is Unrelated for a reason for which nearly all are: each of the two says
// what the other does not, and more than [corrects] ever replaces; or it is too long. It makes nothing of the text
// but a sketch, which is kept if there is a key. false: nothing is known.
func (c *Comparison) unlike(older string, key sketchKey) bool {
	if c.changing || len(c.words) == 0 || len(c.words) > maxCompared {
		return false
	}
	var matched [maxCompared]bool // of the words of the text
	p, words, removed, added := plainReader{text: older}, 0, 0, len(c.content)
	a := comparison{}
	comparedWords.RLock()
	defer comparedWords.RUnlock()
	for {
		if words > maxCompared {
			return true // of one so long nothing is compared, and it is not the same: the other is shorter
		}
		field, ok := p.next()
		if !ok {
			return false
		}
		if len(field) == 0 {
			break
		}
		for field = trimPlain(field); len(field) > 0; words++ {
			n := plainValue(field)
			k, known := comparedWords.of[string(field[:n])]
			if !known { // a number, too
				comparedWords.RUnlock()
				k = knownWord(string(field[:n]))
				comparedWords.RLock()
			}
			field = field[n:]
			if k.loose {
				a.loose++
			}
			if k.negation || k.function {
				continue
			}
			a.terms |= 1 << k.bit
			if c.terms&(1<<k.bit) != 0 && c.match(k.term, &matched) {
				added--
			} else {
				removed++
			}
		}
	}
	if key != (sketchKey{}) {
		a.remember(key, words)
	}
	return removed > 0 && added > 0 && !mayReplace(&a, &c.comparison, removed, added)
}

// match finds a word of content with a term that none was found for, and notes it.
func (c *Comparison) match(term string, matched *[maxCompared]bool) bool {
	for i := range c.content {
		if !matched[i] && c.content[i].term == term {
			matched[i] = true
			return true
		}
	}
	return false
}

// isPlain reports whether a text is of ASCII.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}
