package secret

import (
	"slices"
	"strings"
)

// keys are the ends of names whose value is a credential, in small letters and
// without signs: DB_PASSWORD, "client-secret" and "API key" all end in one.
var keys = []string{"password", "passwd", "passphrase", "passcode", "secret", "token", "apikey", "accesskey",
	"secretkey", "privatekey", "signingkey", "encryptionkey", "accountkey", "authkey", "masterkey", "secretkeybase", "credential"}

// shortKeys count only as a word of their own: compass ends in one, too.
var shortKeys = []string{"pass", "pwd", "psw"}

// maxKey is how far before a sign a name is looked for.
const maxKey = 48

// assignment returns the value that the sign at i, "=" or ":", gives to a name
// which says that it is a credential.
func (s *scanner) assignment(i int) (Span, bool) {
	name := s.name(i)
	if name.n == 0 {
		return Span{}, false
	}
	start := i + 1
	for start < len(s.text) && start < i+3 && strings.IndexByte("=>:", s.text[start]) >= 0 {
		start++
	}
	if name.endsIn("authorization") {
		return s.authorization(start)
	}
	if name.is("sig") { // a signed URL of Azure storage
		end := s.run(start, word) // percent signs part it
		for end < len(s.text) && (s.text[end] == '%' || s.class[s.text[end]]&std64 != 0) {
			end++
		}
		return Span{start, end}, end-start >= 40
	}
	if !name.secret() {
		return Span{}, false
	}
	return s.value(start, s.text[i] == '=')
}

// A name is what stands in front of a sign: its letters, small ones only.
type name struct {
	letters [maxKey]byte
	n       int // letters
	last    int // where the last word starts: what follows a space or another sign
}

// is reports whether the whole name is s.
func (n *name) is(s string) bool { return string(n.letters[:n.n]) == s }

// endsIn reports whether the name ends in s.
func (n *name) endsIn(s string) bool {
	return n.n >= len(s) && string(n.letters[n.n-len(s):n.n]) == s
}

// secret reports whether the name says that its value is a credential.
func (n *name) secret() bool {
	return slices.Contains(shortKeys, string(n.letters[n.last:n.n])) || slices.ContainsFunc(keys, n.endsIn)
}

// name returns the name in front of the sign at i.
func (s *scanner) name(i int) (found name) {
	end := i
	for end > 0 && i-end < 4 && strings.IndexByte(" \t\"'`\\]", s.text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < maxKey && (s.class[s.text[start-1]]&(url64|dot) != 0 || s.text[start-1] == ' ') {
		start--
	}
	pending := false
	for _, c := range []byte(s.text[start:end]) {
		class := s.class[c]
		if class&letter == 0 {
			pending = pending || class&digit == 0
			continue
		}
		if pending {
			found.last, pending = found.n, false
		}
		found.letters[found.n] = c | 0x20 // to a small letter
		found.n++
	}
	return found
}

// authorization returns the value of an Authorization header.
func (s *scanner) authorization(start int) (Span, bool) {
	start = s.open(start)
	end := s.run(start, word)
	switch strings.ToLower(s.text[start:end]) {
	case "bearer", "basic", "token", "apikey":
		start = s.open(end)
		end = s.run(start, token68|colon)
		return Span{start, end}, end-start >= 8
	}
	return s.value(start, true)
}

// flag returns the value of a command-line option such as --password.
func (s *scanner) flag(i int) (Span, bool) {
	if !strings.HasPrefix(s.text[i:], "--") || i > 0 && s.text[i-1] == '-' {
		return Span{}, false
	}
	end := s.look(i+2, ident|dash) // in a--a--a-- each option would look at all that follow
	if end-i > maxKey || end == i+2 || !strings.HasPrefix(s.text[end:], " ") {
		return Span{}, false // with a "=" it is an assignment
	}
	if name := s.name(end); !name.secret() {
		return Span{}, false
	}
	return s.value(end, false)
}

// open returns where a value starts that follows i: after spaces and a quote.
func (s *scanner) open(i int) int {
	for n := 0; n < 4 && i < len(s.text) && (s.text[i] == ' ' || s.text[i] == '\t'); n++ {
		i++
	}
	for n := 0; n < 4 && i < len(s.text) && strings.IndexByte("\"'`\\", s.text[i]) >= 0; n++ {
		i++
	}
	return i
}

// value returns the value that follows i if it looks like a credential. strict
// says that the syntax is that of a program, not one that prose uses, too.
func (s *scanner) value(i int, strict bool) (Span, bool) {
	start := s.open(i)
	quoted := start > i && strings.IndexByte("\"'`", s.text[start-1]) >= 0
	end := s.valueEnd(start, min(len(s.text), start+maxLook))
	if quoted && end < len(s.text) && s.text[end] == ' ' {
		return Span{}, false // a sentence in quotes
	}
	for !quoted && end > start && strings.IndexByte(".:?", s.text[end-1]) >= 0 {
		end--
	}
	v := s.text[start:end]
	ok := false
	if s.connection(start, strict) {
		ok = v != "" && v[0] != '[' && v[0] != '$' && v[0] != '{'
	} else {
		ok = s.plausible(v, strict || quoted)
	}
	if ok && end == start+maxLook {
		end = s.valueEnd(end, len(s.text))
	}
	return Span{start, end}, ok
}

// valueEnd returns where a value ends that goes on at i, at most limit.
func (s *scanner) valueEnd(i, limit int) int {
	for i < limit && s.text[i] > ' ' && strings.IndexByte("\"'`,;&<>)]}|\\", s.text[i]) < 0 {
		i++
	}
	return i
}

// connection reports whether the password that starts at i is part of a database
// connection string, where any value is one.
func (s *scanner) connection(i int, strict bool) bool {
	if !strict || s.text[i-1] != '=' {
		return false
	}
	before := strings.ToLower(s.text[max(0, i-160):i])
	if !strings.HasSuffix(before, "password=") && !strings.HasSuffix(before, "pwd=") {
		return false
	}
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ := strings.Cut(s.text[i:min(len(s.text), i+160)], "\n")
	line := before + strings.ToLower(after)
	for _, k := range []string{"host=", "server=", "data source=", "dbname="} {
		if strings.Contains(line, k) {
			return true
		}
	}
	return false
}

// plausible reports whether a value may be a credential: eight bytes or more, of
// digits and letters, or of letters that change case often. Paths, links,
// variables, calls, placeholders, dates and, in prose, words are none.
func (s *scanner) plausible(v string, strict bool) bool {
	if len(v) < 8 || strings.IndexByte("/~.$<{[(%*", v[0]) >= 0 || strings.IndexByte(v, '(') >= 0 ||
		strings.Contains(v, Redacted[1:len(Redacted)-1]) || strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") ||
		fileName(v) || s.date(v) {
		return false
	}
	var classes uint16
	changes := 0
	var last uint16
	for _, c := range []byte(v) {
		class := s.class[c] & word
		if class == 0 {
			class = dash // any sign
		}
		class &^= hexLetter
		if class != last && last != 0 {
			changes++
		}
		classes, last = classes|class, class
	}
	if classes&digit != 0 && classes&letter != 0 {
		return strict || !s.words(v)
	}
	if classes&digit == 0 && classes&lower != 0 && classes&upper != 0 {
		return changes >= 6 && !strings.Contains(v, ".")
	}
	return false
}

// words reports whether a value is words and numbers joined by signs, such as
// 8-character or 21st-birthday.
func (s *scanner) words(v string) bool {
	for len(v) > 0 {
		n := 0
		for n < len(v) && s.class[v[n]]&word == 0 {
			n++
		}
		v = v[n:]
		for n = 0; n < len(v) && s.class[v[n]]&word != 0; n++ {
		}
		part := strings.ToLower(v[:n])
		digits := strings.TrimLeft(strings.TrimPrefix(part, "v"), "0123456789")
		letters := strings.Trim(part, "abcdefghijklmnopqrstuvwxyz")
		ordinal := digits == "st" || digits == "nd" || digits == "rd" || digits == "th" || digits == "s"
		if digits != "" && letters != "" && !ordinal {
			return false
		}
		v = v[n:]
	}
	return true
}

// date reports whether a value begins like 2026-03-01.
func (s *scanner) date(v string) bool {
	const form = "0000-00-00"
	if len(v) < len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == '-' && v[i] != '-' || form[i] == '0' && s.class[v[i]]&digit == 0 {
			return false
		}
	}
	return true
}

func fileName(v string) bool {
	for _, end := range []string{".txt", ".md", ".json", ".yaml", ".yml", ".toml", ".env", ".pem", ".key", ".go", ".py", ".js", ".ts"} {
		if strings.HasSuffix(v, end) {
			return true
		}
	}
	return false
}
