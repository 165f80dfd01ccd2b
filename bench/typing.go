package bench

import (
	"context"
	"hash/fnv"
	"unicode"
)

// ModeTyping is [ModeHybrid] for questions with a typing error each, see [Mistyped].
const ModeTyping = "hybrid, mistyped"

// leastTyped is the least number of letters of a word that is mistyped.
const leastTyped = 5

// Mistyped returns a question with one typing error, always the same one: in the longest of
// its words of letters, the first of equals, two letters are swapped, one is left out, one
// comes twice or one is its neighbour in the alphabet; which, and where behind the first
// letter, is the FNV-1a hash of the word. A question without a word of five letters stays.
func Mistyped(question string) string {
	letters := []rune(question)
	from, to := 0, 0
	for i := 0; i < len(letters); {
		end := i
		for end < len(letters) && unicode.IsLetter(letters[end]) {
			end++
		}
		if end-i > to-from {
			from, to = i, end
		}
		i = max(end, i+1)
	}
	if to-from < leastTyped || hasSyllables(letters[from]) {
		return question
	}
	word := letters[from:to]
	h := fnv.New32a()
	h.Write([]byte(string(word)))
	sum := int(h.Sum32())
	at := 1 + sum/4%(len(word)-2) // neither the first letter nor the last
	var wrong []rune
	switch a, b := word[at], word[at+1]; {
	case sum%4 == 0 && a != b:
		wrong = append(append(wrong, word[:at]...), b, a)
		wrong = append(wrong, word[at+2:]...)
	case sum%4 == 1:
		wrong = append(append(wrong, word[:at]...), word[at+1:]...)
	case sum%4 == 2:
		wrong = append(append(wrong, word[:at+1]...), word[at:]...)
	default:
		wrong = append(wrong, word...)
		if wrong[at] = a + 1; !unicode.IsLetter(a + 1) {
			wrong[at] = a - 1
		}
	}
	return string(letters[:from]) + string(wrong) + string(letters[to:])
}

// hasSyllables reports whether a character is of a script that is not typed letter by letter.
func hasSyllables(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// mistyping is a finder that gets each question with its typing error.
func mistyping(find finder) finder {
	return func(ctx context.Context, conv, query string) ([]hit, error) { return find(ctx, conv, Mistyped(query)) }
}
