package token

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class says to which sets of the vocabularies' patterns a character belongs.
type class uint8

const (
	letter  class = 1 << iota // \p{L}
	number                    // \p{N}
	space                     // \s
	lineEnd                   // \r and \n, which are space, too
	begins                    // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	goesOn                    // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	nothing                   // DEL, which the codec passes over
)

// classes are those of the characters that two bytes of UTF-16 hold.
var classes = sync.OnceValue(func() *[1 << 16]class {
	all := new([1 << 16]class)
	for r := range all {
		all[r] = classOf(rune(r))
	}
	return all
})

func classOf(r rune) (c class) {
	switch {
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return letter | begins
	case unicode.Is(unicode.Ll, r):
		return letter | goesOn
	case unicode.IsLetter(r):
		return letter | begins | goesOn
	case unicode.IsMark(r):
		return begins | goesOn
	case unicode.IsNumber(r):
		return number
	case r == '\n' || r == '\r':
		return space | lineEnd
	case unicode.IsSpace(r):
		return space
	case r == '\x7f':
		return nothing
	}
	return 0
}

// pieces cuts a text into the pieces that have tokens of their own. It does what the pattern of a vocabulary
// says, branch by branch, and visits a character a few times at most.
type pieces struct {
	text    string
	classes *[1 << 16]class
}

// at returns the class of the character at an offset and where the next one begins; nothing at the end.
func (p *pieces) at(i int) (c class, next int) {
	if i >= len(p.text) {
		return 0, i
	}
	if b := p.text[i]; b < utf8.RuneSelf {
		return p.classes[b], i + 1
	}
	r, n := utf8.DecodeRuneInString(p.text[i:])
	if int(r) < len(p.classes) {
		return p.classes[r], i + n
	}
	return classOf(r), i + n
}

// run returns where the characters from an offset on end that belong to any of some sets.
func (p *pieces) run(i int, of class) int {
	for {
		c, next := p.at(i)
		if c&of == 0 {
			return i
		}
		i = next
	}
}

// others returns where the characters from an offset on end that are no space, letter or number.
func (p *pieces) others(i int) int {
	for i < len(p.text) {
		c, next := p.at(i)
		if c&(space|letter|number|nothing) != 0 {
			return i
		}
		i = next
	}
	return i
}

// o200k returns where the piece ends that begins at an offset, or the offset if none does: by the first branch that fits, of
//
//	[^\r\n\p{L}\p{N}]?[begins]*[goesOn]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	[^\r\n\p{L}\p{N}]?[begins]+[goesOn]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	\p{N}{1,3} | ␠?[^\s\p{L}\p{N}]+[\r\n/]* | \s*[\r\n]+ | \s+(?!\S) | \s+
func (p *pieces) o200k(i int) int {
	first, second := p.at(i)
	if first&(letter|number|lineEnd|nothing) == 0 {
		if end := p.lowerWord(second); end > 0 {
			return p.contraction(end)
		}
	}
	if end := p.lowerWord(i); end > 0 {
		return p.contraction(end)
	}
	if first&(letter|number|lineEnd|nothing) == 0 {
		if end := p.run(second, begins); end > second {
			return p.contraction(end)
		}
	}
	if end := p.run(i, begins); end > i {
		return p.contraction(end)
	}
	if first&number != 0 {
		return p.number(i)
	}
	if end := p.signs(i); end > 0 {
		for end < len(p.text) && strings.IndexByte("\r\n/", p.text[end]) >= 0 {
			end++
		}
		return end
	}
	return p.spaces(i)
}

// lowerWord is [begins]*[goesOn]+: where it ends, or 0. What belongs to both sets is taken by the first, which
// gives back no more than it must for the second to have one.
func (p *pieces) lowerWord(i int) (end int) {
	for {
		c, next := p.at(i)
		if c&begins == 0 {
			break
		}
		if i = next; c&goesOn != 0 {
			end = i
		}
	}
	if last := p.run(i, goesOn); last > i {
		return last
	}
	return end
}

// cl100k is as o200k, of the branches
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d) | [^\r\n\p{L}\p{N}]?\p{L}+
//	\p{N}{1,3} | ␠?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
func (p *pieces) cl100k(i int) int {
	if end := p.contraction(i); end > i {
		return end
	}
	first, second := p.at(i)
	if first&(letter|number|lineEnd|nothing) == 0 {
		if end := p.run(second, letter); end > second {
			return end
		}
	}
	if end := p.run(i, letter); end > i {
		return end
	}
	if first&number != 0 {
		return p.number(i)
	}
	if end := p.signs(i); end > 0 {
		return p.run(end, lineEnd)
	}
	return p.spaces(i)
}

// contraction is where one of 's 't 're 've 'm 'll 'd ends, in any case; i if none is there.
func (p *pieces) contraction(i int) int {
	rest := p.text[i:]
	if len(rest) < 2 || rest[0] != '\'' {
		return i
	}
	switch rest[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return i + 2
	case 'r', 'v':
		if len(rest) > 2 && rest[2]|0x20 == 'e' {
			return i + 3
		}
	case 'l':
		if len(rest) > 2 && rest[2]|0x20 == 'l' {
			return i + 3
		}
	}
	if strings.HasPrefix(rest[1:], "ſ") { // which is an s without regard to case
		return i + 1 + len("ſ")
	}
	return i
}

func (p *pieces) number(i int) int {
	for range 3 {
		c, next := p.at(i)
		if c&number == 0 {
			break
		}
		i = next
	}
	return i
}

// signs is ␠?[^\s\p{L}\p{N}]+: where it ends, or 0.
func (p *pieces) signs(i int) int {
	if p.text[i] == ' ' {
		i++
	}
	if end := p.others(i); end > i {
		return end
	}
	return 0
}

// spaces is \s*[\r\n]+ | \s+(?!\S) | \s+: up to and with the first line ends, as the codec has it (the pattern says the
// last); else without the last one, which what comes next takes, if it is not the only one.
func (p *pieces) spaces(i int) int {
	start, last := i, i
	for {
		c, next := p.at(i)
		switch {
		case c&lineEnd != 0:
			return p.run(i, lineEnd)
		case c&space != 0:
			last, i = i, next
		case i < len(p.text) && last > start:
			return last
		default:
			return i
		}
	}
}
