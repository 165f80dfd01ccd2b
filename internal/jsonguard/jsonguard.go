// Package jsonguard checks JSON of strangers before any parser sees it: parsers
// disagree about duplicate names, and their cost may grow faster than their input
// when it nests.
package jsonguard

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A Fault is why a text is refused, in a word for programs; "" is none.
type Fault string

// The faults there are.
const (
	UTF8      Fault = "utf8"           // not valid UTF-8
	JSON      Fault = "json"           // not one JSON value
	NUL       Fault = "nul"            // a string contains the character NUL
	Depth     Fault = "depth"          // nests too deep
	Surrogate Fault = "surrogate"      // half of a pair of surrogates, such as \ud800, which no UTF-8 holds
	Duplicate Fault = "duplicate_name" // an object has one name twice
)

// manyNames is how many names of one object are compared pair by pair; beyond it
// a map takes over, or the work would grow with the square of the input.
const manyNames = 16

// An opened value is an object or array that a scan is inside of.
type opened struct {
	object   bool
	wantName bool // the next string is a name
	first    int  // of this object's names in scan.names
	seen     map[string]struct{}
}

// A scan is one pass over a text that is valid JSON already.
type scan struct {
	text   []byte
	limit  int // levels
	open   []opened
	names  [][]byte
	member func(name, value []byte)
	nul    bool   // strings may contain NUL
	name   []byte // of the top-level member at hand
	twice  []byte // the name that came a second time
	value  int    // where its value starts; 0: none is open
}

// Check looks for the first fault of a text. maxDepth is how many levels of objects and
// lists it may have. member, unless nil, is called for each member of an object at the
// top, in order, also when a fault comes after it; name and value are parts of the text,
// or of a copy. If a name comes twice, its second value is nil.
func Check(text []byte, maxDepth int, member func(name, value []byte)) Fault {
	return check(text, maxDepth, scan{member: member})
}

// CheckStored is Check for what a program keeps, where a text may contain NUL.
func CheckStored(text []byte, maxDepth int, member func(name, value []byte)) Fault {
	return check(text, maxDepth, scan{nul: true, member: member})
}

func check(text []byte, maxDepth int, s scan) Fault {
	if !utf8.Valid(text) {
		return UTF8
	}
	if !Valid(text) {
		return unread(text)
	}
	// Most texts nest less than this and have fewer names open at once.
	var levels [16]opened
	var names [32][]byte
	s.text, s.limit, s.open, s.names = text, maxDepth, levels[:0], names[:0]
	return s.run()
}

func (s *scan) run() Fault {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			end, escaped, fault := endOfString(s.text, i)
			if fault != "" && (fault != NUL || !s.nul) {
				return fault
			}
			if n := len(s.open); n > 0 && s.open[n-1].wantName {
				if !s.addName(s.text[i:end+1], escaped) {
					if n == 1 && s.member != nil {
						s.member(s.name, nil)
					}
					return Duplicate
				}
			}
			i = end
		case '{', '[':
			if len(s.open) == s.limit {
				return Depth
			}
			object := s.text[i] == '{'
			s.open = append(s.open, opened{object: object, wantName: object, first: len(s.names)})
		case '}', ']':
			s.endValue(i)
			last := len(s.open) - 1
			s.names = s.names[:s.open[last].first]
			s.open = s.open[:last]
		case ':':
			if len(s.open) == 1 {
				s.value = i + 1
			}
		case ',':
			s.endValue(i)
			last := &s.open[len(s.open)-1]
			last.wantName = last.object
		}
	}
	return ""
}

// endOfString finds the end of the string that starts at i, and what no string may
// hold: an escaped NUL, which databases and C libraries take for the end of a text,
// and half a pair of surrogates, which decoders replace without a word. The string goes on behind both: to
// visit or to count what was never checked is no error.
func endOfString(text []byte, i int) (end int, escaped bool, found Fault) {
	quote := i // where the next one is, which may be escaped
	for end = i + 1; ; end++ {
		if quote < end {
			quote = end + bytes.IndexByte(text[end:], '"')
		}
		escape := bytes.IndexByte(text[end:quote], '\\')
		if escape < 0 {
			return quote, escaped, found
		}
		escaped = true
		end += escape + 1
		if text[end] != 'u' {
			continue
		}
		unit := hex4(text[end+1:])
		end += 4
		switch {
		case unit == 0 && found == "":
			found = NUL
		case unit < 0xd800 || unit > 0xdfff:
		case unit < 0xdc00 && isLow(text[end+1:]):
			end += 6
		default:
			found = Surrogate
		}
	}
}

// isLow reports whether a text of valid JSON goes on with the second half of a pair of surrogates.
func isLow(rest []byte) bool {
	if rest[0] != '\\' || rest[1] != 'u' {
		return false
	}
	unit := hex4(rest[2:])
	return unit >= 0xdc00 && unit <= 0xdfff
}

// hex4 reads the four digits that valid JSON has after \u.
func hex4(digits []byte) (unit rune) {
	for _, d := range digits[:4] {
		switch {
		case d <= '9':
			d -= '0'
		case d <= 'F':
			d -= 'A' - 10
		default:
			d -= 'a' - 10
		}
		unit = unit<<4 | rune(d)
	}
	return unit
}

// addName records a name of the innermost object; false: it is there already.
// Names compare as they mean, not as they are written.
func (s *scan) addName(quoted []byte, escaped bool) bool {
	name := quoted[1 : len(quoted)-1]
	if escaped {
		var decoded string
		if json.Unmarshal(quoted, &decoded) != nil {
			return false
		}
		name = []byte(decoded)
	}
	o := &s.open[len(s.open)-1]
	o.wantName = false
	if len(s.open) == 1 {
		s.name = name
	}
	if o.seen != nil {
		if _, twice := o.seen[string(name)]; twice {
			s.twice = name
			return false
		}
		o.seen[string(name)] = struct{}{}
		return true
	}
	for _, other := range s.names[o.first:] {
		if bytes.Equal(other, name) {
			s.twice = name
			return false
		}
	}
	s.names = append(s.names, name)
	if len(s.names)-o.first > manyNames {
		o.seen = make(map[string]struct{}, 4*manyNames)
		for _, other := range s.names[o.first:] {
			o.seen[string(other)] = struct{}{}
		}
	}
	return true
}

// endValue closes a top-level member at i.
func (s *scan) endValue(i int) {
	if len(s.open) != 1 || s.value == 0 {
		return
	}
	if s.member != nil {
		s.member(s.name, bytes.TrimSpace(s.text[s.value:i]))
	}
	s.value = 0
}

// Count is how many elements or members a list or an object has that is valid JSON.
func Count(value []byte) (n int) {
	level, filled := 0, false
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			i, _, _ = endOfString(value, i)
		case '{', '[':
			if level++; level == 1 {
				continue
			}
		case '}', ']':
			level--
			continue
		case ',':
			if level == 1 {
				n++
			}
		}
		filled = true
	}
	if filled {
		n++
	}
	return n
}

// Length is how many bytes a value that is valid JSON has at least, without white space
// and with its escapes written as short as they can be.
func Length(value []byte) (n int) {
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			end, escaped, _ := endOfString(value, i)
			n += end - i
			for ; escaped && i < end; i++ {
				switch {
				case value[i] != '\\':
				case value[i+1] != 'u':
					n, i = n-1, i+1
				default: // the shortest that six bytes may stand for; half a pair is two bytes of four
					n, i = n-6+min(2, max(1, utf8.RuneLen(hex4(value[i+2:])))), i+5
				}
			}
			i = end
		}
		n++
	}
	return n
}

// CountValues is how many values lie inside a value that is valid JSON, at all levels
// together; names are none.
func CountValues(value []byte) (n int) {
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case ' ', '\t', '\r', '\n', ',', '}', ']':
			continue
		case ':': // what was counted before it is a name
			n--
			continue
		case '"':
			i, _, _ = endOfString(value, i)
		case '{', '[':
		default: // a number or a word
			for i+1 < len(value) && strings.IndexByte(" \t\r\n,:]}", value[i+1]) < 0 {
				i++
			}
		}
		n++
	}
	return n - 1 // it is not inside itself
}
