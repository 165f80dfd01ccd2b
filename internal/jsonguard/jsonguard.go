// Package jsonguard checks JSON of strangers before any parser sees it: parsers
// disagree about duplicate names, and their cost may grow faster than their input
// when it nests.
package jsonguard

import (
	"bytes"
	"encoding/json"
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
	name   []byte // of the top-level member at hand
	value  int    // where its value starts; 0: none is open
}

// Check looks for the first fault of a text. maxDepth is how many levels of
// objects and lists it may have. member, unless nil, is called for each member of
// an object at the top, in order, also when a fault comes after it; name and value
// are parts of the text, or of a copy.
func Check(text []byte, maxDepth int, member func(name, value []byte)) Fault {
	if !utf8.Valid(text) {
		return UTF8
	}
	if !json.Valid(text) {
		return JSON
	}
	// Most texts nest less than this and have fewer names open at once.
	var levels [16]opened
	var names [32][]byte
	s := scan{text: text, limit: maxDepth, open: levels[:0], names: names[:0], member: member}
	return s.run()
}

func (s *scan) run() Fault {
	for i := 0; i < len(s.text); i++ {
		switch s.text[i] {
		case '"':
			end, escaped, ok := endOfString(s.text, i)
			if !ok {
				return NUL
			}
			if n := len(s.open); n > 0 && s.open[n-1].wantName {
				if !s.addName(s.text[i:end+1], escaped) {
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

// endOfString finds the end of the string that starts at i. ok is false when it
// holds an escaped NUL, which databases and C libraries take for the end of a text.
func endOfString(text []byte, i int) (end int, escaped, ok bool) {
	for end = i + 1; text[end] != '"'; end++ {
		if text[end] != '\\' {
			continue
		}
		escaped = true
		end++
		if text[end] == 'u' && string(text[end+1:end+5]) == "0000" {
			return end, escaped, false
		}
	}
	return end, escaped, true
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
			return false
		}
		o.seen[string(name)] = struct{}{}
		return true
	}
	for _, other := range s.names[o.first:] {
		if bytes.Equal(other, name) {
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
