package secret

import "strings"

// privateKey returns the PEM block that starts at i, up to its last line, or as
// far as it goes when the text was cut.
func (s *scanner) privateKey(i int) (Span, bool) {
	const begin, rule = "-----BEGIN ", "-----"
	if !strings.HasPrefix(s.text[i:], begin) {
		return Span{}, false
	}
	label := s.text[i+len(begin) : min(len(s.text), i+len(begin)+64)]
	label, _, closed := strings.Cut(label, rule)
	if !closed || !strings.HasSuffix(strings.TrimSuffix(label, " BLOCK"), "PRIVATE KEY") {
		return Span{}, false
	}
	start := i + len(begin) + len(label) + len(rule)
	if n := strings.Index(s.text[start:], rule); n >= 0 && strings.HasPrefix(s.text[start+n:], "-----END ") {
		stop := strings.Index(s.text[start+n+len(rule):min(len(s.text), start+n+80)], rule)
		if stop >= 0 && s.keyBody(start) > start {
			return Span{i, start + n + len(rule) + stop + len(rule)}, true
		}
	}
	if end := s.keyBody(start); end > start {
		return Span{i, end}, true
	}
	return Span{}, false
}

// maxHeaders bounds the headers of a key: what looks like one may hold the beginning of
// another key, whose headers would then be all that follow.
const maxHeaders = 16

// keyBody returns the end of the lines of base64 and of headers from start on;
// start itself if there are none. Lines may be parted by an escaped \n.
func (s *scanner) keyBody(start int) int {
	end, headers := start, 0
	for i := s.skipSpace(start); i < len(s.text); i = s.skipSpace(i) {
		stop := s.run(i, std64)
		if line := s.headerEnd(stop); end == start && stop > i && line > 0 && headers < maxHeaders {
			i, headers = line, headers+1
			continue
		}
		if !s.keyLine(i, stop) {
			return end
		}
		i, end = stop, stop
	}
	return end
}

// keyLine reports whether the base64 from i to stop is a line of a key: words of
// that length are rare in prose. The last line may be short; it ends with the
// padding, the text or the block.
func (s *scanner) keyLine(i, stop int) bool {
	return stop-i >= 24 || stop > i &&
		(s.text[stop-1] == '=' || stop == len(s.text) || strings.HasPrefix(s.text[s.skipSpace(stop):], "-----END "))
}

// headerEnd returns where the line of a header, such as Proc-Type, ends whose
// name or first part ends at i; 0 if there is none.
func (s *scanner) headerEnd(i int) int {
	rest := s.text[i:min(len(s.text), i+100)]
	if !strings.HasPrefix(rest, "-") && !strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "--") {
		return 0
	}
	if n := strings.IndexAny(rest, "\n\\"); n > 0 {
		return i + n
	}
	return 0
}

// skipSpace returns the first index from i on that is neither white space nor
// part of an escaped line end.
func (s *scanner) skipSpace(i int) int {
	for ; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
		case c == '\\' && i+1 < len(s.text) && (s.text[i+1] == 'n' || s.text[i+1] == 'r'):
			i++
		default:
			return i
		}
	}
	return i
}
