package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// bareScripts are those whose marks a reader does not need: accents of Latin and
// Greek, vowels of Arabic and Hebrew. In Indic scripts marks are letters.
var bareScripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Arabic, unicode.Hebrew}

// arabicForms are letters of Arabic and Persian that many write in place of others.
var arabicForms = map[rune]rune{'ى': 'ي', 'ة': 'ه', 'ی': 'ي', 'ک': 'ك', 'ٱ': 'ا'}

// fold brings text to the form in which words are compared, except for its
// capitals, which tell names and the parts of identifiers.
func fold(text string) string {
	ascii := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return text
	}
	text = norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(text))
	bare := false
	for _, r := range norm.NFD.String(text) {
		switch {
		case r < utf8.RuneSelf:
			bare = true
			b.WriteByte(byte(r))
		case unicode.Is(unicode.Mn, r):
			// ❤ is the same with and without the request to show it in colour.
			if !bare && !unicode.Is(unicode.Variation_Selector, r) {
				b.WriteRune(r)
			}
		case '\U0001F3FB' <= r && r <= '\U0001F3FF': // the colour of a hand or a face
		case r == 'ß' || r == 'ẞ':
			bare = true
			b.WriteString("ss")
		case r == 'ς':
			bare = true
			b.WriteRune('σ')
		case r == 'ـ': // stretches an Arabic word
		case arabicForms[r] != 0: // often written for one another
			bare = true
			b.WriteRune(arabicForms[r])
		default:
			bare = unicode.In(r, bareScripts...)
			b.WriteRune(simplified(r))
		}
	}
	return norm.NFC.String(b.String())
}
