// Package secret removes credentials from texts before they are stored.
//
// It knows the formats that can be told from prose: tokens with a registered
// prefix, private key blocks, JSON web tokens, Authorization values, passwords in
// URLs and connection strings, and assignments such as api_key = … whose value
// looks random. A password told in a sentence is not found.
//
// The scanner is one pass of plain Go over the bytes. The rule sets of leak
// scanners were considered and left: gitleaks as a library brings hundreds of
// dependencies and regular expressions, and seconds of start-up.
package secret

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Redacted stands where a credential was.
const Redacted = "[REDACTED]"

// A Span is the bytes of a text from Start up to but not including End.
type Span struct{ Start, End int }

// Redact returns the text with every credential that [Find] sees replaced by
// [Redacted]. Text without one is returned as it is, without a copy. Redacting
// twice changes nothing.
func Redact(text string) string {
	// What stands next to a credential can look like another one once that is
	// gone, so the passes go on until nothing is found. Each pass leaves less of
	// the original, and the second one nearly always finds nothing.
	for pass := 1; ; pass++ {
		spans := Find(text)
		if len(spans) == 0 {
			return text
		}
		if pass > maxPasses {
			spans = widen(text, spans, maxLook<<(pass-maxPasses))
		}
		var out strings.Builder
		out.Grow(len(text))
		from := 0
		for _, s := range spans {
			out.WriteString(text[from:s.Start])
			out.WriteString(Redacted)
			from = s.End
		}
		out.WriteString(text[from:])
		text = out.String()
	}
}

// maxPasses is how many passes may take what they find alone. pwd=pwd=pwd=…host=x gives each of them a few
// bytes more, so that there would be as many as the text is long. Those that follow take twice as much around it
// each: nobody misses what stands there.
const maxPasses = 8

// widen adds up to so many bytes to both sides of each span, and joins those that touch.
func widen(text string, spans []Span, by int) []Span {
	var wide []Span
	for _, s := range spans {
		s.Start, s.End = max(0, s.Start-by), min(len(text), s.End+by)
		for s.Start > 0 && !utf8.RuneStart(text[s.Start]) {
			s.Start--
		}
		for s.End < len(text) && !utf8.RuneStart(text[s.End]) {
			s.End++
		}
		if n := len(wide); n > 0 && wide[n-1].End >= s.Start {
			wide[n-1].End = s.End
			continue
		}
		wide = append(wide, s)
	}
	return wide
}

// Find returns where credentials stand in a text, in order and without overlap.
// It takes time linear in the length of the text.
func Find(text string) []Span {
	s := scanner{text: text, tables: loadTables()}
	for i := 0; i < len(text); {
		class := s.class[text[i]]
		if class == 0 {
			i++
			continue
		}
		span, ok := s.at(i, class)
		if !ok {
			i++
			if class&word != 0 {
				i = s.run(i, word) // no credential starts inside a word
			}
			continue
		}
		s.found = append(s.found, span)
		i = max(i+1, span.End)
	}
	return s.found
}

// Classes of bytes. A byte with none of them ends every token.
const (
	lower uint16 = 1 << iota
	upper
	digit
	hexLetter // a to f
	underscore
	dash
	dot
	slash
	plus
	equals
	colon
	at
	tilde

	letter   = lower | upper
	word     = letter | digit
	ident    = word | underscore
	hex      = digit | hexLetter
	url64    = word | underscore | dash // the alphabet of base64url
	std64    = word | plus | slash | equals
	token68  = url64 | dot | tilde | plus | slash | equals // RFC 7235
	triggers = equals | colon | at | dash
)

// tables are what the scanner looks up; made at the first use, so that starting
// a program pays nothing.
type tables struct {
	class   [256]uint16
	formats [256][]format   // by the first byte of the prefix
	pairs   [1 << 10]uint64 // a bit for each first two bytes of a prefix
}

var loadTables = sync.OnceValue(func() *tables {
	t := new(tables)
	for c := range t.class {
		switch {
		case 'a' <= c && c <= 'f':
			t.class[c] = lower | hexLetter
		case 'g' <= c && c <= 'z':
			t.class[c] = lower
		case 'A' <= c && c <= 'Z':
			t.class[c] = upper
		case '0' <= c && c <= '9':
			t.class[c] = digit
		}
	}
	for c, class := range map[byte]uint16{'_': underscore, '-': dash, '.': dot, '/': slash,
		'+': plus, '=': equals, ':': colon, '@': at, '~': tilde} {
		t.class[c] = class
	}
	for _, f := range formats() {
		t.formats[f.prefix[0]] = append(t.formats[f.prefix[0]], f)
		t.pairs[uint(f.prefix[0])<<2|uint(f.prefix[1])>>6] |= 1 << (f.prefix[1] & 63)
	}
	return t
})

// A scanner looks through one text.
type scanner struct {
	*tables
	text  string
	found []Span
}

// at returns the credential that the byte at i announces: the first of a word, or
// a sign.
func (s *scanner) at(i int, class uint16) (Span, bool) {
	switch {
	case class&word != 0:
		span, ok := s.token(i)
		// An escape such as \n in front of a token looks like its first letter.
		if !ok && i > 0 && s.text[i-1] == '\\' && i+1 < len(s.text) {
			return s.token(i + 1)
		}
		return span, ok
	case class&triggers == 0:
		return Span{}, false
	case class == dash:
		if span, ok := s.privateKey(i); ok {
			return span, true
		}
		return s.flag(i)
	case class == at:
		return s.driverPassword(i)
	case class == colon:
		if span, ok := s.urlPassword(i); ok {
			return span, true
		}
		if span, ok := s.telegram(i); ok {
			return span, true
		}
	}
	return s.assignment(i)
}

// run returns the end of the bytes from i on that are of the given classes.
func (s *scanner) run(i int, classes uint16) int {
	for i < len(s.text) && s.class[s.text[i]]&classes != 0 {
		i++
	}
	return i
}

// maxLook bounds how much of a candidate is looked at to judge it, so that texts of
// many overlapping candidates take linear time. An accepted one is taken whole.
const maxLook = 256

// look is run for at most maxLook bytes.
func (s *scanner) look(i int, classes uint16) int {
	short := scanner{tables: s.tables, text: s.text[:min(len(s.text), i+maxLook)]}
	return short.run(i, classes)
}

// all returns the classes that occur in the bytes from start to end.
func (s *scanner) all(start, end int) (classes uint16) {
	for _, c := range []byte(s.text[start:end]) {
		classes |= s.class[c]
	}
	return classes
}

// previous returns the end of the last credential found: nothing reaches back
// behind it.
func (s *scanner) previous() int {
	if len(s.found) == 0 {
		return 0
	}
	return s.found[len(s.found)-1].End
}
