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

// Fill puts the values of variables in their places. missing names the first variable
// without a value, if there is one: an empty value would lead to somebody else's place.
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
