package token

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// merges count the tokens of a piece in time that grows with its length alone. To join the two neighbours that make
// the token of the lowest rank, again and again, takes more the longer a piece is.
//
// But each token is made of two others in one way, and from these ways follows which two may stand side by side
// ([merges.apart]). A piece has one row of tokens in which all neighbours may. It is found from left to right: the
// longest token that fits; if none does, the one before is made shorter. No place is tried twice. The algorithm is that
// of the crate bpe (github.com/github/rust-gems), whose README proves it.
type merges struct {
	*vocabulary
	sorted  []uint32    // tokens by what they say
	keys    []uint64    // of each in that order, see key
	first   []uint32    // where tokens begin in that order that begin with two bytes or more
	shorter []uint32    // the longest token with which one begins; none
	halves  [][2]uint32 // the two of which each is made; twice itself: it is a byte
	made    []uint32    // tokens by the hash of their halves, and none
}

const (
	none     = ^uint32(0)
	madeBits = 19
)

// newMerges makes the tables of a vocabulary, in tenths of a second; they take about 7 MiB.
func newMerges(v *vocabulary) *merges {
	m := &merges{vocabulary: v}
	m.sort()
	n := m.size()
	m.halves = make([][2]uint32, n)
	m.made = slices.Repeat([]uint32{none}, 1<<madeBits)
	for id := range uint32(n) {
		m.split(id)
	}
	return m
}

func (m *merges) length(id uint32) int { return int(m.starts[id+1] - m.starts[id]) }

// sort fills sorted, keys, first and shorter.
func (m *merges) sort() {
	n := m.size()
	type entry struct {
		key uint64
		id  uint32
	}
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = entry{key(m.token(uint32(i))), uint32(i)}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(m.token(a.id), m.token(b.id)))
	})
	m.sorted, m.keys, m.shorter = make([]uint32, n), make([]uint64, n), make([]uint32, n)
	m.first = make([]uint32, 0, 1<<16+1)
	var begins []uint32 // those with which the last one begins
	for i, e := range entries {
		m.sorted[i], m.keys[i] = e.id, e.key
		for len(begins) > 0 && !strings.HasPrefix(m.token(e.id), m.token(begins[len(begins)-1])) {
			begins = begins[:len(begins)-1]
		}
		m.shorter[e.id] = none
		if len(begins) > 0 {
			m.shorter[e.id] = begins[len(begins)-1]
		}
		begins = append(begins, e.id)
		for uint64(len(m.first)) <= e.key>>48 {
			m.first = append(m.first, uint32(i))
		}
	}
	for len(m.first) <= 1<<16 {
		m.first = append(m.first, uint32(n))
	}
}

// key is the number that the first eight bytes of a text are, as if zeros followed it: texts of
// different keys are in the order of these.
func key(text string) (k uint64) {
	if len(text) >= 8 {
		return uint64(text[7]) | uint64(text[6])<<8 | uint64(text[5])<<16 | uint64(text[4])<<24 |
			uint64(text[3])<<32 | uint64(text[2])<<40 | uint64(text[1])<<48 | uint64(text[0])<<56
	}
	for i := range len(text) {
		k |= uint64(text[i]) << (56 - 8*i)
	}
	return k
}

// longest returns the longest token with which a text begins, which is not empty.
func (m *merges) longest(text string) uint32 {
	k := key(text)
	from, to := m.first[k>>48], m.first[k>>48+1]
	for from < to { // the first one behind the text
		middle := (from + to) / 2
		if at := m.keys[middle]; at > k || at == k && m.token(m.sorted[middle]) > text {
			to = middle
		} else {
			from = middle + 1
		}
	}
	// The one before, or what that begins with: all tokens with which the text begins are among these.
	id := m.sorted[from-1]
	if other := k ^ m.keys[from-1]; other != 0 {
		for common := bits.LeadingZeros64(other) / 8; m.length(id) > common; {
			id = m.shorter[id]
		}
		return id
	}
	for !strings.HasPrefix(text, m.token(id)) {
		id = m.shorter[id]
	}
	return id
}

// split finds of which two tokens one is made: those that are there before it and may stand side by side
// until then. Every token of more than a byte has them.
func (m *merges) split(id uint32) {
	text := m.token(id)
	for left := m.shorter[id]; left != none; left = m.shorter[left] {
		rest := text[m.length(left):]
		right := m.longest(rest)
		if m.length(right) < len(rest) || left >= id || right >= id {
			continue
		}
		if m.apart(left, right) {
			m.halves[id] = [2]uint32{left, right}
			slot, tag := hash(left, right)
			for m.made[slot] != none {
				slot = (slot + 1) % len(m.made)
			}
			m.made[slot] = tag | id
			return
		}
	}
	m.halves[id] = [2]uint32{id, id}
}

// A place of made holds a token and, above it, a part of the hash of its halves, so that others are seldom looked at.
const idBits = 18

func hash(left, right uint32) (slot int, tag uint32) {
	h := (uint64(left)<<32 | uint64(right)) * 0x9e3779b97f4a7c15
	return int(h >> (64 - madeBits)), uint32(h>>20) << idBits
}

// join returns the token that two make, or none.
func (m *merges) join(left, right uint32) uint32 {
	for slot, tag := hash(left, right); ; slot = (slot + 1) % len(m.made) {
		found := m.made[slot]
		if found == none {
			return none
		}
		if id := found & (1<<idBits - 1); found&^(1<<idBits-1) == tag && m.halves[id] == [2]uint32{left, right} {
			return id
		}
	}
}

// apart reports whether two tokens stay as they are side by side. It takes them apart again, in
// the reverse order in which they were made, and asks at each step whether their neighbours at the seam would
// have been joined before.
func (m *merges) apart(left, right uint32) bool {
	limit := none
	for {
		if id := m.join(left, right); id < limit {
			return false
		}
		// The later made of the two comes apart first; of equal ones the left one was made first.
		leftHalf, rightHalf := m.halves[left][1], m.halves[right][0]
		switch {
		case leftHalf == left && rightHalf == right:
			return true
		case rightHalf == right || left > right && leftHalf != left:
			limit, left = left, leftHalf
		default:
			limit, right = right+1, rightHalf
		}
	}
}

// A row is the tokens of a piece while they are looked for.
type row struct {
	pieces pieces
	tokens []uint32
	tried  []uint64 // a bit a place at which it leads nowhere to end a token
	starts []uint32 // of tokens, see [vocabulary.count]
	ranks  []uint32 // of what a token and the next one make
	steps  int      // tokens that were looked at, ever
}

// count returns how many tokens a piece has.
func (m *merges) count(piece string, r *row) int {
	next := m.longest(piece)
	if m.length(next) == len(piece) {
		return 1
	}
	r.tokens = r.tokens[:0]
	r.tried = slices.Grow(r.tried[:0], len(piece)/64+1)[:len(piece)/64+1]
	clear(r.tried)
	for at := 0; at < len(piece); r.steps++ {
		end := at + m.length(next)
		fits := r.tried[end/64]&(1<<(end%64)) == 0
		if fits && (len(r.tokens) == 0 || m.apart(r.tokens[len(r.tokens)-1], next)) {
			r.tokens = append(r.tokens, next)
			if at = end; at < len(piece) {
				next = m.longest(piece[at:])
			}
			continue
		}
		if next = m.shorter[next]; next == none {
			r.tried[at/64] |= 1 << (at % 64)
			last := len(r.tokens) - 1
			next, r.tokens = r.tokens[last], r.tokens[:last]
			at -= m.length(next)
			// It is tried again, and refused, as its end leads nowhere.
		}
	}
	return len(r.tokens)
}
