package wordpiece

import (
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// continuing begins the tokens that stand inside of a word.
const continuing = "##"

// A slot of the table holds id+1 in its lower bits, 0 when it is free, and bits
// of the hash above, which spare most comparisons with the token itself.
const (
	idBits    = 20
	idMask    = 1<<idBits - 1
	maxTokens = idMask - 1
)

// vocabulary finds the id of a token: an open hash table beside the text of the
// tokens, about 12 bytes a token.
type vocabulary struct {
	tokens string
	starts []uint32 // of the tokens in the text, and one beyond the last
	slots  []uint32
	shift  int
	most   int // bytes of the longest token, without its prefix
}

func errorf(format string, args ...any) error { return fmt.Errorf("wordpiece: "+format, args...) }

// build reads the tokens, with a line feed between them.
func (v *vocabulary) build(tokens string) error {
	count := strings.Count(tokens, "\n") + 1
	if count > maxTokens {
		return errorf("the vocabulary has %d tokens; the limit is %d", count, maxTokens)
	}
	if !utf8.ValidString(tokens) {
		return errorf("the vocabulary is not UTF-8")
	}
	size := bits.Len(uint(2 * count))
	v.tokens, v.shift = tokens, 32-size
	v.starts = make([]uint32, 1, count+1)
	v.slots = make([]uint32, 1<<size)
	for rest := tokens; ; {
		token, more, found := strings.Cut(rest, "\n")
		if err := v.add(token); err != nil {
			return err
		}
		if !found {
			return nil
		}
		rest = more
	}
}

// add takes the next token, whose start is the last of starts.
func (v *vocabulary) add(token string) error {
	id := len(v.starts) - 1
	if token == "" {
		return errorf("token %d of the vocabulary is empty", id)
	}
	v.starts = append(v.starts, v.starts[id]+uint32(len(token))+1)
	key, inside := strings.CutPrefix(token, continuing)
	if key == "" { // "##" alone
		key, inside = token, false
	}
	v.most = max(v.most, len(key))
	h := begin(inside)
	for i := range len(key) {
		h = step(h, key[i])
	}
	slot := v.slot(h)
	for ; v.slots[slot] != 0; slot = v.after(slot) {
		if v.token(v.slots[slot]&idMask-1) == token {
			return errorf("token %d of the vocabulary comes twice", id)
		}
	}
	v.slots[slot] = h&^idMask | uint32(id+1)
	return nil
}

// Len returns the number of tokens; ids are below it.
func (v *vocabulary) Len() int { return len(v.starts) - 1 }

// Token returns the text of an id that Append gave, with its prefix "##" if it
// stands inside of a word.
func (v *vocabulary) Token(id int32) string { return v.token(uint32(id)) }

// find returns the id of a token, or −1. inside means within a word, after the
// prefix, which key lacks.
func (v *vocabulary) find(key []byte, inside bool) int32 {
	h := begin(inside)
	for _, c := range key {
		h = step(h, c)
	}
	return v.lookup(key, h, inside)
}

// longest returns the longest token that b begins with, and the bytes it covers;
// −1 if there is none.
func (v *vocabulary) longest(b []byte, inside bool) (id int32, size int) {
	id = -1
	h := begin(inside)
	for i := range min(len(b), v.most) {
		h = step(h, b[i])
		if end := i + 1; end == len(b) || utf8.RuneStart(b[end]) {
			if found := v.lookup(b[:end], h, inside); found >= 0 {
				id, size = found, end
			}
		}
	}
	return id, size
}

func (v *vocabulary) lookup(key []byte, h uint32, inside bool) int32 {
	for slot := v.slot(h); ; slot = v.after(slot) {
		entry := v.slots[slot]
		if entry == 0 {
			return -1
		}
		if (entry^h)&^idMask != 0 {
			continue
		}
		token := v.token(entry&idMask - 1)
		if inside {
			if len(token) != len(continuing)+len(key) || token[:len(continuing)] != continuing {
				continue
			}
			token = token[len(continuing):]
		}
		if token == string(key) {
			return int32(entry&idMask) - 1
		}
	}
}

func (v *vocabulary) token(id uint32) string { return v.tokens[v.starts[id] : v.starts[id+1]-1] }

func (v *vocabulary) slot(h uint32) uint32 { return h * 0x9e3779b1 >> v.shift } // golden ratio: spreads what FNV leaves clustered

func (v *vocabulary) after(slot uint32) uint32 { return (slot + 1) & uint32(len(v.slots)-1) }

// The hash is FNV-1a, which has the hash of every beginning on its way to the
// hash of the whole.
func begin(inside bool) uint32 {
	if inside {
		return 0x050c5d1f // another start: a token inside of a word is another token
	}
	return 0x811c9dc5
}

func step(h uint32, c byte) uint32 { return (h ^ uint32(c)) * 0x01000193 }
