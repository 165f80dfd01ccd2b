// Package label brings the names that callers choose to their form: labels of a namespace
// as one text, templates of them, and tags.
package label

import (
	"fmt"
	"strings"
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
