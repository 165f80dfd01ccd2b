package label

import (
	"slices"
	"strings"
)

// IsVariable returns the name of the variable that a label of a template stands for: the
// label is exactly "{name}".
func IsVariable(label string) (name string, ok bool) {
	if strings.HasPrefix(label, "{") && strings.HasSuffix(label, "}") && len(label) >= 2 {
		return label[1 : len(label)-1], true
	}
	return "", false
}

// Fill puts the values of variables in their places. missing is the first one without a
// value, if any: an empty one would lead to the place of somebody else.
func Fill(template []string, values map[string]string) (labels []string, missing string) {
	labels = slices.Clone(template)
	for i, label := range template {
		if name, ok := IsVariable(label); ok {
			if labels[i] = values[name]; labels[i] == "" {
				return nil, name
			}
		}
	}
	return labels, ""
}
