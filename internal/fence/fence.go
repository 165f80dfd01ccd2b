// Package fence makes stored texts safe to stand in a block with instructions around it, and in
// a query.
package fence

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes a stored text safe to stand in one line of a block that is read as
// Markdown, or as plain text, with instructions around it. It cannot begin a
// line, a heading, a list item, a quotation, a table or a fence of code, it has no
// tag or special token of a model, and nothing in it is invisible or changes the
// direction of writing. What it says stays readable.
func Text(text string) string {
	text = inline(visible(text))
	if text != "" && strings.IndexByte("#-+*>=|[~`_:", text[0]) >= 0 {
		return `\` + text
	}
	// "1." and "1)" begin a list.
	if rest := strings.TrimLeft(text, "0123456789"); rest != text && rest != "" && (rest[0] == '.' || rest[0] == ')') &&
		(len(rest) == 1 || rest[1] == ' ') {
		return text[:len(text)-len(rest)] + `\` + rest
	}
	return text
}

// Label is Text for a text that stands in [brackets]: it has none itself.
func Label(text string) string {
	return strings.NewReplacer("[", "(", "]", ")").Replace(inline(visible(text)))
}

// Key is what stands before the text of a fact with a key wherever one line shows both,
// "[user] [favorite_color]: "; "" for a note, which has none.
func Key(subject, predicate string) string {
	if subject == "" && predicate == "" {
		return ""
	}
	return "[" + Label(subject) + "] [" + Label(predicate) + "]: "
}

// inline escapes what has a meaning wherever it stands: fences of code and tags.
func inline(text string) string {
	if strings.IndexByte(text, '`') < 0 && strings.IndexByte(text, '~') < 0 && strings.IndexByte(text, '<') < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 8)
	run := rune(0) // the character of the fence that is being escaped
	for i, r := range text {
		if r != run {
			run = 0
		}
		switch {
		case (r == '`' || r == '~') && (run == r || strings.HasPrefix(text[i:], strings.Repeat(string(r), 3))):
			run = r
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '<' && beginsTag(text[i+1:]):
			b.WriteString("&lt;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// beginsTag reports whether what follows a "<" makes it a tag of HTML or XML, or a
// special token of a model such as <|end|>.
func beginsTag(rest string) bool {
	if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) {
		return true
	}
	rest = strings.TrimLeft(rest, " ")
	return rest != "" && strings.IndexByte("/!?|", rest[0]) >= 0 // never a look at all of rest, for each "<"
}

// visible folds white space of every kind, line ends among it, into single spaces
// and removes what cannot be seen: control, format and bidirectional characters,
// variation selectors, fillers and private characters.
func visible(text string) string {
	plain := plainStart(text)
	if plain == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	b.WriteString(text[:plain])
	space := false
	for _, r := range text[plain:] {
		switch {
		case '!' <= r && r <= '~': // most are; the tables below cost much more than this
		case unicode.IsSpace(r) || unicode.Is(unicode.Z, r):
			space = b.Len() > 0
			continue
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Noncharacter_Code_Point,
			unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// plainStart is the length of the start of a text that stays as it is: signs of ASCII with single spaces between them.
func plainStart(text string) int {
	start, signs := 0, []byte(text) // start: behind the last sign
	for i := 0; i < len(signs); {
		if i == start && i+8 <= len(signs) && signs[0] != ' ' && plainEight(binary.LittleEndian.Uint64(signs[i:])) {
			if start, i = i+8, i+8; signs[i-1] == ' ' {
				start--
			}
			continue
		}
		switch c := signs[i]; {
		case '!' <= c && c <= '~':
			start = i + 1
		case c != ' ' || i == 0 || start < i:
			return start
		}
		i++
	}
	return start
}

// plainEight reports whether eight bytes are signs of ASCII and spaces, no two of which stand together. No sum below
// has more than eight bits, if they are of ASCII.
func plainEight(eight uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	spaces := ^((eight ^ ' '*each) + 0x7f*each) & high // of each byte that is one
	return (eight|^(eight+(0x80-' ')*each)|(eight+each))&high|spaces&(spaces<<8) == 0
}

// Query is the beginning of a text, up to most bytes, without what a query gives a meaning
// to: a text that is searched by its own words quotes nothing and leaves no word open.
func Query(text string, most int) string {
	return strings.TrimSpace(Without(querySigns, Clip(text, most)))
}

// querySigns are those that mean something in a query.
const querySigns = "\"*“”„«»"

// Clip is the beginning of a text, up to most bytes of whole characters.
func Clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > max(0, most-utf8.UTFMax) && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// isWordSign reports whether a character is a space, a letter or a digit, which nobody asks to have taken out.
func isWordSign(c byte) bool {
	return c == ' ' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// Without puts a space in the place of each of some signs. The text gets no longer.
func Without(signs, text string) string {
	plain := 0 // bytes that are none: nearly all texts have no others
	for plain < len(text) && text[plain] < utf8.RuneSelf &&
		(isWordSign(text[plain]) || strings.IndexByte(signs, text[plain]) < 0) {
		plain++
	}
	if plain == len(text) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(signs, r) {
			return ' '
		}
		return r
	}, text)
}
