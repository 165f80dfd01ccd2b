package jsonform

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Flatten writes a JSON value as text for search: a string as it is, an object as
// "name: value" lines in order of name, a list one element a line.
func Flatten(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		var lines []string
		for _, sub := range v {
			if text := Flatten(sub); text != "" {
				lines = append(lines, text)
			}
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if text := Flatten(v[name]); text != "" {
				lines = append(lines, name+": "+text)
			}
		}
		return strings.Join(lines, "\n")
	}
	return ""
}
