package label

import (
	"strings"
	"unicode"
)

// Blank reports whether nothing of a text can be seen: it has only white space, controls, and
// characters that Unicode gives no form of their own, such as U+200B and the fillers of Hangul.
func Blank(text string) bool { return strings.IndexFunc(text, visible) < 0 }

// Hidden reports whether some character of a text cannot be seen, but for spaces: then it may look
// like another one.
func Hidden(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != ' ' && !visible(r) })
}

const brailleBlank = '\u2800' // a letter to Unicode, and empty in every font

func visible(r rune) bool {
	return r != brailleBlank && !unicode.IsSpace(r) &&
		!unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
