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
func fold(text string) string { return folds.fold(text) }

// FoldWords brings a text to the form in which words are compared: one form of Unicode, in small letters, without the marks that a
// reader does not need, and in simplified characters.
func FoldWords(text string) string { return wordFolds.fold(text) }

var (
	folds     = newFolder(func(folded string) string { return folded })
	wordFolds = newFolder(func(folded string) string { return ligatures.Replace(strings.ToLower(folded)) })
)

var ligatures = strings.NewReplacer("œ", "oe", "æ", "ae")

// A folder folds texts. What becomes of most characters does not depend on those around them, so that it is
// remembered: to bring a text to two normal forms and back costs ten times as much.
type folder struct {
	finish func(folded string) string // of each character by itself
	of     *Characters
}

// What is remembered of a character: the one or two that it becomes, and this.
const (
	secondAt  = 21              // where the second begins
	foldMask  = 1<<secondAt - 1 // of either
	vanishes  = uint64(1) << 59 // nothing is left of it where marks vanish, whatever it joins to
	isFixed   = uint64(1) << 60 // what it becomes does not depend on its neighbours
	isMark    = uint64(1) << 61 // but that it vanishes where marks do
	leavesOff = uint64(1) << 62 // marks behind it vanish
	isKnown   = uint64(1) << 63 // it was asked
)

func newFolder(finish func(string) string) *folder {
	f := &folder{finish: finish}
	f.of = NewCharacters(f.look)
	return f
}

// look is what is remembered of a character. One is fixed that no form joins to what stands before it.
func (f *folder) look(r rune) uint64 {
	text := string(r)
	if !strings.ContainsFunc(norm.NFKD.String(text), func(r rune) bool { return !unicode.Is(unicode.Mn, r) }) {
		return isKnown | vanishes | f.lookMark(r, text)
	}
	for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		if !form.PropertiesString(text).BoundaryBefore() {
			return isKnown
		}
	}
	first, _ := utf8.DecodeRuneInString(norm.NFKD.String(text))
	folded, bare := foldSlowly(text)
	became := []rune(f.finish(folded))
	switch {
	case len(became) == 0, len(became) > 2, !norm.NFC.PropertiesString(folded).BoundaryBefore():
		return isKnown
	case unicode.Is(unicode.Mn, first):
		return isKnown
	}
	known := isKnown | isFixed | uint64(became[0])
	if len(became) == 2 {
		known |= uint64(became[1]) << secondAt
	}
	if bare {
		known |= leavesOff
	}
	return known
}

// lookMark is what else is remembered of a mark.
func (f *folder) lookMark(r rune, text string) uint64 {
	for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		if !form.PropertiesString(text).BoundaryBefore() {
			return 0
		}
	}
	if folded, _ := foldSlowly(text); norm.NFKD.IsNormalString(text) && f.finish(folded) == text {
		return isFixed | isMark | uint64(r)
	}
	return 0
}

func (f *folder) fold(text string) string {
	start := 0
	for start < len(text) && text[start] < utf8.RuneSelf {
		start++
	}
	if start == len(text) {
		return f.finish(text)
	}
	out := make([]byte, 0, len(text)+8)
	bare := false
	base, baseOut := 0, 0 // of the last character that is fixed and no mark: in the text, and in out
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		known := f.known(r, size)
		switch {
		case bare && known&vanishes != 0:
		case known&isFixed == 0:
			// With what stands before and behind it, to the next one that is fixed.
			for i += size; i < len(text); i += size {
				r, size = utf8.DecodeRuneInString(text[i:])
				if known := f.known(r, size); known&(isFixed|isMark) == isFixed {
					break
				}
			}
			var folded string
			folded, bare = foldSlowly(text[base:i])
			out = append(out[:baseOut], f.finish(folded)...)
			continue
		case known&isMark != 0:
			out = append(out, text[i:i+size]...)
		default:
			base, baseOut, bare = i, len(out), known&leavesOff != 0
			out = utf8.AppendRune(out, rune(known&foldMask))
			if second := known >> secondAt & foldMask; second != 0 {
				out = utf8.AppendRune(out, rune(second))
			}
		}
		i += size
	}
	return string(out)
}

// known is what is remembered of a character of a text that has so many bytes there.
func (f *folder) known(r rune, size int) uint64 {
	if r == utf8.RuneError && size == 1 { // no character at all
		return isKnown
	}
	return f.of.Of(r)
}

// foldSlowly is fold of any text; bare: marks behind it would vanish.
func foldSlowly(text string) (folded string, bare bool) {
	text = norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD"))
	var b strings.Builder
	b.Grow(len(text))
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
	return norm.NFC.String(b.String()), bare
}
