package entry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// yamlEditor edits YAML in block style: keys on lines of their own.
type yamlEditor struct{}

func (yamlEditor) decode(text []byte) (map[string]any, error) {
	document := map[string]any{}
	if len(bytes.TrimSpace(text)) == 0 {
		return document, nil
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("the file is not YAML with fields: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if document == nil { // comments alone
		document = map[string]any{}
	}
	return normal(document).(map[string]any), nil
}

// yamlPlace finds the deepest mapping on a path, its key, and what of the path is missing.
func yamlPlace(text []byte, path []string) (at *yaml.Node, key *yaml.Node, rest []string, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, nil, nil, err
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return nil, nil, path, nil
	}
	at = document.Content[0]
	for i, name := range path {
		if at.Kind != yaml.MappingNode {
			return at, key, path[i:], nil
		}
		var next *yaml.Node
		for k := 0; k+1 < len(at.Content); k += 2 {
			if at.Content[k].Value == name {
				key, next = at.Content[k], at.Content[k+1]
			}
		}
		if next == nil {
			return at, key, path[i:], nil
		}
		at = next
	}
	return at, key, nil, nil
}

func (e yamlEditor) set(text []byte, path []string, fields Fields) ([]byte, error) {
	end := lineEnd(text)
	at, key, rest, err := yamlPlace(text, path)
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		line, cut, err := yamlBlock(text, key)
		if err != nil {
			return nil, err
		}
		column := strings.Repeat(" ", key.Column-1)
		return splice(text, line, cut, yamlLines(path[len(path)-1], fields, column, end)), nil
	}
	if len(rest) == len(path) { // nothing of it is there: at the end, at the margin
		if at != nil && (at.Kind != yaml.MappingNode || at.Style&yaml.FlowStyle != 0 && len(at.Content) > 0) {
			return nil, ErrUneditable
		}
		out := bytes.Clone(text)
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, end...)
		}
		return append(out, yamlNested(rest, fields, "", end)...), nil
	}
	return insertBelow(text, at, key, yamlIndent(at, key), rest, fields)
}

// yamlIndent is how far the members of a mapping are indented.
func yamlIndent(at, key *yaml.Node) string {
	if at.Kind == yaml.MappingNode && len(at.Content) > 0 {
		return strings.Repeat(" ", at.Content[0].Column-1)
	}
	return strings.Repeat(" ", key.Column+1)
}

// insertBelow writes an entry as the first below a key: where it begins is certain, where
// the last one ends is not.
func insertBelow(text []byte, at, key *yaml.Node, indent string, rest []string, fields Fields) ([]byte, error) {
	end := lineEnd(text)
	start := lineStart(text, key.Line)
	stop := lineStart(text, key.Line+1)
	line := string(text[start:stop])
	empty := at.Kind == yaml.MappingNode && len(at.Content) == 0 ||
		at.Kind == yaml.ScalarNode && at.Tag == "!!null"
	switch {
	case at.Kind == yaml.MappingNode && at.Style&yaml.FlowStyle == 0 && !empty && at.Content[0].Line > key.Line:
	case empty && at.Line <= key.Line: // {} or null or nothing behind the key
		if at.Value != "" || at.Kind == yaml.MappingNode {
			i := strings.IndexByte(line[key.Column-1+len(key.Value):], ':')
			head := key.Column - 1 + len(key.Value) + i + 1
			tail := strings.TrimRight(line[head:], "\r\n")
			tail = strings.Replace(strings.Replace(strings.Replace(tail, "{}", "", 1), "null", "", 1), "~", "", 1)
			if tail = strings.TrimSpace(tail); tail != "" {
				tail = " " + tail
			}
			line = line[:head] + tail + end
		}
	default:
		return nil, ErrUneditable
	}
	if !strings.HasSuffix(line, "\n") {
		line += end
	}
	return splice(text, start, stop, line+yamlNested(rest, fields, indent, end)), nil
}

func (yamlEditor) remove(text []byte, path []string) ([]byte, error) {
	_, key, rest, err := yamlPlace(text, path)
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, ErrUneditable)
	}
	start, stop, err := yamlBlock(text, key)
	if err != nil {
		return nil, err
	}
	return splice(text, start, stop, ""), nil
}

func (yamlEditor) take(text, other []byte, path []string) ([]byte, error) {
	_, key, rest, err := yamlPlace(text, path)
	if err != nil || len(rest) > 0 {
		return nil, errors.Join(err, ErrUneditable)
	}
	_, theirs, rest, err := yamlPlace(other, path)
	if err != nil || len(rest) > 0 || theirs.Column != key.Column {
		return nil, errors.Join(err, ErrUneditable)
	}
	start, stop, err := yamlBlock(text, key)
	if err != nil {
		return nil, err
	}
	from, to, err := yamlBlock(other, theirs)
	if err != nil {
		return nil, err
	}
	return splice(text, start, stop, string(other[from:to])), nil
}

// yamlBlock returns where the lines of a key and of what lies below it begin and end.
func yamlBlock(text []byte, key *yaml.Node) (start, stop int, err error) {
	start = lineStart(text, key.Line)
	if len(bytes.TrimSpace(text[start:start+key.Column-1])) > 0 {
		return 0, 0, ErrUneditable // something else stands in front of it
	}
	stop = lineStart(text, key.Line+1)
	for at := stop; at < len(text); {
		next := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		line := text[at:next]
		blank := len(bytes.TrimSpace(line)) == 0
		if !blank && len(line)-len(bytes.TrimLeft(line, " ")) < key.Column {
			break
		}
		if at = next; !blank {
			stop = next
		}
	}
	return start, stop, nil
}

// lineStart is where a line begins; lines count from 1.
func lineStart(text []byte, line int) int {
	at := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

func splice(text []byte, start, end int, with string) []byte {
	return append(append(bytes.Clone(text[:start]), with...), text[end:]...)
}

func yamlNested(path []string, fields Fields, indent, end string) string {
	value := fields
	for _, step := range reversed(path[1:]) {
		value = Fields{{step, value}}
	}
	return yamlLines(path[0], value, indent, end)
}

// yamlLines writes a key and its fields. Strings and lists are written as JSON, which YAML
// contains: nothing in them is taken for a number or a date.
func yamlLines(name string, fields Fields, indent, end string) string {
	var out strings.Builder
	out.WriteString(indent + name + ":")
	if len(fields) == 0 {
		out.WriteString(" {}")
	}
	out.WriteString(end)
	for _, field := range fields {
		if inner, ok := field.Value.(Fields); ok {
			out.WriteString(yamlLines(field.Name, inner, indent+"  ", end))
			continue
		}
		out.WriteString(indent + "  " + field.Name + ": " + tomlValue(field.Value) + end)
	}
	return out.String()
}
