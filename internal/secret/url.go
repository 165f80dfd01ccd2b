package secret

import "strings"

// maxAuthority bounds how far a URL's user may go, to the first "@".
const maxAuthority = 1024

// authority is the beginning of a text up to what cannot stand in a URL's user and host.
func authority(text string) string {
	if n := strings.IndexAny(text, "/?# \t\r\n\"'`<>\\"); n >= 0 {
		return text[:n]
	}
	return text
}

// urlPassword returns the password in the URL whose "://" starts at i.
func (s *scanner) urlPassword(i int) (Span, bool) {
	if !strings.HasPrefix(s.text[i:], "://") || i == 0 || s.class[s.text[i-1]]&word == 0 {
		return Span{}, false
	}
	start := i + len("://")
	rest := authority(s.text[start:min(len(s.text), start+maxAuthority)])
	if len(rest) == maxAuthority && strings.Contains(rest, "@") { // or each pass would take away no more than this
		rest = authority(s.text[start:])
	}
	user, ok := cutLast(rest, '@') // a password that was not escaped may hold an "@"
	if !ok {
		return Span{}, false
	}
	name, password, ok := strings.Cut(user, ":")
	if !ok || !literal(password) {
		return Span{}, false
	}
	start += len(name) + 1
	return Span{start, start + len(password)}, true
}

// driverPassword returns the password of a MySQL driver's address around the "@"
// at i: user:password@tcp(host:port)/name.
func (s *scanner) driverPassword(i int) (Span, bool) {
	if !strings.HasPrefix(s.text[i:], "@tcp(") && !strings.HasPrefix(s.text[i:], "@unix(") {
		return Span{}, false
	}
	from := max(s.previous(), i-256)
	before := s.text[from:i]
	if n := strings.LastIndexAny(before, " \t\r\n\"'`<>=("); n >= 0 {
		before = before[n+1:]
	}
	name, password, ok := strings.Cut(before, ":")
	if !ok || name == "" || !literal(password) {
		return Span{}, false
	}
	return Span{i - len(password), i}, true
}

// literal reports whether a password stands for itself, not for a variable.
func literal(password string) bool {
	return password != "" && password != Redacted &&
		!strings.HasPrefix(password, "${") && !strings.HasPrefix(password, "{") && !strings.HasPrefix(password, "$(")
}

func cutLast(s string, sep byte) (before string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return "", false
	}
	return s[:i], true
}
