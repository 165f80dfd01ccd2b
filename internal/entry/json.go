package entry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonEditor edits JSON, also with comments and trailing commas.
type jsonEditor struct{}

func (jsonEditor) decode(text []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return map[string]any{}, nil
	}
	parsed, err := parseJSON(text)
	if err != nil {
		return nil, jsonFault(err)
	}
	parsed.Standardize()
	var document any
	if err := json.Unmarshal(parsed.Pack(), &document); err != nil {
		return nil, fmt.Errorf("the file is no JSON: %w", err)
	}
	fields, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the file holds no object: it begins with %.10q", bytes.TrimSpace(text))
	}
	return normal(fields).(map[string]any), nil
}

// parseJSON parses a text. The parser wants an end of line behind a comment, which the last
// line of a file need not have.
func parseJSON(text []byte) (hujson.Value, error) {
	parsed, err := hujson.Parse(bytes.Clone(text))
	if err != nil && !bytes.HasSuffix(text, []byte("\n")) {
		if again, bad := hujson.Parse(append(bytes.Clone(text), '\n')); bad == nil {
			return again, nil
		}
	}
	return parsed, err
}

// jsonFault says where a text is no JSON: "line 3, column 5: ...".
func jsonFault(err error) error {
	return fmt.Errorf("the file is no JSON: %s", strings.TrimPrefix(err.Error(), "hujson: "))
}

// normal turns whole numbers into int, so that all formats decode to the same types.
func normal(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			v[name] = normal(field)
		}
	case []any:
		for i, item := range v {
			v[i] = normal(item)
		}
	case int64:
		return int(v)
	case float64:
		if whole := int(v); float64(whole) == v {
			return whole
		}
	}
	return value
}

// A place is where a path leads in a text: the objects on the way, and the member.
type jsonPlace struct {
	text    []byte
	newline string
	unit    string         // one step of indentation
	object  *hujson.Object // the innermost object on the way that is there
	span    *hujson.Value  // the same, with its offsets
	depth   int            // how deep that object's members are
	rest    []string       // the steps that are not there; empty: the entry is
	member  int            // the entry's place in object, where it is there
}

func locate(text []byte, path []string) (*jsonPlace, error) {
	root, err := parseJSON(text)
	if err != nil {
		return nil, jsonFault(err)
	}
	p := &jsonPlace{text: text, newline: lineEnd(text), unit: "  ", span: &root, depth: 1}
	p.object = root.Value.(*hujson.Object)
	if indent, lines := p.indentOf(p.object); lines && indent != "" {
		p.unit = indent
	}
	for i, name := range path {
		p.member = -1
		for k := range p.object.Members {
			if literal, ok := p.object.Members[k].Name.Value.(hujson.Literal); ok && literal.String() == name {
				if p.member >= 0 {
					return nil, fmt.Errorf("%w: %q is there twice", ErrUneditable, strings.Join(path[:i+1], "."))
				}
				p.member = k
			}
		}
		if p.member < 0 {
			p.rest = path[i:]
			return p, nil
		}
		if i == len(path)-1 {
			return p, nil
		}
		value := &p.object.Members[p.member].Value
		next, ok := value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%q exists and is not an object with fields", strings.Join(path[:i+1], "."))
		}
		p.object, p.span, p.depth = next, value, p.depth+1
	}
	return p, nil
}

// indentOf returns how far the members of an object are indented, and whether they stand
// on lines of their own.
func (p *jsonPlace) indentOf(o *hujson.Object) (indent string, lines bool) {
	if len(o.Members) == 0 {
		return "", false
	}
	before := string(o.Members[0].Name.BeforeExtra)
	at := strings.LastIndexByte(before, '\n')
	return before[at+1:], at >= 0 && strings.TrimSpace(before[at+1:]) == ""
}

func (jsonEditor) set(text []byte, path []string, fields Fields) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		end := lineEnd(text)
		p := &jsonPlace{newline: end, unit: "  "}
		return []byte("{" + end + "  " + p.nested(path, fields, "  ", true) + end + "}" + end), nil
	}
	p, err := locate(text, path)
	if err != nil {
		return nil, err
	}
	indent, lines := p.indentOf(p.object)
	if len(p.object.Members) == 0 {
		indent, lines = strings.Repeat(p.unit, p.depth), true
	}
	if len(p.rest) == 0 {
		value := p.object.Members[p.member].Value
		return p.splice(value.StartOffset, value.EndOffset, p.render(fields, indent, lines)), nil
	}
	return p.insert(p.nested(p.rest, fields, indent, lines), indent, lines), nil
}

// insert writes a member behind the last one of the object.
func (p *jsonPlace) insert(member, indent string, lines bool) []byte {
	closing := p.span.EndOffset - 1
	last, comma := p.span.StartOffset+1, ""
	if n := len(p.object.Members); n > 0 {
		value := p.object.Members[n-1].Value
		last = value.EndOffset
		if trailingComma(p.object) { // ours gets one, too
			last, comma = value.EndOffset+len(value.AfterExtra)+1, ","
		}
	}
	rest := string(p.text[last:closing])
	kept := strings.TrimRight(rest, " \t\r\n")
	space := rest[len(kept):]
	var out strings.Builder
	out.Write(p.text[:last])
	if len(p.object.Members) > 0 && comma == "" {
		out.WriteByte(',')
	}
	out.WriteString(kept)
	if lines {
		out.WriteString(p.newline + indent)
		if !strings.Contains(space, "\n") {
			space = p.newline + strings.TrimSuffix(indent, p.unit)
		}
	} else {
		out.WriteByte(' ')
	}
	out.WriteString(member + comma + space)
	out.Write(p.text[closing:])
	return []byte(out.String())
}

func (jsonEditor) remove(text []byte, path []string) ([]byte, error) {
	p, err := locate(text, path)
	if err != nil {
		return nil, err
	}
	members := p.object.Members
	ours := members[p.member]
	space := len(ours.Name.BeforeExtra) - len(bytes.TrimRight(ours.Name.BeforeExtra, " \t\r\n"))
	start, end := ours.Name.StartOffset-space, ours.Value.EndOffset
	last := p.member == len(members)-1
	if !last || trailingComma(p.object) {
		end += len(ours.Value.AfterExtra) + 1
	}
	if len(members) == 1 {
		if inner := p.text[end : p.span.EndOffset-1]; len(bytes.TrimSpace(inner)) == 0 &&
			start == p.span.StartOffset+1 {
			end = p.span.EndOffset - 1
		}
	}
	if last && p.member > 0 && !trailingComma(p.object) { // the one before loses its comma
		before := members[p.member-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		cut := append([]byte{}, p.text[:comma]...)
		cut = append(cut, p.text[comma+1:start]...)
		return append(cut, p.text[end:]...), nil
	}
	return p.splice(start, end, ""), nil
}

func (jsonEditor) take(text, other []byte, path []string) ([]byte, error) {
	p, err := locate(text, path)
	if err != nil {
		return nil, err
	}
	q, err := locate(other, path)
	if err != nil {
		return nil, err
	}
	if len(p.rest)+len(q.rest) > 0 {
		return nil, ErrUneditable
	}
	ours, theirs := p.object.Members[p.member].Value, q.object.Members[q.member].Value
	return p.splice(ours.StartOffset, ours.EndOffset, string(other[theirs.StartOffset:theirs.EndOffset])), nil
}

// trailingComma says whether a comma stands behind the last member: the parser has
// something behind its value then, if only nothing at all.
func trailingComma(o *hujson.Object) bool {
	n := len(o.Members)
	return n > 0 && o.Members[n-1].Value.AfterExtra != nil
}

func (p *jsonPlace) splice(start, end int, with string) []byte {
	return append(append(append([]byte{}, p.text[:start]...), with...), p.text[end:]...)
}

// nested renders a member: the steps of a path that are not there yet, the fields innermost.
func (p *jsonPlace) nested(path []string, fields Fields, indent string, lines bool) string {
	value := any(fields)
	for _, step := range reversed(path[1:]) {
		value = Fields{{step, value}}
	}
	return quote(path[0]) + ": " + p.render(value, indent, lines)
}

// render writes a value that stands in a line indented by indent.
func (p *jsonPlace) render(value any, indent string, lines bool) string {
	switch v := value.(type) {
	case Fields:
		parts := make([]string, len(v))
		for i, field := range v {
			parts[i] = quote(field.Name) + ": " + p.render(field.Value, indent+p.unit, lines)
		}
		if !lines || len(v) == 0 {
			return "{" + strings.Join(parts, ", ") + "}"
		}
		inner := p.newline + indent + p.unit
		return "{" + inner + strings.Join(parts, ","+inner) + p.newline + indent + "}"
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// quote writes a JSON string; angle brackets and ampersands stay readable.
func quote(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(out.String(), "\n")
}

func reversed(path []string) []string {
	out := make([]string, 0, len(path))
	for i := len(path) - 1; i >= 0; i-- {
		out = append(out, path[i])
	}
	return out
}
