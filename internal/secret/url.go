package secret

import "strings"

// maxAuthority bounds how far a URL's user and host may go.
const maxAuthority = 1024

// urlPassword returns the password in the URL whose "://" starts at i.
func (s *scanner) urlPassword(i int) (Span, bool) {
	if !strings.HasPrefix(s.text[i:], "://") || i == 0 || s.class[s.text[i-1]]&word == 0 {
		return Span{}, false
	}
	start := i + len("://")
	rest := s.text[start:min(len(s.text), start+maxAuthority)]
	if n := strings.IndexAny(rest, "/?# \t\r\n\"'`<>\\"); n >= 0 {
		rest = rest[:n]
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
