package retrieval

// segments takes in a text of ASCII, cut where Unicode has its word boundaries. Letters and digits in a row are one
// word, unless a sign follows that may join them to more; then, as in all other texts, Unicode's rules decide.
func (t *tokenizer) plainSegments(cut func(text string) int) {
	for start := 0; start < len(t.text); {
		c, end := t.text[start], start+1
		switch {
		case isWordByte(c):
			for end < len(t.text) && wordBytes[t.text[end]] {
				end++
			}
			if end < len(t.text) && mayJoin(t.text[end]) {
				end = start + cut(t.text[start:])
			}
			t.word(t.text[start:end], start)
		case c == '$':
			t.word(t.text[start:end], start)
		default:
			for c == ' ' && end < len(t.text) && t.text[end] == ' ' {
				end++
			}
			if c == '\r' && end < len(t.text) && t.text[end] == '\n' {
				end++
			}
			t.separator(t.text[start:end], start)
		}
		start = end
	}
}

// isWordByte reports whether a character is a letter, a digit, or the sign that joins them to a name.
func isWordByte(c byte) bool { return isLetter(c) || isDigit(c) || c == '_' }

// wordBytes are those of which [isWordByte] says so: it is asked for each byte of a text.
var wordBytes = func() (of [256]bool) {
	for c := range of {
		of[c] = isWordByte(byte(c))
	}
	return of
}()

// mayJoin reports whether words or numbers on both sides of a character may be one.
func mayJoin(c byte) bool { return c == '.' || c == ',' || c == ':' || c == ';' || c == '\'' }
