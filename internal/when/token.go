package when

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A token is a part of a text that may belong to a time.
type token struct {
	from, to int
	word     string    // in small letters without marks; "" of a number
	number   int       // of digits, and of Chinese numerals
	digits   int       // how many
	date     time.Time // of 2023-08-23 and the like, in no time zone
	whole    unit      // what the date is: a day, a month
	letters  byte      // that tell a language
	stops    bool      // a full stop, a question mark, a bracket: no time goes on behind it
}

// tokenize takes a text apart. Nil: nothing in it can be a time.
func tokenize(text string) (out []token) {
	tells := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r >= '0' && r <= '9':
			t := numeric(text, i)
			out = append(out, t)
			tells = true
			i = t.to
		case isCJK(r):
			t := ideographic(text, i)
			t.letters = lettersOf(r)
			tells = tells || known[t.word]&telling != 0
			out = append(out, t)
			i = t.to
		case unicode.IsLetter(r):
			end := i
			for end < len(text) {
				r, size := utf8.DecodeRuneInString(text[end:])
				if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) || isCJK(r) {
					break
				}
				end += size
			}
			t := token{from: i, to: end, word: folded(text[i:end])}
			tells = tells || known[t.word]&telling != 0
			if n := len(out); t.word == "a" && n > 1 && out[n-1].word == "y" && out[n-2].word == "il" {
				t.word, t.from, out = "ilya", out[n-2].from, out[:n-2]
				tells = true
			}
			out = append(out, t)
			i = end
		default:
			if strings.ContainsRune(".!?;()[]\n。！？；", r) {
				out = append(out, token{from: i, to: i + size, stops: true})
			}
			i += size
		}
	}
	if !tells {
		return nil
	}
	return out
}

// numeric reads digits, and a date in digits.
func numeric(text string, i int) token {
	if t, ok := date(text, i); ok {
		return t
	}
	end := i
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	t := token{from: i, to: end, digits: end - i}
	for _, c := range text[i:min(end, i+9)] {
		t.number = t.number*10 + int(c-'0')
	}
	// 3rd, 1er, 3ª; and the full stop of German ordinals, where a word follows: "am 3. Mai".
	rest := text[end:]
	for _, suffix := range []string{"st", "nd", "rd", "th", "er", "ª", "º"} {
		after := strings.TrimPrefix(rest, suffix)
		if next, _ := utf8.DecodeRuneInString(after); len(after) < len(rest) && !unicode.IsLetter(next) {
			t.to += len(suffix)
			return t
		}
	}
	if t.digits <= 2 && strings.HasPrefix(rest, ". ") {
		if next, _ := utf8.DecodeRuneInString(rest[2:]); unicode.IsLetter(next) {
			t.to++
		}
	}
	return t
}

// date reads 2023-08-23, 2023/8/23, 2023-08, 23.08.2023, 8/23/2023 and 23/8/2023. With
// slashes the month comes first if it can be one; with other signs the day does.
func date(text string, i int) (token, bool) {
	var parts [3]int
	var digits [3]int
	var sign byte
	at, n := i, 0
	for n < 3 {
		start := at
		for at < len(text) && at-start < 5 && text[at] >= '0' && text[at] <= '9' {
			parts[n] = parts[n]*10 + int(text[at]-'0')
			at++
		}
		if digits[n] = at - start; digits[n] == 0 {
			at = start - 1 // the sign before belongs to no date
			break
		}
		n++
		if n == 3 || at >= len(text) || !strings.ContainsRune("-/.", rune(text[at])) || n == 2 && text[at] != sign {
			break
		}
		sign = text[at]
		at++
	}
	if rest := text[at:]; len(rest) > 1 && strings.ContainsRune("-/.", rune(rest[0])) && rest[1] >= '0' && rest[1] <= '9' {
		return token{}, false // the number of a version
	}
	switch {
	case n == 3 && digits[0] == 4 && digits[1] <= 2 && digits[2] <= 2:
		return dated(i, at, parts[0], parts[1], parts[2])
	case n == 3 && digits[2] == 4 && digits[0] <= 2 && digits[1] <= 2 && sign == '/' && parts[1] > 12:
		return dated(i, at, parts[2], parts[0], parts[1])
	case n == 3 && digits[2] == 4 && digits[0] <= 2 && digits[1] <= 2 && sign == '/' && parts[0] <= 12:
		return dated(i, at, parts[2], parts[0], parts[1])
	case n == 3 && digits[2] == 4 && digits[0] <= 2 && digits[1] <= 2:
		return dated(i, at, parts[2], parts[1], parts[0])
	case n == 2 && digits[0] == 4 && digits[1] == 2 && sign != '.':
		t, ok := dated(i, at, parts[0], parts[1], 1)
		t.whole = months
		return t, ok
	}
	return token{}, false
}

func dated(from, to, year, month, dayOfMonth int) (token, bool) {
	d := time.Date(year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	if !plausible(year) || d.Day() != dayOfMonth || int(d.Month()) != month {
		return token{}, false
	}
	return token{from: from, to: to, date: d, whole: days}, true
}

// plausible reports whether a number is a year that people speak of.
func plausible(year int) bool { return year >= 1900 && year <= 2100 }

func isCJK(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー')
}

// lettersOf says which language a letter tells.
func lettersOf(r rune) byte {
	switch {
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return kana
	case unicode.Is(unicode.Hangul, r):
		return hangul
	}
	return 0
}

// ideographic reads the longest word of the tables, a number, or one character.
func ideographic(text string, i int) token {
	rest := text[i:]
	end := 0
	for n, at := 0, 0; n < longestIdeographic && at < len(rest); n++ {
		_, size := utf8.DecodeRuneInString(rest[at:])
		if at += size; known[rest[:at]] != 0 {
			end = at
		}
	}
	if end > 0 {
		return token{from: i, to: i + end, word: rest[:end]}
	}
	if n, size := numeral(rest); size > 0 {
		return token{from: i, to: i + size, number: n, digits: 1}
	}
	_, size := utf8.DecodeRuneInString(rest)
	return token{from: i, to: i + size}
}

// numeral reads a Chinese number below 100.
func numeral(text string) (n, size int) {
	const ones = "零一二三四五六七八九"
	sum, last := 0, 0
	for _, r := range text {
		switch at := strings.IndexRune(ones, r); {
		case r == '十':
			sum, last = sum+10*max(1, last), 0
		case r == '两' || r == '兩':
			last = 2
		case at >= 0:
			last = at / len("零")
		default:
			return sum + last, size
		}
		size += utf8.RuneLen(r)
	}
	return sum + last, size
}

// folded is a word in small letters without the marks of the languages here.
func folded(word string) string {
	word = strings.ToLower(word)
	for i := range len(word) {
		if word[i] >= utf8.RuneSelf {
			return unmarked.Replace(word)
		}
	}
	return word
}

var unmarked = strings.NewReplacer(
	"ä", "a", "ö", "o", "ü", "u", "ß", "ss", "é", "e", "è", "e", "ê", "e", "ë", "e", "à", "a", "â", "a", "á", "a",
	"î", "i", "ï", "i", "í", "i", "ô", "o", "ó", "o", "û", "u", "ù", "u", "ú", "u", "ç", "c", "ñ", "n",
	"\u0301", "", "\u0300", "", "\u0302", "", "\u0308", "", "\u0303", "", "\u0327", "",
)
