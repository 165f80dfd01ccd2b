package index

import (
	"cmp"
	"slices"
	"sync/atomic"

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

// speaking is a talk in which hits are.
type speaking struct {
	of     sequenceOf
	with   int     // texts with the name at hand
	judged bool    // people talk in it or not, and if so the places of its texts are noted
	near   uint64  // a bit for each nearPart places, of those not far from a hit; none if nobody talks
	said   []int32 // places of texts that speak to somebody by the name at hand, ascending
}

// nearPart is a part of a talk: its texts are not far from those of the part before and after it alone.
const nearPart = farAddress

// spoken is a text of a talk.
type spoken struct {
	talk int32
	place
	hit *loci.Hit
}

// hearNames tells who says hits that do not say so. In a talk of two people each speaks to the other by name ("Hey
// Ann, …") and not to himself, and they take turns: Ann says what stands an odd number of places from there.
func (s *search) hearNames(hits map[place]*loci.Hit) {
	named := func(name string) bool { n := s.holders(name); return n >= leastAddress && n <= mostAddressed }
	if s.sequences == 0 || !slices.ContainsFunc(s.named, named) {
		return
	}
	talks, texts := s.talksOf(hits)
	for _, name := range s.named {
		if len(talks) == 0 || !named(name) {
			continue
		}
		s.addresses(name, talks, texts, hits)
		for _, text := range texts {
			k := &talks[text.talk]
			if len(k.said) < leastAddress {
				continue
			}
			switch saidBy(k.said, s.parts[text.part].ordinals[text.entry]) {
			case 1:
				text.hit.Signer = name
			case -1:
				text.hit.Signer = cmp.Or(text.hit.Signer, loci.SomebodyElse)
			}
		}
	}
	for i := range talks {
		of := talks[i].of
		s.parts[of.first].talk.speaking[of.number] = 0
	}
}

// talksOf returns the talks of hits that do not say who says them, and these. The number of each talk, from 1, is noted
// by its sequence.
func (s *search) talksOf(hits map[place]*loci.Hit) (talks []speaking, texts []spoken) {
	texts = make([]spoken, 0, len(hits))
	for at, h := range hits {
		sh := &s.parts[at.part]
		e := sh.seen(at.entry)
		if e.sequence == 0 || !unsigned(e) || sh.shard.sequences[e.sequence].alive > longestTalk {
			continue
		}
		numbers := resize(sh.talk.speaking, len(sh.shard.sequences))
		sh.talk.speaking = numbers
		if numbers[e.sequence] == 0 {
			talks = append(talks, speaking{of: sequenceOf{int32(sh.first), e.sequence}})
			numbers[e.sequence] = int32(len(talks))
		}
		texts = append(texts, spoken{numbers[e.sequence] - 1, at, h})
	}
	return talks, texts
}

// unsigned reports whether an entry is said by a person and does not say by whom.
func unsigned(e seen) bool {
	return e.speaker != loci.SpeakerAssistant && e.speaker != loci.SpeakerLikelyAssistant && e.signed.words() == 0
}

// addresses notes which texts of talks speak to somebody by a name. Only texts that are not far from a hit are read: how
// many others there are makes no difference.
func (s *search) addresses(name string, talks []speaking, texts []spoken, hits map[place]*loci.Hit) {
	for i := range talks {
		talks[i].with, talks[i].said = 0, talks[i].said[:0]
	}
	var with []spoken
	terms := make([]uint32, len(s.parts))
	for i := range s.parts {
		sh := &s.parts[i]
		t, ok := sh.findTerm(name)
		if !ok || !sh.hasSequences() || len(sh.talk.speaking) == 0 {
			continue
		}
		terms[i] = t
		numbers := sh.talk.speaking
		for _, p := range sh.listIn(&sh.room, t) {
			in := &sh.passages[p.Passage]
			if n := numbers[sh.sequenceOfPassage(in)]; n != 0 && p.Count > 0 {
				talks[n-1].with++
				with = append(with, spoken{talk: n - 1, place: place{int32(i), in.Entry}})
			}
		}
	}
	s.judge(talks, texts)
	for _, text := range with {
		k, sh := &talks[text.talk], &s.parts[text.part]
		if k.near == 0 {
			continue
		}
		n, name := sh.ordinals[text.entry], terms[text.part]
		if k.near>>(n/nearPart)&1 != 0 && s.addressing(text.place, name, hits) {
			k.said = append(k.said, n)
		}
	}
	for i := range talks {
		slices.Sort(talks[i].said) // mostly they are
		talks[i].said = slices.Compact(talks[i].said)
	}
}

// addressing reports whether a text speaks to somebody whose name is a term, and may be found.
func (s *search) addressing(at place, term uint32, hits map[place]*loci.Hit) bool {
	sh := &s.parts[at.part]
	if e := sh.seen(at.entry); !unsigned(e) || !sh.opensWith(e.first, term) {
		return false
	}
	return hits[at] != nil || s.filter.SelectsHeader(sh.headerOf(at.entry, &s.room))
}

// opensWith reports whether a term is among the first words of a passage.
func (sh *scoring) opensWith(passage, term uint32) bool {
	n := 0
	for _, w := range sh.wordsIn(&sh.targets.room, passage) {
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

// judge notes the places of the texts of talks in which several have the name at hand, and which of them are near hits.
func (s *search) judge(talks []speaking, texts []spoken) {
	fresh := make([]bool, len(talks))
	some := false
	for i := range talks {
		if k := &talks[i]; !k.judged && k.with >= leastAddress {
			k.judged = true
			if fresh[i] = s.isTalk(k.of); fresh[i] {
				s.number(k.of)
				some = true
			}
		}
	}
	if !some {
		return
	}
	for _, text := range texts {
		if fresh[text.talk] {
			part := s.parts[text.part].ordinals[text.entry] / nearPart
			talks[text.talk].near |= 7 << part >> 1
		}
	}
}

// isTalk reports whether people talk to each other in a sequence. That is known until it changes.
func (s *search) isTalk(of sequenceOf) bool {
	q := &s.parts[of.first].shard.sequences[of.number]
	known := atomic.LoadUint32(&q.talk)
	if known != unknownTalk {
		return known == isTalk
	}
	talking := 0
	for i := int(of.first); i < len(s.parts) && s.parts[i].first == int(of.first); i++ {
		s.parts[i].members(q, func(entry uint32) {
			e := s.parts[i].seen(entry)
			switch {
			case e.speaker == loci.SpeakerAssistant || e.speaker == loci.SpeakerLikelyAssistant:
				talking--
			case e.traits&(retrieval.Asks|retrieval.AsksYou|retrieval.ToOthers) != 0:
				talking++
			}
		})
	}
	known = noTalk
	if talking*talkPart >= q.alive {
		known = isTalk
	}
	atomic.StoreUint32(&q.talk, known) // by searches beside each other, to the same
	return known == isTalk
}

// What is known of a sequence.
const (
	unknownTalk = iota
	isTalk
	noTalk
)

// number notes of the texts of a sequence which place each has, from 0. A part has its own in order, and mostly one has
// all of them, or each those after all of another.
func (s *search) number(of sequenceOf) {
	q := &s.parts[of.first].shard.sequences[of.number]
	type run struct {
		part     int
		from, to int
		ends     [2]member
	}
	var runs []run
	list := s.members[:0]
	for i := int(of.first); i < len(s.parts) && s.parts[i].first == int(of.first); i++ {
		sh, from := &s.parts[i], len(list)
		if list = sh.membersIn(q, list); len(list) > from {
			sh.ordinals = resize(sh.ordinals, sh.allEntries())
			runs = append(runs, run{i, from, len(list), [2]member{sh.member(list[from]), sh.member(list[len(list)-1])}})
		}
	}
	s.members = list
	slices.SortFunc(runs, func(a, b run) int { return a.ends[0].compare(b.ends[0]) })
	n, mixed := int32(0), false
	for i, r := range runs {
		mixed = mixed || i > 0 && runs[i-1].ends[1].compare(r.ends[0]) > 0
		ordinals := s.parts[r.part].ordinals
		for _, entry := range list[r.from:r.to] {
			ordinals[entry] = n
			n++
		}
	}
	if !mixed {
		return
	}
	all := make([]neighbour, 0, n)
	for _, r := range runs {
		for _, entry := range list[r.from:r.to] {
			all = append(all, neighbour{s.parts[r.part].member(entry), place{int32(r.part), entry}})
		}
	}
	slices.SortFunc(all, func(a, b neighbour) int { return a.compare(b.member) })
	for i, m := range all {
		s.parts[m.part].ordinals[m.place.entry] = int32(i)
	}
}

// member is an entry of a part at its place in a sequence.
func (sh *scoring) member(entry uint32) member {
	e := sh.seen(entry)
	return member{e.position, e.id, entry}
}

// saidBy is 1 if somebody who is spoken to at some places says what stands at another one, −1 if who speaks
// to him does, and 0 if that is not known.
func saidBy(addressed []int32, text int32) int {
	var by [2]int
	first, _ := slices.BinarySearch(addressed, text-farAddress)
	for _, at := range addressed[first:] {
		far := at - text
		if far > farAddress {
			break
		}
		by[far&1]++
	}
	switch {
	case by[1] >= leastAddress && by[1] >= clearAddress*by[0]:
		return 1
	case by[0] >= leastAddress && by[0] >= clearAddress*by[1]:
		return -1
	}
	return 0
}
