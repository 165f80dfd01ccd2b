package index

import (
	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/vector"
)

// mostEchoed bounds the passages of a text that are compared with those of another one: texts may have thousands.
const mostEchoed = 32

// echo says how much what somebody says is like what stands right before it: the mean cosine of the passages of both. It
// is asked of what no assistant says: those repeat what they are asked.
func (s *search) echo(hits map[place]*loci.Hit, at place, h *loci.Hit, beside *neighbours) {
	if beside == nil || beside[0].n == 0 || !h.Embedded || h.Speaker == loci.SpeakerAssistant || h.Speaker == loci.SpeakerLikelyAssistant {
		return
	}
	before := beside[0].list[0].place
	if other := hits[before]; other == nil || !other.Embedded {
		return // there is none that the filter selects
	}
	// The mean of all products is that of the sums.
	sum, n := s.summed(s.sum, at)
	sumBefore, m := s.summed(s.sumBefore, before)
	s.sum, s.sumBefore = sum, sumBefore
	h.Echo = vector.Dot(sum, sumBefore) / float64(n*m)
}

// summed is the sum of the first vectors of an entry, in the memory of another one, and how many there are.
func (s *search) summed(room []float32, at place) (sum []float32, n int) {
	sh := &s.parts[at.part]
	sum = resize(room, sh.matrix.Dims())
	clear(sum)
	e := sh.seen(at.entry)
	for _, p := range sh.passages[e.first : e.first+min(e.passages, mostEchoed)] {
		if p.Row >= 0 {
			sh.matrix.AddTo(sum, int(p.Row))
			n++
		}
	}
	return sum, max(n, 1)
}
