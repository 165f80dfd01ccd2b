// Package wordpiece cuts a text into the tokens of BERT's uncased vocabularies,
// such as those of bert-base-uncased and all-MiniLM-L6-v2.
//
// The ids are those of HuggingFace tokenizers 0.23.3 with BertNormalizer
// (clean_text, handle_chinese_chars, strip_accents, lowercase), BertPreTokenizer
// and WordPiece (prefix "##", at most 100 characters a word), without the tokens
// that frame a sentence. What the reference does to each character is a table of
// this package, so that ids depend neither on the version of Go nor on that of its
// Unicode tables. tests/tokenizer/run.sh compares all characters and many texts.
package wordpiece

import (
	"strings"
	"unicode/utf8"
)

// maxChars is the length above which a word is unknown without being looked at,
// in characters after normalisation.
const maxChars = 100

// unknown is the token of words that the vocabulary has no pieces for.
const unknown = "[UNK]"

// specials are found in the text as it is, before normalisation, as the reference
// finds them; those that the vocabulary lacks are text like any other.
var specials = [...]string{"[PAD]", unknown, "[CLS]", "[SEP]", "[MASK]"}

// Tokenizer turns texts into ids of tokens. It never changes, and is safe for
// concurrent use.
type Tokenizer struct {
	vocabulary
	chars   *charTable
	special [len(specials)]int32 // ids, −1 for what the vocabulary lacks
	unknown int32
}

// New makes a tokenizer of a vocabulary: the tokens in order of their ids, from 0,
// with a line feed between them. The string is kept. An empty token, one that
// comes twice, one that is not UTF-8, a vocabulary without "[UNK]" and one of
// more than 1,048,574 tokens are errors.
func New(tokens string) (*Tokenizer, error) {
	chars, err := loadCharTable()
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{chars: chars}
	if err := t.build(tokens); err != nil {
		return nil, err
	}
	for i, s := range specials {
		t.special[i] = t.find([]byte(s), false)
	}
	t.unknown = t.special[1]
	if t.unknown < 0 {
		return nil, errorf("the vocabulary has no token %s", unknown)
	}
	return t, nil
}

// Append appends the ids of a text to ids and returns the longer slice. It
// allocates nothing else. Bytes that are no UTF-8 count as U+FFFD, which the
// reference leaves out.
func (t *Tokenizer) Append(ids []int32, text string) []int32 {
	var w word
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			ids = t.appendRune(ids, &w, r)
			i += size
			continue
		}
		switch a := t.chars.ascii[c]; a {
		case asciiDrop:
		case asciiSpace:
			ids = t.flush(ids, &w)
		case asciiAlone:
			ids = t.flush(ids, &w)
			if c == '[' {
				if id, size := t.specialAt(text[i:]); size > 0 {
					ids = append(ids, id)
					i += size
					continue
				}
			}
			w.addByte(c)
			ids = t.flush(ids, &w)
		default:
			w.addByte(a)
		}
		i++
	}
	return t.flush(ids, &w)
}

// specialAt returns the special token a text begins with, and its length, or 0.
func (t *Tokenizer) specialAt(text string) (id int32, size int) {
	for i, s := range specials {
		if t.special[i] >= 0 && strings.HasPrefix(text, s) {
			return t.special[i], len(s)
		}
	}
	return 0, 0
}

// appendRune adds a character beyond ASCII to the word, or ends it.
func (t *Tokenizer) appendRune(ids []int32, w *word, r rune) []int32 {
	switch k := t.chars.of(r); k {
	case keep:
		w.addRune(r)
	case drop:
	case mark:
		w.fence = w.size
	case space:
		return t.flush(ids, w)
	case alone:
		ids = t.flush(ids, w)
		w.addRune(r)
		return t.flush(ids, w)
	case order:
		w.addOrdered(r, t.chars)
	case syllable:
		w.addSyllable(r)
	default:
		m := &t.chars.mapped[k-firstMapped]
		if m.alone {
			ids = t.flush(ids, w)
		}
		for _, r := range m.to {
			if t.chars.of(r) == order {
				w.addOrdered(r, t.chars)
			} else {
				w.addRune(r)
			}
		}
		if m.alone {
			return t.flush(ids, w)
		}
	}
	return ids
}

// flush appends the ids of the word, if there is one, and begins the next.
func (t *Tokenizer) flush(ids []int32, w *word) []int32 {
	if w.count == 0 {
		w.fence = 0
		return ids
	}
	b, tooLong := w.bytes[:w.size], w.count > maxChars
	w.size, w.count, w.fence = 0, 0, 0
	if tooLong {
		return append(ids, t.unknown)
	}
	if id := t.find(b, false); id >= 0 {
		return append(ids, id)
	}
	return t.appendPieces(ids, b)
}

// appendPieces cuts a word from the left into the longest tokens there are. If
// any of it is left over the whole word is unknown.
func (t *Tokenizer) appendPieces(ids []int32, b []byte) []int32 {
	before := len(ids)
	for start := 0; start < len(b); {
		id, size := t.longest(b[start:], start > 0)
		if id < 0 {
			return append(ids[:before], t.unknown)
		}
		ids = append(ids, id)
		start += size
	}
	return ids
}
