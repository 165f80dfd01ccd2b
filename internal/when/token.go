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
	n, sign, at := numbers(text, i)
	if rest := text[at:]; len(rest) > 1 && strings.ContainsRune(dateSigns, rune(rest[0])) && isDigit(rest[1]) {
		return token{}, false // the number of a version
	}
	first, second, third := n[0], n[1], n[2]
	switch {
	case first.digits == 4 && second.short() && third.short():
		return dated(i, at, first.value, second.value, third.value)
	case first.short() && second.short() && third.digits == 4 && sign == '/' && first.value <= 12:
		return dated(i, at, third.value, first.value, second.value)
	case first.short() && second.short() && third.digits == 4:
		return dated(i, at, third.value, second.value, first.value)
	case first.digits == 4 && second.digits == 2 && third.digits == 0 && sign != '.':
		t, ok := dated(i, at, first.value, second.value, 1)
		t.whole = months
		return t, ok
	}
	return token{}, false
}

// dateSigns stand between the numbers of a date.
const dateSigns = "-/."

// digits are a number of a date, as it is written; none are no number.
type digits struct{ value, digits int }

func (d digits) short() bool { return d.digits == 1 || d.digits == 2 }

// numbers reads up to three numbers with one sign between them, and says where they end.
func numbers(text string, at int) (out [3]digits, sign byte, end int) {
	for n := range out {
		d, next := numberAt(text, at)
		if d.digits == 0 {
			return out, sign, at - 1 // the sign before belongs to no date
		}
		out[n], at = d, next
		if at >= len(text) || !strings.ContainsRune(dateSigns, rune(text[at])) || n == 1 && text[at] != sign {
			break
		}
		if n < 2 {
			sign = text[at]
			at++
		}
	}
	return out, sign, at
}

// numberAt reads a number of at most five digits.
func numberAt(text string, at int) (d digits, end int) {
	for ; at < len(text) && d.digits < 5 && isDigit(text[at]); at++ {
		d.value, d.digits = d.value*10+int(text[at]-'0'), d.digits+1
	}
	return d, at
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

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
