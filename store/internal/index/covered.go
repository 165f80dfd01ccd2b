package index

import (
	"math"

	"github.com/loci-memory/loci"
)

// countTalk is countSequences where passages are scored when they are looked at.
func (sh *scoring) countTalk(a *asked) (more int) {
	sh.beginCount()
	if a.heldIn(sh) == 0 || !sh.hasSequences() {
		return 0
	}
	if in := &a.in[sh.at]; in.terms == 1 {
		if sh.eachHeard(&sh.room, in.term, func(q, count uint32) { more += sh.talk.hear(q, count) }) {
			return more
		}
	}
	for _, p := range a.listOf(sh) {
		if q := sh.sequenceOfPassage(&sh.passages[p.Passage]); p.Count > 0 && q != 0 {
			more += sh.talk.hear(q, p.Count)
		}
	}
	return more
}

// sequenceOf is a sequence of the shard whose parts begin with first.
type sequenceOf struct {
	first  int32
	number uint32
}

func (s *search) sequenceOf(at place) sequenceOf {
	sh := &s.parts[at.part]
	return sequenceOf{int32(sh.first), sh.seen(at.entry).sequence}
}

// addCovered says of each hit how much of the query the best passage of its sequence has. Sequences
// of a few members are looked at; in others, passages that may have more than is known.
func (s *search) addCovered(hits map[place]*loci.Hit) {
	if !s.skips || s.sequences == 0 {
		return
	}
	best := map[sequenceOf]float64{}
	for at, h := range hits {
		if h.Context == 0 {
			continue
		}
		sh, of := &s.parts[at.part], s.sequenceOf(at)
		e := sh.seen(at.entry)
		most := math.SmallestNonzeroFloat64
		for n := e.first; n < e.first+e.passages; n++ {
			most = max(most, s.wordsAt(sh, n).covered)
		}
		best[of] = max(best[of], most)
	}
	room := 0 // members for which reading the postings would cost as much
	for i := range s.asked {
		room += s.asked[i].holders / s.readCost
	}
	large := map[sequenceOf]bool{}
	for of := range best {
		if room -= s.parts[of.first].shard.sequences[of.number].alive; room >= 0 {
			best[of] = s.coveredIn(of)
		} else {
			large[of] = true
		}
	}
	if len(large) > 0 {
		s.coverLarge(large, best)
	}
	for at, h := range hits {
		if h.Context > 0 {
			h.ContextCovered = s.coverage(best[s.sequenceOf(at)])
		}
	}
}

// coveredIn looks at all members of a sequence.
func (s *search) coveredIn(of sequenceOf) (most float64) {
	q := &s.parts[of.first].shard.sequences[of.number]
	for i := int(of.first); i < len(s.parts) && s.parts[i].first == int(of.first); i++ {
		sh := &s.parts[i]
		sh.members(q, func(entry uint32) {
			e := sh.seen(entry)
			for n := e.first; n < e.first+e.passages; n++ {
				most = max(most, s.wordsAt(sh, n).covered)
			}
		})
	}
	return most
}

// coverLarge finds the best passages of some sequences. It reads the postings of the words that count
// most, until what is left is not more than what each of them has.
func (s *search) coverLarge(large map[sequenceOf]bool, best map[sequenceOf]float64) {
	for i := range s.parts {
		sh := &s.parts[i]
		least := math.Inf(1)
		for of := range large {
			if int(of.first) == sh.first {
				least = min(least, best[of])
			}
		}
		if math.IsInf(least, 1) || !sh.hasSequences() {
			continue
		}
		rest, _ := s.touch(sh, &least, func(_ *scoring, a *asked) float64 { return a.weight }, addWeights, nil)
		for _, n := range sh.summed {
			of := sequenceOf{int32(sh.first), sh.sequenceOfPassage(&sh.passages[n])}
			if large[of] && float64(sh.sums[n])*(1+slack)+rest > best[of] {
				best[of] = max(best[of], s.wordsAt(sh, n).covered)
			}
		}
	}
}

// addWeights adds the weight of what is asked for to the passages that have it; fresh: also to those
// that have nothing yet.
func addWeights(sh *scoring, a *asked, fresh bool) {
	for _, p := range a.listOf(sh) {
		if p.Count == 0 || !fresh && sh.sums[p.Passage] == 0 {
			continue
		}
		if sh.sums[p.Passage] == 0 {
			sh.summed = append(sh.summed, p.Passage)
		}
		sh.sums[p.Passage] += float32(a.weight)
	}
}
