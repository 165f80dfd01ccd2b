package retrieval

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxParts bounds the parts of one compound.
const maxParts = 16

// shape is what decides how a word is taken apart.
type shape struct {
	capital  bool // begins with a capital
	upper    bool // has a capital
	compound bool // may have parts: inner capitals, digits beside letters, dots, underscores
}

func shapeOf(word string) (s shape) {
	plain := 0
	for plain < len(word) && isSmallLetter(word[plain]) {
		plain++
	}
	if plain == len(word) { // mostly
		return s
	}
	letters, digits, inner, sign := plain > 0, false, false, false
	for i := plain; i < len(word); {
		r, width := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, width = utf8.DecodeRuneInString(word[i:])
		}
		switch {
		case 'a' <= r && r <= 'z':
			letters = true
		case 'A' <= r && r <= 'Z', r >= utf8.RuneSelf && unicode.IsUpper(r):
			s.upper, letters = true, true
			s.capital = s.capital || i == 0
			inner = inner || i > 0
		case '0' <= r && r <= '9':
			digits = true
		case r < utf8.RuneSelf:
			sign = true
		}
		i += width
	}
	s.compound = sign || inner || letters && digits
	return s
}

// parts yields what a compound can also be asked for by.
func (t *tokenizer) parts(word, lower string) {
	switch kind := strings.IndexFunc(word, unicode.IsLetter); {
	case kind < 0: // 1,000 is 1000; 3.14 has no parts
		if strings.Contains(word, ",") {
			t.emit(strings.ReplaceAll(word, ",", ""), Joined)
		}
		return
	case kind == 0 && len(word) > 2 && isVersion(word[1:]): // v1.2.3
		t.emit(word[1:], Joined)
		return
	}
	parts := splitCompound(word, false)
	if !t.query {
		for _, p := range parts {
			if numbered := splitCompound(p, true); len(numbered) > 1 {
				parts = append(parts, numbered...)
			}
		}
	}
	if len(parts) < 2 {
		return
	}
	if parts[0] == word {
		parts = parts[1:]
	}
	initials := true
	for _, p := range parts {
		initials = initials && len(p) == 1
	}
	if initials { // p.m. is pm; U.S. is the name, not "us"
		joined := strings.ReplaceAll(lower, ".", "")
		if stopWords[joined] {
			t.emit(strings.ToUpper(joined), Name)
		} else if joined != lower {
			t.emit(joined, Joined)
		}
		return
	}
	for _, p := range parts {
		if p = strings.ToLower(p); !ordinals[p] && (len(p) > 1 || isDigit(p[0])) {
			t.emit(p, Part)
		}
	}
}

// ordinals follow a number and say nothing alone.
var ordinals = wordSet("st nd rd th")

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isVersion reports whether text is numbers with dots between them.
func isVersion(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) && text[i] != '.' {
			return false
		}
	}
	return isDigit(text[0]) && strings.Contains(text, ".")
}

// splitCompound cuts a word at signs, before inner capitals, and between letters
// and digits: getHTTPServer is get, HTTP, Server; iphone15 and 5km are two. B2B,
// x86 and the plural URLs stay whole. numbered cuts words with a number behind:
// not in a query, since who asks for room12 does not want room13.
func splitCompound(word string, numbered bool) (parts []string) {
	start := 0
	cut := func(end int) {
		if end > start && len(parts) < maxParts {
			parts = append(parts, word[start:end])
		}
		start = end
	}
	var before sort // of the last character
	length := 0     // characters of that sort
	for i, r := range word {
		now := sortOf(r)
		switch {
		case now == sign:
			cut(i)
			start = i + utf8.RuneLen(r)
		case before == sign || i == 0:
		case now == digit && before != digit && i-start >= 3 && numbered,
			now != digit && before == digit && isDigit(word[start]),
			now == capital && before == small:
			cut(i)
		case now == small && before == capital && length > 1 && word[i:] != "s":
			_, width := utf8.DecodeLastRuneInString(word[:i])
			cut(i - width)
		}
		if now == before {
			length++
		} else {
			before, length = now, 1
		}
	}
	cut(len(word))
	return parts
}

// sort is what matters of a character inside a compound.
type sort uint8

const (
	small sort = iota // a letter that is no capital
	capital
	digit
	sign
)

func sortOf(r rune) sort {
	switch {
	case 'a' <= r && r <= 'z':
		return small
	case '0' <= r && r <= '9':
		return digit
	case 'A' <= r && r <= 'Z', r >= utf8.RuneSelf && unicode.IsUpper(r):
		return capital
	case r < utf8.RuneSelf:
		return sign
	}
	return small
}

// separator takes in a segment that is no word: signs that join words (e-mail,
// 10:30, AT&T), signs that belong to one (C++, C#, .NET), ends of sentences, spaces.
func (t *tokenizer) separator(segment string, start int) {
	if segment[0] == ' ' { // mostly: it joins nothing, and begins no sentence
		t.endChain()
		return
	}
	end := start + len(segment)
	joined := start == t.chainEnd && len(t.chain) > 0
	c := segment[0]
	if segment == "‐" || segment == "‑" { // hyphens that are not ASCII
		c = '-'
	}
	switch {
	case (c == '+' || c == '#') && joined && !t.open:
		t.symbol(start)
	case strings.IndexByte("-/&:", c) >= 0 && joined && !t.open && (t.sign == 0 || t.sign == c):
		t.sign, t.open, t.chainEnd = c, true, end
	default:
		t.endChain()
	}
	if c == '.' && (start == 0 || t.text[start-1] == ' ' || t.text[start-1] == '\n') {
		t.dot = end
	}
	if opens(segment, c) {
		t.opening = true
	}
}

// opens reports whether a word behind a segment, which begins with c, begins a sentence or
// a part of one.
func opens(segment string, c byte) bool {
	switch segment {
	case "…", "“", "•", "–", "—":
		return true
	}
	return strings.IndexByte(".!?:\n\r\"([{*•“«", c) >= 0
}

// symbol yields "c++", "c#" and the like: a word with signs that no word follows.
func (t *tokenizer) symbol(start int) {
	end := start
	for end < len(t.text) && (t.text[end] == '+' || t.text[end] == '#') {
		end++
	}
	last := t.chain[len(t.chain)-1]
	after, _ := utf8.DecodeRuneInString(t.text[end:])
	if end-start <= 2 && !unicode.IsLetter(after) && !unicode.IsNumber(after) && allLetters(last) {
		t.emit(last+t.text[start:end], Joined)
	}
	t.endChain()
}

// link adds a word to the chain it stands in, or begins one.
func (t *tokenizer) link(lower string, start, end int) {
	if !t.open || start != t.chainEnd {
		t.endChain()
	}
	t.chain = append(t.chain, lower)
	t.chainEnd, t.open = end, false
}

// endChain yields the words of a chain as one. Letters with hyphens or slashes are
// written together (email, wellknown, acdc); anything with a digit keeps its signs
// (2024-05-01, 10:30).
func (t *tokenizer) endChain() {
	chain, sign := t.chain, t.sign
	t.chain, t.sign, t.open = t.chain[:0], 0, false
	if len(chain) < 2 || len(chain) > maxParts {
		return
	}
	letters, digits, size := true, false, 0
	for _, word := range chain {
		letters = letters && allLetters(word)
		digits = digits || strings.ContainsAny(word, "0123456789")
		size += len(word)
	}
	switch {
	case digits || sign == '&':
		t.emit(strings.Join(chain, string(rune(sign))), Joined)
		if plain := strings.Join(chain, ""); digits && strings.ContainsFunc(plain, unicode.IsLetter) {
			t.yield(Token{Text: truncate(plain), Kind: Joined, optional: true})
		}
	case !letters:
	case sign == '-' && len(chain) <= 4, sign == '/' && len(chain) == 2 && size <= 8:
		t.emit(strings.Join(chain, ""), Joined)
		if n := number(chain); n != "" {
			t.yield(Token{Text: n, Kind: Joined, optional: true})
		}
	}
}

func allLetters(text string) bool {
	for _, r := range text {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}
