package jsonguard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Unmarshal is [json.Unmarshal] with exact names: it refuses a name that differs from a
// field's only by letter case. The standard package would take whichever of "content" and
// "CONTENT" comes last. Names that match no field are still ignored.
func Unmarshal(data []byte, v any) error {
	if err := CheckNames(data, v); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// CheckNames looks for what [Unmarshal] refuses. What is not JSON is left to the
// decoder to name.
func CheckNames(data []byte, v any) error {
	t := reflect.TypeOf(v)
	if t == nil || !Valid(data) {
		return nil
	}
	return (&walk{text: data}).value(t)
}

// A walk goes through a text that is valid JSON, beside the type it is for.
type walk struct {
	text []byte
	at   int
}

// space passes over white space and what stands between values.
func (w *walk) space() byte {
	for strings.IndexByte(" \t\r\n,:", w.text[w.at]) >= 0 {
		w.at++
	}
	return w.text[w.at]
}

// value walks through one value, which lies in one of type t.
func (w *walk) value(t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	first := w.space()
	switch kind := t.Kind(); {
	case decodesItself(t):
	case first == '{' && kind == reflect.Struct:
		return w.members(namesOf(t))
	case first == '{' && kind == reflect.Map:
		return w.members(&names{each: t.Elem()})
	case first == '[' && (kind == reflect.Slice || kind == reflect.Array):
		w.at++
		for w.space() != ']' {
			if err := w.value(t.Elem()); err != nil {
				return err
			}
		}
		w.at++
		return nil
	}
	w.skip()
	return nil
}

// members walks through an object.
func (w *walk) members(known *names) error {
	w.at++
	for w.space() != '}' {
		begin := w.at
		w.skip()
		t, err := known.find(w.text[begin:w.at])
		if err != nil {
			return err
		}
		w.space()
		if t == nil {
			w.skip()
		} else if err := w.value(t); err != nil {
			return err
		}
	}
	w.at++
	return nil
}

// skip passes over one value.
func (w *walk) skip() {
	for level := 0; ; w.at++ {
		switch w.text[w.at] {
		case '"':
			w.at, _, _ = endOfString(w.text, w.at)
		case '{', '[':
			level++
			continue
		case '}', ']':
			level--
		default: // a number or a word, or what stands between the values inside
			for level == 0 && w.at+1 < len(w.text) && strings.IndexByte(" \t\r\n,:]}", w.text[w.at+1]) < 0 {
				w.at++
			}
		}
		if level == 0 {
			w.at++
			return
		}
	}
}

// Each visits the members of an object or the elements of a list that is valid JSON, in
// order, up to the first error. An element has no name; any other value has nothing inside.
func Each(value []byte, visit func(name string, element []byte) error) error {
	w := &walk{text: value}
	first := w.space()
	if first != '{' && first != '[' {
		return nil
	}
	w.at++
	for next := w.space(); next != '}' && next != ']'; next = w.space() {
		var name string
		if first == '{' {
			quoted := w.text[w.at:]
			w.skip()
			var err error
			if name, err = unquote(quoted[:len(quoted)-len(w.text[w.at:])]); err != nil {
				return err
			}
			w.space()
		}
		begin := w.at
		w.skip()
		if err := visit(name, w.text[begin:w.at]); err != nil {
			return err
		}
	}
	return nil
}

// Members is [json.Unmarshal] of some members of an object, by their exact names, each into what the pointer
// behind its name points to; of a name that is there twice the last counts. What the object lacks stays as it is, and
// so does all of it if the text is no JSON. To decode all of a small object takes several times as long. A name that is
// written with an escape is not known.
func Members(text []byte, named ...any) error {
	var found [8][]byte // the values of the first names, as most ask for no more
	values := append(found[:0], make([][]byte, len(named)/2)...)
	i := spaces(text, 0)
	if i >= len(text) || text[i] != '{' {
		return json.Unmarshal(text, &struct{}{})
	}
	i = eachMember(text, i, func(name, value []byte) bool {
		for n := range values {
			if named[2*n].(string) == string(name) {
				values[n] = value
			}
		}
		return true
	})
	if i < 0 || spaces(text, i) < len(text) {
		return json.Unmarshal(text, &struct{}{}) // it says what is wrong
	}
	for n, value := range values {
		if value == nil {
			continue
		}
		if err := decode(value, named[2*n+1]); err != nil {
			return fmt.Errorf("%s: %w", named[2*n], err)
		}
	}
	return nil
}

// Member is [Members] of one member of what Loci itself has written. It looks at nothing behind that member, unless
// its name may stand there again.
func Member(text []byte, name string, into any) error {
	var value []byte
	if i := spaces(text, 0); i < len(text) && text[i] == '{' {
		end := eachMember(text, i, func(one, what []byte) bool {
			if string(one) == name {
				value = what
			}
			return value == nil
		})
		if value != nil && !bytes.Contains(text[end:], []byte(name)) {
			if err := decode(value, into); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
	}
	return Members(text, name, into)
}

// eachMember calls yield for the members of the object that begins at i, names without their quotes, until it
// returns false, and returns where the object ends, or the last member that was visited; -1: it is not well formed.
func eachMember(text []byte, i int, yield func(name, value []byte) bool) int {
	if i = spaces(text, i+1); i < len(text) && text[i] == '}' {
		return i + 1
	}
	for i < len(text) && text[i] == '"' {
		end := wellFormedString(text, i)
		at := spaces(text, end)
		if at < 0 || at >= len(text) || text[at] != ':' {
			return -1
		}
		begin := spaces(text, at+1)
		after := wellFormed(text, begin, 1)
		if after < 0 {
			return -1
		}
		if !yield(text[i+1:end-1], text[begin:after]) {
			return after
		}
		switch i = spaces(text, after); {
		case i >= len(text):
			return -1
		case text[i] == '}':
			return i + 1
		case text[i] != ',':
			return -1
		}
		i = spaces(text, i+1)
	}
	return -1
}

// decode is [json.Unmarshal] of a value that is valid. Texts and numbers, which most are, take a fraction of its time.
func decode(value []byte, into any) error {
	switch into := into.(type) {
	case *string:
		if inner := value[1:max(1, len(value)-1)]; value[0] == '"' && plainText(inner) {
			*into = string(inner)
			return nil
		}
	case *float64:
		if x, err := strconv.ParseFloat(string(value), 64); err == nil && value[0] <= '9' { // no word
			*into = x
			return nil
		}
	}
	return json.Unmarshal(value, into)
}

// plainText reports whether a text in quotes means what it says.
func plainText(inner []byte) bool { return bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) }

// names are those of the members of an object.
type names struct {
	each reflect.Type // any name, with values of this type; nil: the fields are all there are
	own  map[string]reflect.Type
}

// find returns the type of a member, whose name is in quotes; nil: there is none.
func (n *names) find(quoted []byte) (reflect.Type, error) {
	if n.each != nil {
		return n.each, nil
	}
	name := string(quoted[1 : len(quoted)-1])
	if strings.Contains(name, `\`) {
		if err := json.Unmarshal(quoted, &name); err != nil {
			return nil, err
		}
	}
	if t, ok := n.own[name]; ok {
		return t, nil
	}
	for own := range n.own {
		if strings.EqualFold(own, name) {
			return nil, &NameError{clip(name), own}
		}
	}
	return nil, nil
}

// A NameError is about a name that differs from a known one by letter case alone.
type NameError struct{ Name, Known string }

func (e *NameError) Error() string {
	return fmt.Sprintf("the name %q is unknown: write it %q", e.Name, e.Known)
}

// Advice says that the text is made for callers.
func (e *NameError) Advice() string { return fmt.Sprintf("write it %q", e.Known) }

func clip(name string) string {
	if len(name) <= 64 {
		return name
	}
	end := 64
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

var known sync.Map // reflect.Type → *names

// namesOf returns the names that package json knows a struct by.
func namesOf(t reflect.Type) *names {
	if n, ok := known.Load(t); ok {
		return n.(*names)
	}
	n := &names{own: map[string]reflect.Type{}}
	n.add(t)
	known.Store(t, n)
	return n
}

// add adds the fields of a struct; a name of an outer one hides those of inner ones.
func (n *names) add(t reflect.Type) {
	var inner []reflect.Type
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case f.Tag.Get("json") == "-", !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && of.Kind() == reflect.Struct:
			inner = append(inner, of)
		default:
			if name == "" {
				name = f.Name
			}
			if _, hidden := n.own[name]; !hidden {
				n.own[name] = f.Type
			}
		}
	}
	for _, of := range inner {
		n.add(of)
	}
}

var (
	ofJSON = reflect.TypeFor[json.Unmarshaler]()
	ofText = reflect.TypeFor[interface{ UnmarshalText(text []byte) error }]()
)

// decodesItself reports whether a type reads its own JSON.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(ofJSON) || p.Implements(ofText)
}
