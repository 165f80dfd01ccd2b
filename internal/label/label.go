// Package label brings the names that callers choose to their form: labels of a namespace
// as one text, templates of them, and tags.
package label

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%25", "%", "%2F", "/", "%2f", "/")
)

// Join joins labels with "/", escaping "/" and "%" inside them.
func Join(labels []string) string {
	parts := make([]string, len(labels))
	for i, label := range labels {
		parts[i] = escaper.Replace(label)
	}
	return strings.Join(parts, "/")
}

// Split reads what [Join] writes. The empty text has no labels.
func Split(text string) ([]string, error) {
	if text == "" {
		return []string{}, nil
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		escapes := strings.Count(part, "%25") + strings.Count(part, "%2F") + strings.Count(part, "%2f")
		if strings.Count(part, "%") != escapes {
			return nil, fmt.Errorf("namespace %q: write %% as %%25, and / inside a label as %%2F", text)
		}
		parts[i] = unescaper.Replace(part)
	}
	return parts, nil
}

// Key is every label followed by NUL, which no label contains: no two lists of labels have
// the same key, and that of a list begins with the keys of all that it extends.
func Key(labels []string) string {
	n := len(labels)
	for _, l := range labels {
		n += len(l)
	}
	var b strings.Builder
	b.Grow(n)
	for _, l := range labels {
		b.WriteString(l)
		b.WriteByte(0)
	}
	return b.String()
}

// FromKey is the inverse of [Key].
func FromKey(key string) []string {
	if key == "" {
		return []string{}
	}
	return strings.Split(strings.TrimSuffix(key, "\x00"), "\x00")
}

// Quoted lists words in order, each between single quotes, as messages do.
func Quoted[T ~string](words []T) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + string(word) + "'"
	}
	slices.Sort(quoted)
	return strings.Join(quoted, ", ")
}

// Check refuses what cannot be a label: empty, over most bytes, not UTF-8, with NUL.
func Check(field, text string, most int) error {
	switch {
	case text == "":
		return fmt.Errorf("%s must not be empty", field)
	case len(text) > most:
		return fmt.Errorf("%s is %d bytes long; the limit is %d: shorten it", field, len(text), most)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", field)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s must not contain a NUL character", field)
	}
	return nil
}

// Clip shortens a text to most bytes of valid UTF-8 without NUL.
func Clip(text string, most int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
