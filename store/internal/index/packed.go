package index

import (
	"cmp"
	"slices"
	"unsafe"
)

// A packed list is that of a term that many passages of a segment hold, as it was read lately, in a form that scores are
// added from at once: to decode it took longer than all that is done with it (docs/adr/0196). Each number is a passage,
// and in its lowest byte what decides the score: how often the term stands there, and how many words the passage has.
type packed struct {
	list   []uint32
	counts [packedCounts]bool // that are in it, from 1
	others []posting          // for which the lowest byte is too small
}

// What fits into the lowest byte, by which scoresByCount are numbered.
const (
	packedCounts = len(scoresByCount{})
	packedWords  = len(scoresByCount{}[0])
	packedBits   = 8

	mostPacked = 1 << (32 - packedBits) // passages of a segment
)

// keptPacked bounds the lists that are kept of a segment, in postings for each of its passages. Texts have some ten
// times as many words, of which few are asked for again and again.
const keptPacked = 8

// pack makes a packed list.
func pack(list []posting, passages []passage) *packed {
	p := &packed{list: make([]uint32, 0, len(list))}
	for _, x := range list {
		length := passages[x.Passage].Length
		if x.Count == 0 || x.Count > uint32(packedCounts) || length >= uint32(packedWords) {
			p.others = append(p.others, x)
			continue
		}
		p.counts[x.Count-1] = true
		p.list = append(p.list, x.Passage<<packedBits|(x.Count-1)*uint32(packedWords)|length)
	}
	return p
}

func (p *packed) len() int { return len(p.list) + len(p.others) }

// has reports whether a passage is in the list.
func (p *packed) has(passage uint32) bool {
	behind := func(x, passage uint32) int { return cmp.Compare(x>>packedBits, passage) }
	if _, there := slices.BinarySearchFunc(p.list, passage, behind); there {
		return true
	}
	other := func(x posting, passage uint32) int { return cmp.Compare(x.Passage, passage) }
	_, there := slices.BinarySearchFunc(p.others, passage, other)
	return there
}

func (m *mapped) packed(room *[]posting, term uint32) *packed {
	if m.Holders[term] < notedFrom || len(m.Passages) > mostPacked {
		return nil
	}
	m.noting.Lock()
	defer m.noting.Unlock()
	if p := m.packs[term]; p != nil {
		return p
	}
	p := pack(m.listIn(room, term), m.Passages)
	for other := range m.packs { // in no order
		if m.packedNow+p.len() <= keptPacked*len(m.Passages) {
			break
		}
		m.unpack(other)
	}
	if m.packs == nil {
		m.packs = map[uint32]*packed{}
	}
	m.packs[term] = p
	m.packedNow += p.len()
	return p
}

// unpack lets go of the list of a term: a passage of it is removed, or others have its room.
func (m *mapped) unpack(term uint32) {
	if p := m.packs[term]; p != nil {
		m.packedNow -= p.len()
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
	had, room := len(sh.summed), sh.summed[len(sh.summed):cap(sh.summed)]
	sh.summed = sh.summed[:had+a.scores.addPackedFresh(p.list, sh.sums, room)]
}

// byLowest are the scores by the lowest byte of a packed list.
func (c *scoresByCount) byLowest() *[1 << packedBits]float32 {
	return (*[packedCounts * packedWords]float32)(unsafe.Pointer(c))
}

// addPacked is add of a packed list. Inlined, it would work in memory.
//
//go:noinline
func (c *scoresByCount) addPacked(list []uint32, sums []float32) {
	scores := c.byLowest()
	for _, x := range list {
		if sum := &sums[x>>packedBits]; *sum != 0 {
			*sum += scores[uint8(x)]
		}
	}
}

// addPackedFresh is addFresh of a packed list.
//
//go:noinline
func (c *scoresByCount) addPackedFresh(list []uint32, sums []float32, room []uint32) (k int) {
	scores := c.byLowest()
	for _, x := range list {
		sum := &sums[x>>packedBits]
		if *sum == 0 {
			room[k] = x >> packedBits
			k++
		}
		*sum += scores[uint8(x)]
	}
	return k
}
