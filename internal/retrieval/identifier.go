package retrieval

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leastPart is the length from which on the parts of a camelCase name are words of
// their own. Shorter ones belong to names such as iPhone and macOS.
const leastPart = 3

// Words writes a name as words: favorite_color and favoriteColor are "favorite color".
// What begins with a capital, such as GitHub, stays whole: analysis gives its parts.
func Words(name string) string {
	var words []string
	for _, w := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || unicode.IsSpace(r) }) {
		parts := splitCompound(w, false)
		first, _ := utf8.DecodeRuneInString(w)
		short := slices.ContainsFunc(parts, func(p string) bool { return len(p) < leastPart })
		if sortOf(first) != small || short || strings.ContainsFunc(w, isSign) {
			parts = []string{w}
		}
		for i := 1; i < len(parts); i++ {
			parts[i] = strings.ToLower(parts[i])
		}
		words = append(words, parts...)
	}
	return strings.Join(words, " ")
}

func isSign(r rune) bool { return sortOf(r) == sign }
