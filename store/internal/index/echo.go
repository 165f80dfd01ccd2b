package index

import "github.com/loci-memory/loci"

// How many passages of a text, and of the one before it, are compared at most: texts may have thousands.
const (
	mostEchoing = 8
	mostEchoed  = 32
)

// echo says how much what somebody says is like what stands right before it: the mean cosine of their passages. It is
// asked of what no assistant says: those repeat what they are asked.
func (s *search) echo(hits map[place]*loci.Hit, at place, h *loci.Hit, beside *neighbours) {
	byAssistant := h.Speaker == loci.SpeakerAssistant || h.Speaker == loci.SpeakerLikelyAssistant
	if beside == nil || beside[0].n == 0 || !h.Embedded || byAssistant {
		return
	}
	before := beside[0].list[0].place
	if other := hits[before]; other == nil || !other.Embedded {
		return // there is none that the filter selects
	}
	sh, shBefore := &s.parts[at.part], &s.parts[before.part]
	said := shBefore.firstPassages(before.entry, mostEchoed)
	var sum float64
	n := 0
	for _, p := range sh.firstPassages(at.entry, mostEchoing) {
		if p.Row < 0 {
			continue
		}
		for _, q := range said {
			if q.Row >= 0 {
				sum += sh.matrix.Between(int(p.Row), shBefore.matrix, int(q.Row))
				n++
			}
		}
	}
	if n > 0 {
		h.Echo = sum / float64(n)
	}
}

// firstPassages are those of an entry, so many at most.
func (sh *scoring) firstPassages(entry uint32, most uint32) []passage {
	e := sh.seen(entry)
	return sh.passages[e.first : e.first+min(e.passages, most)]
}
