package jsonguard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf8"
)

// deepest is how many levels package json reads.
const deepest = 10_000

// plain says which bytes of a string stand for themselves.
var plain = func() (p [256]bool) {
	for c := range p {
		p[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return p
}()

// hexadecimal says which bytes are digits of \u.
var hexadecimal = func() (h [256]bool) {
	for _, d := range "0123456789abcdefABCDEF" {
		h[d] = true
	}
	return h
}()

// Valid is [json.Valid]. That one calls a function for each byte, which takes longer than
// all else that is done with a large text (docs/adr/0098-json-that-is-looked-through-once.md).
func Valid(text []byte) bool {
	return spaces(text, wellFormed(text, spaces(text, 0), 0)) == len(text)
}

// spaces passes over white space. What it and the functions below return is where they end,
// or -1 if they may not begin where they are asked to.
func spaces(text []byte, i int) int {
	for i >= 0 && i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\r' || text[i] == '\t') {
		i++
	}
	return i
}

// wellFormed passes over a value.
func wellFormed(text []byte, i, level int) int {
	if i >= len(text) {
		return -1
	}
	switch text[i] {
	case '"':
		return wellFormedString(text, i)
	case '{', '[':
		return wellFormedList(text, i, level+1)
	case 't':
		return word(text, i, "true")
	case 'f':
		return word(text, i, "false")
	case 'n':
		return word(text, i, "null")
	}
	return number(text, i)
}

// wellFormedList passes over an object or a list.
func wellFormedList(text []byte, i, level int) int {
	if level > deepest {
		return -1
	}
	object := text[i] == '{'
	closing := text[i] + 2 // of { and [ alike
	i = spaces(text, i+1)
	if i < len(text) && text[i] == closing {
		return i + 1
	}
	for {
		if object {
			if i >= len(text) || text[i] != '"' {
				return -1
			}
			i = spaces(text, wellFormedString(text, i))
			if i < 0 || i >= len(text) || text[i] != ':' {
				return -1
			}
			i = spaces(text, i+1)
		}
		i = spaces(text, wellFormed(text, i, level))
		switch {
		case i < 0 || i >= len(text):
			return -1
		case text[i] == closing:
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = spaces(text, i+1)
	}
}

// unread is the fault of a text that is not [Valid].
func unread(text []byte) Fault {
	if deeper(text) {
		return Depth
	}
	return JSON
}

// deeper reports whether a text that is not [Valid] is none because it nests deeper than package
// json reads. Such a text may be good JSON, so nobody should say that it is not.
func deeper(text []byte) bool {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = wellFormedString(text, i); i < 0 {
				return false
			}
			i--
		case '{', '[':
			if level++; level > deepest {
				return true
			}
		case '}', ']':
			level--
		}
	}
	return false
}

// wellFormedString passes over a string.
func wellFormedString(text []byte, i int) int {
	for i++; ; i++ {
		for i+8 <= len(text) {
			if odd := oddBytes(binary.LittleEndian.Uint64(text[i:])); odd != 0 {
				i += bits.TrailingZeros64(odd) / 8
				break
			}
			i += 8
		}
		for i < len(text) && plain[text[i]] {
			i++
		}
		switch {
		case i >= len(text):
			return -1
		case text[i] == '"':
			return i + 1
		case text[i] != '\\' || i+1 >= len(text):
			return -1
		}
		i++
		switch text[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		case 'u':
			for _, d := range text[i+1 : min(i+5, len(text))] {
				if !hexadecimal[d] {
					return -1
				}
			}
			i += 4 // beyond the end if digits lack
		default:
			return -1
		}
	}
}

// oddBytes has the highest bit of the first of eight bytes that is not plain, and 0 if all are. The bits that a
// subtraction leaves are right up to the first byte that has one.
func oddBytes(eight uint64) uint64 {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, escape := eight^'"'*each, eight^'\\'*each
	return ((eight-' '*each)&^eight | (quote-each)&^quote | (escape-each)&^escape) & high
}

func word(text []byte, i int, want string) int {
	if !bytes.HasPrefix(text[i:], []byte(want)) {
		return -1
	}
	return i + len(want)
}

// number passes over a number.
func number(text []byte, i int) int {
	at := func(i int) byte {
		if i < len(text) {
			return text[i]
		}
		return 0
	}
	digits := func(i int) int {
		if at(i) < '0' || at(i) > '9' {
			return -1
		}
		for at(i) >= '0' && at(i) <= '9' {
			i++
		}
		return i
	}
	if at(i) == '-' {
		i++
	}
	if at(i) == '0' {
		i++
	} else if i = digits(i); i < 0 {
		return -1
	}
	if at(i) == '.' {
		if i = digits(i + 1); i < 0 {
			return -1
		}
	}
	if at(i) == 'e' || at(i) == 'E' {
		if i++; at(i) == '+' || at(i) == '-' {
			i++
		}
		return digits(i)
	}
	return i
}

// Value is what [json.Unmarshal] makes of a text when it is not told of which type. false:
// it would refuse the text, which is not JSON or has a number that no float64 holds.
func Value(text []byte) (any, bool) {
	if !Valid(text) {
		return nil, false
	}
	r := reading{text: text, whole: true}
	v := r.value()
	return v, r.whole
}

// A reading makes values of a text that is valid JSON.
type reading struct {
	text  []byte
	at    int
	whole bool // each number has a float64
}

// next passes over white space and over what stands between values.
func (r *reading) next() byte {
	r.at = spaces(r.text, r.at)
	if r.text[r.at] == ',' || r.text[r.at] == ':' {
		r.at = spaces(r.text, r.at+1)
	}
	return r.text[r.at]
}

func (r *reading) value() any {
	switch r.next() {
	case '"':
		return r.string()
	case '{':
		object := map[string]any{}
		for r.at++; r.next() != '}'; {
			name := r.string()
			object[name] = r.value()
		}
		r.at++
		return object
	case '[':
		list := []any{}
		for r.at++; r.next() != ']'; {
			list = append(list, r.value())
		}
		r.at++
		return list
	case 't':
		r.at += len("true")
		return true
	case 'f':
		r.at += len("false")
		return false
	case 'n':
		r.at += len("null")
		return nil
	}
	begin := r.at
	r.at = number(r.text, begin)
	f, err := strconv.ParseFloat(string(r.text[begin:r.at]), 64)
	r.whole = r.whole && err == nil
	return f
}

func (r *reading) string() string {
	begin := r.at
	r.at = wellFormedString(r.text, begin)
	text, err := unquote(r.text[begin:r.at])
	r.whole = r.whole && err == nil
	return text
}

// unquote reads a string that is valid JSON.
func unquote(quoted []byte) (text string, err error) {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	err = json.Unmarshal(quoted, &text)
	return text, err
}

// Plain reports whether a body that comes with this header Content-Encoding is JSON as it is.
func Plain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }
