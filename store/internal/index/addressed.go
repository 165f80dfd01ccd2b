package index

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// Bounds on what is looked at to tell who says a text that does not say so.
const (
	mostAddressed = 10_000 // passages with a name of the query: who is in more of them tells nothing apart
	longestTalk   = 2_000  // texts of a sequence
	talkPart      = 8      // one of so many texts of a talk asks something or speaks to somebody
	leastAddress  = 2      // so many texts must address somebody
	clearAddress  = 4      // and so many times as many as say otherwise
	farAddress    = 32     // places from the text
	addressWords  = 2      // a name among so many first words of a text addresses somebody
)

// hearNames tells who says hits that do not say so. In a talk of two people each speaks to the other by name ("Hey
// Ann, …") and not to himself, and they take turns: Ann says what stands an odd number of places from there.
func (s *search) hearNames(hits map[place]*loci.Hit) {
	named := func(name string) bool { n := s.holders(name); return n >= leastAddress && n <= mostAddressed }
	if s.sequences == 0 || !slices.ContainsFunc(s.named, named) {
		return
	}
	talks := map[sequenceOf]ordinals{}
	for at := range hits {
		if of := s.sequenceOf(at); of.number != 0 && s.parts[of.first].shard.sequences[of.number].alive <= longestTalk {
			talks[of] = nil
		}
	}
	for _, name := range s.named {
		if len(talks) == 0 || !named(name) {
			continue
		}
		said := s.addresses(name, talks)
		for at, h := range hits {
			of := s.sequenceOf(at)
			if len(said[of]) < leastAddress || !unsigned(s.parts[at.part].seen(at.entry)) {
				continue
			}
			if talks[of] == nil {
				talks[of] = s.ordinalsIn(of)
			}
			switch talks[of].saidBy(said[of], at) {
			case 1:
				h.Signer = name
			case -1:
				h.Signer = cmp.Or(h.Signer, loci.SomebodyElse)
			}
		}
	}
}

// unsigned reports whether an entry is said by a person and does not say by whom.
func unsigned(e seen) bool {
	return e.speaker != loci.SpeakerAssistant && e.speaker != loci.SpeakerLikelyAssistant && e.signed.words() == 0
}

// addresses are the texts of some sequences that speak to somebody by a name.
func (s *search) addresses(name string, talks map[sequenceOf]ordinals) map[sequenceOf][]place {
	said := map[sequenceOf][]place{}
	for i := range s.parts {
		sh := &s.parts[i]
		t, ok := sh.findTerm(name)
		if !ok || !sh.hasSequences() {
			continue
		}
		for _, p := range sh.list(t) {
			of := sequenceOf{sh.first, sh.sequenceOfPassage(&sh.passages[p.Passage])}
			if _, in := talks[of]; !in || p.Count == 0 {
				continue
			}
			entry := sh.passages[p.Passage].Entry
			e := sh.seen(entry)
			if e.first == p.Passage && unsigned(e) && sh.opensWith(p.Passage, t) &&
				s.filter.SelectsHeader(sh.headerOf(entry, &s.room)) {
				said[of] = append(said[of], place{i, entry})
			}
		}
	}
	return said
}

// opensWith reports whether a term is among the first words of a passage.
func (sh *scoring) opensWith(passage, term uint32) bool {
	n := 0
	for _, w := range sh.wordsOf(passage) {
		if w&overlaid != 0 {
			continue
		}
		if sh.termOf(w) == term {
			return true
		}
		if n++; n == addressWords {
			return false
		}
	}
	return false
}

// ordinals say of the entries of a talk which place each has, from 0.
type ordinals map[place]int

// ordinalsIn returns the places of a sequence; none if people do not talk to each other in it.
func (s *search) ordinalsIn(of sequenceOf) ordinals {
	q := &s.parts[of.first].shard.sequences[of.number]
	all, talking := make([]neighbour, 0, q.alive), 0
	for i := of.first; i < len(s.parts) && s.parts[i].first == of.first; i++ {
		s.parts[i].members(q, func(entry uint32) {
			e := s.parts[i].seen(entry)
			all = append(all, neighbour{member{e.position, e.id, entry}, place{i, entry}})
			switch {
			case e.speaker == loci.SpeakerAssistant || e.speaker == loci.SpeakerLikelyAssistant:
				talking--
			case e.traits&(retrieval.Asks|retrieval.AsksYou|retrieval.ToOthers) != 0:
				talking++
			}
		})
	}
	at := ordinals{}
	if talking*talkPart < len(all) {
		return at
	}
	slices.SortFunc(all, func(a, b neighbour) int { return a.compare(b.member) })
	for i, m := range all {
		at[m.place] = i
	}
	return at
}

// saidBy is 1 if somebody who is spoken to in some texts says another one, −1 if who speaks
// to him does, and 0 if that is not known.
func (o ordinals) saidBy(addressed []place, text place) int {
	if len(o) == 0 {
		return 0
	}
	var by [2]int
	for _, at := range addressed {
		if far := o[at] - o[text]; far >= -farAddress && far <= farAddress {
			by[far&1]++
		}
	}
	switch {
	case by[1] >= leastAddress && by[1] >= clearAddress*by[0]:
		return 1
	case by[0] >= leastAddress && by[0] >= clearAddress*by[1]:
		return -1
	}
	return 0
}
