// Package entry sets one entry in the configuration of another program, and takes it
// out again. The file belongs to somebody else: whatever is not the entry stays as it
// is, byte by byte, comments, order and spelling included.
package entry

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// A Format is a language that configurations are written in.
type Format int

// The formats. JSON takes comments and trailing commas as well.
const (
	JSON Format = iota
	TOML
	YAML
)

// A Field is one name and its value: a string, a bool, an int, a list of strings, or Fields.
type Field struct {
	Name  string
	Value any
}

// Fields are the fields of an entry in the order in which they are written.
type Fields []Field

// ErrUneditable says that the text is well formed, but that the entry is written in a way
// that cannot be changed without touching what stands beside it.
var ErrUneditable = errors.New("the entry is written in a way that only a person can change")

// An editor knows one format.
type editor interface {
	// decode returns the text as maps, lists and scalars.
	decode(text []byte) (map[string]any, error)
	// set and remove change an entry; remove is called only where there is one.
	set(text []byte, path []string, fields Fields) ([]byte, error)
	remove(text []byte, path []string) ([]byte, error)
	// take puts the entry of another text in place of the one of this; both have one.
	take(text, other []byte, path []string) ([]byte, error)
}

func (f Format) editor() editor {
	return []editor{jsonEditor{}, tomlEditor{}, yamlEditor{}}[f]
}

// Get returns the entry at a path, and whether there is one. A text that cannot be read
// is an error that says where.
func (f Format) Get(text []byte, path ...string) (value any, found bool, err error) {
	_, body := cutMark(text)
	document, err := f.editor().decode(body)
	if err != nil {
		return nil, false, err
	}
	value, found, err = lookup(document, path)
	return value, found, err
}

// Set returns the text with the fields as the entry at path, in place of one that is
// there. Set reads its result again: it means what the text meant, except for the entry.
func (f Format) Set(text []byte, fields Fields, path ...string) ([]byte, error) {
	return f.change(text, path, fields.plain(), func(body []byte) ([]byte, error) {
		return f.editor().set(body, path, fields)
	})
}

// Remove returns the text without the entry at path; the same text where there is none.
func (f Format) Remove(text []byte, path ...string) ([]byte, error) {
	_, found, err := f.Get(text, path...)
	if err != nil || !found {
		return text, err
	}
	return f.change(text, path, nil, func(body []byte) ([]byte, error) { return f.editor().remove(body, path) })
}

// Take returns the text with the entry at path as another text has it, comments and spelling
// included, in place of its own. Both have one.
func (f Format) Take(text, other []byte, path ...string) ([]byte, error) {
	value, found, err := f.Get(other, path...)
	if err != nil || !found {
		return nil, errors.Join(ErrUneditable, err)
	}
	_, theirs := cutMark(other)
	return f.change(text, path, value, func(body []byte) ([]byte, error) { return f.editor().take(body, theirs, path) })
}

// Alike reports whether two texts mean the same except for the entry at path, however they are
// laid out.
func (f Format) Alike(a, b []byte, path ...string) bool {
	_, a = cutMark(a)
	_, b = cutMark(b)
	x, errX := f.editor().decode(a)
	y, errY := f.editor().decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(with(x, path, nil), with(y, path, nil))
}

// change edits a text and proves that nothing else changed.
func (f Format) change(
	text []byte,
	path []string,
	value any,
	edit func([]byte) ([]byte, error),
) ([]byte, error) {
	mark, body := cutMark(text)
	before, err := f.editor().decode(body)
	if err != nil {
		return nil, err
	}
	if _, _, err := lookup(before, path); err != nil {
		return nil, err
	}
	changed, err := edit(body)
	if err != nil {
		return nil, err
	}
	after, err := f.editor().decode(changed)
	if err != nil || !reflect.DeepEqual(with(before, path, value), with(after, path, value)) {
		return nil, ErrUneditable
	}
	if got, found, err := lookup(after, path); err != nil || found != (value != nil) ||
		found && !reflect.DeepEqual(got, value) {
		return nil, ErrUneditable
	}
	return append(bytes.Clone(mark), changed...), nil
}

// cutMark parts the byte order mark that some editors write from the text.
func cutMark(text []byte) (mark, body []byte) {
	if body, marked := bytes.CutPrefix(text, []byte("\xef\xbb\xbf")); marked {
		return text[:3], body
	}
	return nil, text
}

// lookup walks down a document. A step that is there and holds no fields is an error.
func lookup(document map[string]any, path []string) (value any, found bool, err error) {
	for i, name := range path {
		value, found = document[name]
		if !found || value == nil || i == len(path)-1 {
			return value, found && value != nil, nil
		}
		next, ok := value.(map[string]any)
		if !ok {
			return nil, false, fmt.Errorf(
				"%q exists and is not an object with fields",
				strings.Join(path[:i+1], "."),
			)
		}
		document = next
	}
	return nil, false, nil
}

// with returns a copy of a document with a value at path; nil takes it out. Steps on the
// way are made, so that an empty object and none are alike.
func with(document map[string]any, path []string, value any) map[string]any {
	document = maps.Clone(document)
	if document == nil {
		document = map[string]any{}
	}
	if len(path) > 1 {
		next, _ := document[path[0]].(map[string]any)
		document[path[0]] = with(next, path[1:], value)
		return document
	}
	delete(document, path[0])
	if value != nil {
		document[path[0]] = value
	}
	return document
}

// plain returns the fields as decoding gives them.
func (f Fields) plain() map[string]any {
	out := map[string]any{}
	for _, field := range f {
		switch v := field.Value.(type) {
		case Fields:
			out[field.Name] = v.plain()
		case []string:
			list := make([]any, len(v))
			for i, s := range v {
				list[i] = s
			}
			out[field.Name] = list
		default:
			out[field.Name] = v
		}
	}
	return out
}

// Plain returns the fields as Get returns an entry, for comparing.
func (f Fields) Plain() any { return f.plain() }

// lineEnd is how the lines of a text end.
func lineEnd(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}
