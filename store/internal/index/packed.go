package index

import (
	"cmp"
	"slices"
	"unsafe"
)

// Lists of words that many passages hold are read again and again, and to decode one takes longer than all that is
// done with it. So what of a segment was read lately is kept in a form that scores are added from at once: the passage
// in the upper three bytes, and below it what decides the score, how often the word stands there and how many words
// the passage has.
const (
	packedShift   = 8
	packedWords   = len(scoresByCount{}[0]) // passages of fewer words than these
	packedCounts  = len(scoresByCount{})    // where the word stands up to so many times
	mostPassages  = 1 << (32 - packedShift)
	packedMost    = 8 // postings kept of a segment, for each of its passages
	packedAtLeast = notedFrom
)

// A packed is the list of a term.
type packed struct {
	list   []uint32
	counts [packedCounts]bool // what is in the list
	others []posting          // what has no place there
}

// pack makes a packed list.
func pack(list []posting, passages []passage) *packed {
	p := &packed{list: make([]uint32, 0, len(list))}
	for _, x := range list {
		length := passages[x.Passage].Length
		switch {
		case x.Count == 0:
		case int(x.Count) > packedCounts || int(length) >= packedWords:
			p.others = append(p.others, x)
		default:
			p.counts[x.Count-1] = true
			p.list = append(p.list, x.Passage<<packedShift|(x.Count-1)*uint32(packedWords)|length)
		}
	}
	return p
}

// has reports whether a passage is in the list.
func (p *packed) has(passage uint32) bool {
	_, in := slices.BinarySearchFunc(p.list, passage, func(x, n uint32) int { return cmp.Compare(x>>packedShift, n) })
	if !in {
		_, in = slices.BinarySearchFunc(p.others, passage, func(x posting, n uint32) int { return cmp.Compare(x.Passage, n) })
	}
	return in
}

// packed returns the list of a term in that form; nil: it has none.
func (m *mapped) packed(room *[]posting, term uint32) *packed {
	if m.Holders[term] < packedAtLeast || len(m.Passages) > mostPassages {
		return nil
	}
	m.noting.Lock()
	defer m.noting.Unlock()
	if p := m.packs[term]; p != nil {
		return p
	}
	p := pack(m.listIn(room, term), m.Passages)
	if n := len(p.list) + len(p.others); m.packs == nil || m.packedNow+n > packedMost*len(m.Passages) {
		m.packs, m.packedNow = map[uint32]*packed{}, 0
	}
	m.packs[term] = p
	m.packedNow += len(p.list) + len(p.others)
	return p
}

// unpack lets go of the list of a term, as a passage of it is removed.
func (m *mapped) unpack(term uint32) {
	if p := m.packs[term]; p != nil {
		m.packedNow -= len(p.list) + len(p.others)
		delete(m.packs, term)
	}
}

// packedIn is the packed list of what is asked for in a part; nil: it has none.
func (a *asked) packedIn(sh *scoring) *packed {
	if in := &a.in[sh.at]; in.terms == 1 || in.apart {
		return sh.packed(&sh.room, in.term)
	}
	return nil
}

// addPacked is addScores of a packed list, without its others.
func (s *search) addPacked(sh *scoring, a *asked, p *packed, fresh bool) {
	for row, has := range p.counts {
		if has && a.scores[row][1] == 0 {
			a.scores.make(uint32(row+1), 1, a.weight, s.average)
		}
	}
	if !fresh {
		a.scores.addPacked(p.list, sh.sums)
		return
	}
	sh.summed = slices.Grow(sh.summed, len(p.list))
	room := sh.summed[len(sh.summed):cap(sh.summed)]
	sh.summed = sh.summed[:len(sh.summed)+a.scores.addPackedFresh(p.list, sh.sums, room)]
}

// inOne are all of them, by what is below the passage in a packed list.
func (c *scoresByCount) inOne() *[packedCounts * packedWords]float32 {
	return (*[packedCounts * packedWords]float32)(unsafe.Pointer(c))
}

// addPacked is add of a packed list.
//
//go:noinline
func (c *scoresByCount) addPacked(list []uint32, sums []float32) {
	scores := c.inOne()
	for _, x := range list {
		if sum := &sums[x>>packedShift]; *sum != 0 {
			*sum += scores[uint8(x)]
		}
	}
}

// addPackedFresh is addFresh of a packed list.
//
//go:noinline
func (c *scoresByCount) addPackedFresh(list []uint32, sums []float32, room []uint32) (k int) {
	scores := c.inOne()
	for _, x := range list {
		sum := &sums[x>>packedShift]
		if *sum == 0 {
			room[k] = x >> packedShift
			k++
		}
		*sum += scores[uint8(x)]
	}
	return k
}
