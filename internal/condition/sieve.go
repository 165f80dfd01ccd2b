package condition

import (
	"bytes"
	"strconv"
)

// A Sieve tells by the bytes of attributes that they cannot meet some conditions. To read their JSON takes ten times as
// long, and most records of a list that is filtered meet none.
type Sieve struct {
	texts, numbers [][]byte
	ranges         []ranged
}

// ranged is a [Range] with its key in quotation marks.
type ranged struct {
	key    []byte
	least  bool
	number bool // the bound is one; else it is a text
	bound  float64
	text   []byte
}

// Sieve is that of a trace, without its tags and its member; nil: it denies nothing.
func (t Trace) Sieve() *Sieve {
	s, told := Sieve{}, map[string]bool{} // by ranges
	for _, r := range t.Ranges {
		in := ranged{key: []byte(`"` + r.Key + `"`), least: r.Least}
		in.bound, in.number = r.Value.(float64)
		if text, ok := r.Value.(string); ok {
			in.text = []byte(text)
		}
		s.ranges, told[string(in.key)] = append(s.ranges, in), true
	}
	for _, text := range t.Texts {
		if !told[text] {
			s.texts = append(s.texts, []byte(text))
		}
	}
	for _, number := range t.Numbers {
		s.numbers = append(s.numbers, []byte(number))
	}
	if len(s.texts)+len(s.numbers)+len(s.ranges) == 0 {
		return nil
	}
	return &s
}

// Denies reports whether attributes surely meet not all of the conditions. JSON with a backslash may write a text in
// another way, and one with an exponent a number: of these it is not sure.
func (s *Sieve) Denies(attributes []byte) bool {
	if s == nil {
		return false
	}
	for _, text := range s.texts {
		if !bytes.Contains(attributes, text) && bytes.IndexByte(attributes, '\\') < 0 {
			return true
		}
	}
	for _, number := range s.numbers {
		if !bytes.Contains(attributes, number) && !hasExponent(attributes) {
			return true
		}
	}
	for i := range s.ranges {
		r := &s.ranges[i]
		if !MayRange(attributes, r.key, r.least, r.number, r.bound, r.text) {
			return true
		}
	}
	return false
}

// hasExponent reports whether there may be a number with an exponent.
func hasExponent(attributes []byte) bool {
	for i, c := range attributes {
		if i > 0 && (c == 'e' || c == 'E') && attributes[i-1] >= '0' && attributes[i-1] <= '9' {
			return true
		}
	}
	return false
}

// MayRange reports whether a value of a quoted key may be in a range, with a bound that is a number or a text. It is sure
// of what it denies alone: the key is there once, not as JSON could write it otherwise, with a value of the bound's kind
// that is beyond it.
func MayRange(attributes, key []byte, least, number bool, bound float64, text []byte) bool {
	at := bytes.Index(attributes, key)
	if at < 0 {
		return bytes.IndexByte(attributes, '\\') >= 0
	}
	const space = " \t\r\n"
	rest, colon := bytes.CutPrefix(bytes.TrimLeft(attributes[at+len(key):], space), []byte(":"))
	if rest = bytes.TrimLeft(rest, space); !colon || len(rest) == 0 {
		return true
	}
	beyond := !number && beyondText(rest, least, text) || number && beyondNumber(rest, least, bound)
	return !beyond || bytes.Contains(attributes[at+len(key):], key) || bytes.IndexByte(attributes, '\\') >= 0
}

// beyondNumber reports whether the JSON of a value, with more behind it, is that of a number beyond a bound.
func beyondNumber(rest []byte, least bool, bound float64) bool {
	if rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
		return false
	}
	end := bytes.IndexAny(rest, ",}] \t\r\n")
	if end < 0 {
		return false
	}
	value, err := strconv.ParseFloat(string(rest[:end]), 64)
	return err == nil && (least && value < bound || !least && value > bound)
}

// beyondText is beyondNumber for a text.
func beyondText(rest []byte, least bool, bound []byte) bool {
	if rest[0] != '"' {
		return false
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 {
		return false
	}
	order := bytes.Compare(rest[1:1+end], bound)
	return least && order < 0 || !least && order > 0
}
