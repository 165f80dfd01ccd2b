package entry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlEditor edits TOML. An entry is a table with a header of its own, such as
// [mcp_servers.loci], and the tables below it.
type tomlEditor struct{}

func (tomlEditor) decode(text []byte) (map[string]any, error) {
	document := map[string]any{}
	if err := toml.Unmarshal(text, &document); err != nil {
		var fault *toml.DecodeError
		if errors.As(err, &fault) {
			line, column := fault.Position()
			return nil, fmt.Errorf(
				"the file is no TOML: line %d, column %d: %s",
				line,
				column,
				strings.TrimPrefix(fault.Error(), "toml: "),
			)
		}
		return nil, fmt.Errorf("the file is no TOML: %s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return normal(document).(map[string]any), nil
}

// A tomlTable is a table with a header: its name, and where its lines are.
type tomlTable struct {
	name       []string
	start, end int
}

// tables returns the tables of a text in order. Blank lines and comments in front of a
// header belong to the table of that header.
func tables(text []byte) ([]tomlTable, error) {
	var found []tomlTable
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind != unstable.Table && node.Kind != unstable.ArrayTable {
			continue
		}
		var table tomlTable
		for key := node.Key(); key.Next(); {
			if len(table.name) == 0 {
				at := int(p.Range(key.Node().Data).Offset)
				if raw := key.Node().Raw; raw.Length > 0 {
					at = int(raw.Offset)
				}
				table.start = bytes.LastIndexByte(text[:at], '\n') + 1
			}
			table.name = append(table.name, string(key.Node().Data))
		}
		found = append(found, table)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("the file is no TOML: %w", err)
	}
	for i := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1].start
		}
		found[i].end = found[i].start + len(withoutTail(text[found[i].start:end]))
	}
	return found, nil
}

// withoutTail returns lines without the blank ones and the comments at their end.
func withoutTail(lines []byte) []byte {
	for {
		body := bytes.TrimSuffix(lines, []byte("\n"))
		last := bytes.TrimSpace(body[bytes.LastIndexByte(body, '\n')+1:])
		if len(lines) == 0 || len(last) > 0 && last[0] != '#' {
			return lines
		}
		lines = body[:bytes.LastIndexByte(body, '\n')+1]
	}
}

// ours returns the tables at a path and below it.
func ours(text []byte, path []string) ([]tomlTable, error) {
	all, err := tables(text)
	return slices.DeleteFunc(all, func(t tomlTable) bool {
		return len(t.name) < len(path) || !slices.Equal(t.name[:len(path)], path)
	}), err
}

func (e tomlEditor) set(text []byte, path []string, fields Fields) ([]byte, error) {
	end := lineEnd(text)
	block := tomlBlock(path, fields, end)
	old, err := ours(text, path)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 {
		return e.swap(text, path, old[0].start, block)
	}
	out := bytes.Clone(text)
	if len(out) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, end...)
		}
		out = append(out, end...)
	}
	return append(out, block...), nil
}

// swap puts a block where the first table of the entry stands, and removes the others.
func (e tomlEditor) swap(text []byte, path []string, first int, block string) ([]byte, error) {
	head := bytes.Clone(text[:first])
	tail, err := e.remove(text, path)
	if err != nil {
		return nil, err
	}
	return append(append(head, block...), tail[min(len(head), len(tail)):]...), nil
}

func (e tomlEditor) take(text, other []byte, path []string) ([]byte, error) {
	old, err := ours(text, path)
	if err != nil {
		return nil, err
	}
	theirs, err := ours(other, path)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 || len(theirs) == 0 {
		return nil, ErrUneditable // written inline or with dotted keys
	}
	var block []byte // what stood between its tables has stayed
	for _, table := range theirs {
		block = append(block, other[table.start:table.end]...)
	}
	return e.swap(text, path, old[0].start, string(block))
}

func (tomlEditor) remove(text []byte, path []string) ([]byte, error) {
	old, err := ours(text, path)
	if err != nil {
		return nil, err
	}
	if len(old) == 0 {
		return nil, ErrUneditable // written inline or with dotted keys
	}
	out := bytes.Clone(text)
	for _, table := range slices.Backward(old) {
		start := table.start
		if table.end == len(out) { // the blank line in front was written with it
			start -= len(blankLineBefore(out[:start]))
		}
		out = append(out[:start], out[table.end:]...)
	}
	return out, nil
}

func blankLineBefore(text []byte) string {
	for _, end := range []string{"\r\n", "\n"} {
		if bytes.HasSuffix(text, []byte("\n"+end)) {
			return end
		}
	}
	return ""
}

// tomlBlock writes a table, and those below it behind it.
func tomlBlock(path []string, fields Fields, end string) string {
	var out, below strings.Builder
	out.WriteString("[" + tomlKeys(path) + "]" + end)
	for _, field := range fields {
		if inner, ok := field.Value.(Fields); ok {
			below.WriteString(end + tomlBlock(append(slices.Clone(path), field.Name), inner, end))
			continue
		}
		out.WriteString(tomlKeys([]string{field.Name}) + " = " + tomlValue(field.Value) + end)
	}
	return out.String() + below.String()
}

func tomlKeys(path []string) string {
	keys := make([]string, len(path))
	for i, key := range path {
		keys[i] = key
		if key == "" ||
			strings.Trim(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			keys[i] = quote(key)
		}
	}
	return strings.Join(keys, ".")
}

// tomlValue writes a value; a basic string of TOML takes the escapes of JSON.
func tomlValue(value any) string {
	switch v := value.(type) {
	case string:
		return quote(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprint(v)
	}
}
