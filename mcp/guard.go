package mcp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A fault is why a line is refused. Its reason is for programs.
type fault struct {
	code    int64
	reason  string
	message string
}

var (
	faultText      = &fault{jsonrpc.CodeParseError, "utf8", "the message is not valid UTF-8"}
	faultJSON      = &fault{jsonrpc.CodeParseError, "json", "the message is not valid JSON: send one JSON-RPC message a line"}
	faultNUL       = &fault{jsonrpc.CodeInvalidRequest, "nul", `a text contains the NUL character \u0000: leave it out`}
	faultDepth     = &fault{jsonrpc.CodeInvalidRequest, "depth", "the message nests too deep: flatten it"}
	faultDuplicate = &fault{jsonrpc.CodeInvalidRequest, "duplicate_name", "an object has the same name twice"}
)

// An envelope is the top level of a JSON-RPC message, not decoded further.
type envelope struct{ version, id, method, params, result, err json.RawMessage }

// member returns where the value of a top-level name goes, or nil.
func (e *envelope) member(name []byte) *json.RawMessage {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

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

// A scan is one pass over a line that is valid JSON already. It runs before any
// parser: parsers disagree about duplicate names, and their cost may grow faster
// than their input when it nests.
type scan struct {
	line  []byte
	limit int // levels
	open  []opened
	names [][]byte
	envelope
	name  []byte // of the top-level member at hand
	value int    // where its value starts; 0: none is open
}

// guard checks a line and splits its top level.
func guard(line []byte, maxDepth int) (envelope, *fault) {
	if !utf8.Valid(line) {
		return envelope{}, faultText
	}
	if !json.Valid(line) {
		return envelope{}, faultJSON
	}
	// Most messages nest less than this and have fewer names open at once.
	var levels [16]opened
	var names [32][]byte
	s := scan{line: line, limit: maxDepth, open: levels[:0], names: names[:0]}
	f := s.run()
	return s.envelope, f
}

func (s *scan) run() *fault {
	for i := 0; i < len(s.line); i++ {
		switch s.line[i] {
		case '"':
			end, escaped, ok := text(s.line, i)
			if !ok {
				return faultNUL
			}
			if n := len(s.open); n > 0 && s.open[n-1].wantName {
				if !s.addName(s.line[i:end+1], escaped) {
					return faultDuplicate
				}
			}
			i = end
		case '{', '[':
			if len(s.open) == s.limit {
				return faultDepth
			}
			object := s.line[i] == '{'
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
	return nil
}

// text finds the end of the string that starts at i. ok is false when it holds an
// escaped NUL, which databases and C libraries take for the end of a text.
func text(line []byte, i int) (end int, escaped, ok bool) {
	for end = i + 1; line[end] != '"'; end++ {
		if line[end] != '\\' {
			continue
		}
		escaped = true
		end++
		if line[end] == 'u' && string(line[end+1:end+5]) == "0000" {
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
	if m := s.member(s.name); m != nil {
		*m = bytes.TrimSpace(s.line[s.value:i])
	}
	s.value = 0
}
