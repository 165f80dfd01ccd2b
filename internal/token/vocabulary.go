package token

import (
	_ "embed" // the vocabularies
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The files hold how many tokens there are, the length of each in a byte, and what they say, in the order of their
// ranks. TestVocabularies makes them of the codec's, which keeps the same in a map of three times the size, that
// the collector walks through again and again (docs/adr/0130).
var (
	//go:embed o200k_base.tokens
	o200kTokens string

	//go:embed cl100k_base.tokens
	cl100kTokens string
)

// A vocabulary finds the rank of a token. It takes less than 3 MiB in memory, and milliseconds to make.
type vocabulary struct {
	text   string   // of all tokens, in order of their ranks
	starts []uint32 // of each token in it, and the end
	places []uint32 // ranks by the hash of what tokens say, each with a part of it above, and none
	shift  int      // of a hash, to a place
}

func openVocabulary(file string) *vocabulary {
	n := int(binary.LittleEndian.Uint32([]byte(file[:4])))
	lengths := file[4 : 4+n]
	v := &vocabulary{text: file[4+n:], starts: make([]uint32, n+1), shift: 63 - bits.Len(uint(n))}
	v.places = make([]uint32, 1<<(64-v.shift))
	for i := range v.places {
		v.places[i] = none
	}
	for id := range uint32(n) {
		v.starts[id+1] = v.starts[id] + uint32(lengths[id])
		at, tag := v.place(v.token(id))
		for v.places[at] != none {
			at = (at + 1) & (len(v.places) - 1)
		}
		v.places[at] = tag | id
	}
	return v
}

func (v *vocabulary) size() int { return len(v.starts) - 1 }

func (v *vocabulary) token(id uint32) string { return v.text[v.starts[id]:v.starts[id+1]] }

// place is where a token is looked for first, and a part of its hash above [idBits], so that others are seldom looked at.
// Its first and last eight bytes and its length tell nearly all apart.
func (v *vocabulary) place(text string) (at int, tag uint32) {
	last := uint64(0)
	if len(text) > 8 {
		last = bits.RotateLeft64(key(text[len(text)-8:]), 29)
	}
	h := (key(text) ^ last ^ uint64(len(text))) * 0x9e3779b97f4a7c15
	return int(h >> v.shift), uint32(h>>20) << idBits
}

// find returns the rank of what is a token, or none.
func (v *vocabulary) find(text string) uint32 {
	for at, tag := v.place(text); ; at = (at + 1) & (len(v.places) - 1) {
		found := v.places[at]
		if found == none {
			return none
		}
		if id := found & (1<<idBits - 1); found&^(1<<idBits-1) == tag && v.token(id) == text {
			return id
		}
	}
}

// count returns how many tokens a piece has: it joins the two neighbours that make the token of the lowest rank, again
// and again. What that takes grows with the square of the length.
func (v *vocabulary) count(piece string, r *row) int {
	if v.find(piece) != none {
		return 1
	}
	starts, ranks := r.starts[:0], r.ranks[:0]
	for i := range len(piece) + 1 {
		starts, ranks = append(starts, uint32(i)), append(ranks, none)
	}
	join := func(i int) { // what a part and the next one make
		if ranks[i] = none; i+2 < len(starts) {
			ranks[i] = v.find(piece[starts[i]:starts[i+2]])
		}
	}
	for i := range len(piece) - 1 {
		join(i)
	}
	for {
		lowest, least := 0, none
		for i, rank := range ranks {
			if rank < least {
				lowest, least = i, rank
			}
		}
		if least == none {
			break
		}
		starts = append(starts[:lowest+1], starts[lowest+2:]...)
		ranks = append(ranks[:lowest+1], ranks[lowest+2:]...)
		if join(lowest); lowest > 0 {
			join(lowest - 1)
		}
	}
	r.starts, r.ranks = starts, ranks
	return len(starts) - 1
}

// valid is a text as the codec reads it: what is not UTF-8 is U+FFFD, byte for byte.
func valid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text))
}
