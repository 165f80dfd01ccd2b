package index

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/segment"
)

// mapped is a part of a shard that lies in a segment. What of it is removed is noted here.
type mapped struct {
	*segment.Segment
	keeper any // while it is referred to, the bytes of the segment stay

	shard  *shard // that it is a part of
	matrix *vector.Matrix
	counts counts
	dead   []uint64 // by entry, a bit
	gone   int      // entries

	stemmed bool // see hasStems

	lessHolders map[uint32]uint32    // by term: passages removed
	lessUses    map[uint32]uint32    // by spelling: uses removed
	numbers     []uint32             // by sequence of the segment, from 1: its number in the shard
	living      []uint32             // by sequence of the segment, from 1: entries alive
	lengths     []uint64             // by sequence of the segment, from 1: of the passages alive
	expiries    map[uint32]time.Time // that were moved

	noting sync.Mutex // searches are side by side
	tagged map[string][]uint64
	peaks  map[uint32]peak    // by term; what is removed stays in them
	heard  map[uint32][]heard // by term; nil: it says no less than the postings
	hears  int                // of all terms

	packs     map[uint32]*packed // by term
	packedNow int                // postings, of all terms
}

// heard is how often a sequence of a segment says a term.
type heard struct{ sequence, count uint32 }

// newMapped makes a part of a segment in which nothing is removed.
func newMapped(g *segment.Segment, dims int, keeper any) *mapped {
	m := &mapped{Segment: g, keeper: keeper, dead: make([]uint64, (g.Len()+63)/64),
		lessHolders: map[uint32]uint32{}, lessUses: map[uint32]uint32{}}
	if dims > 0 {
		m.matrix = vector.Of(dims, g.Scales, g.Codes)
		m.matrix.Use(g.Sketch)
		m.matrix.Look(g)
	}
	m.stemmed = g.HasTerms(retrieval.StemsFrom, retrieval.StemsTo)
	n := g.Sequences()
	m.numbers, m.living, m.lengths = make([]uint32, n+1), make([]uint32, n+1), make([]uint64, n+1)
	copy(m.lengths[1:], g.Lengths)
	for i := range g.Passages {
		m.counts.length += uint64(g.Passages[i].Length)
	}
	for i := 1; i <= n; i++ {
		_, members := g.Sequence(uint32(i))
		m.living[i] = uint32(len(members))
		m.counts.contextLength += m.lengths[i]
	}
	m.counts.passages = len(g.Passages)
	return m
}

// attach makes the sequences of the part those of a shard.
func (m *mapped) attach(s *shard) {
	for i := 1; i < len(m.numbers); i++ {
		m.numbers[i] = 0
		if m.living[i] == 0 {
			continue
		}
		name, _ := m.Sequence(uint32(i))
		n := s.sequenceNamed(name, int(m.living[i]))
		q := &s.sequences[n]
		q.length += m.lengths[i]
		q.stored = append(q.stored, stored{m, uint32(i)})
		m.numbers[i] = n
	}
}

// remove takes out a record, if it is there.
func (m *mapped) remove(id loci.ID) {
	n, ok := m.find(id)
	if !ok {
		return
	}
	m.dead[n/64] |= 1 << (n % 64)
	m.gone++
	delete(m.expiries, n)
	e := m.Entry(n)
	var words, terms []uint32
	for at := e.First; at < e.First+e.Passages; at++ {
		words, terms = m.Words(words[:0], at), terms[:0]
		for _, w := range words {
			m.lessUses[w>>1]++
			terms = append(terms, m.termOf(w>>1))
		}
		slices.Sort(terms)
		for _, t := range slices.Compact(terms) {
			m.lessHolders[t]++
			m.unpack(t)
		}
		m.counts.passages--
		m.counts.length -= uint64(m.Passages[at].Length)
		if e.Sequence != 0 {
			m.lengths[e.Sequence] -= uint64(m.Passages[at].Length)
			m.counts.contextLength -= uint64(m.Passages[at].Length)
			m.shard.sequences[m.numbers[e.Sequence]].length -= uint64(m.Passages[at].Length)
		}
	}
	if e.Sequence != 0 {
		m.heard, m.hears = nil, 0
		m.living[e.Sequence]--
		m.shard.leave(m.numbers[e.Sequence])
	}
}

// setExpiry moves the time at which a record expires, if it is there.
func (m *mapped) setExpiry(id loci.ID, at time.Time) {
	if n, ok := m.find(id); ok {
		if m.expiries == nil {
			m.expiries = map[uint32]time.Time{}
		}
		m.expiries[n] = at
	}
}

func (m *mapped) isDead(n uint32) bool { return m.dead[n/64]&(1<<(n%64)) != 0 }

func (m *mapped) alive() counts { return m.counts }

func (m *mapped) allEntries() int { return m.Len() }

func (m *mapped) allPassages() []passage { return m.Passages }

func (m *mapped) sequenceOfPassage(p *passage) uint32 { return m.numbers[p.Sequence] }

func (m *mapped) hasSequences() bool { return m.Sequences() > 0 }

func (m *mapped) findTerm(name string) (uint32, bool) { return m.FindTerm(name) }

func (m *mapped) hasStems() bool { return m.stemmed }

func (m *mapped) holding(term uint32) int { return int(m.Holders[term] - m.lessHolders[term]) }

func (m *mapped) list(term uint32) []posting { return m.listIn(new([]posting), term) }

func (m *mapped) listIn(room *[]posting, term uint32) []posting {
	list := m.Postings((*room)[:0], term)
	*room = list
	if m.gone > 0 && m.lessHolders[term] > 0 {
		list = slices.DeleteFunc(list, func(p posting) bool { return m.isDead(m.Passages[p.Passage].Entry) })
	}
	return list
}

// notedFrom is how many passages hold a term of which a segment notes more than the postings say.
const notedFrom = 256

func (m *mapped) peak(room *[]posting, term uint32) (p peak, noted bool) {
	if m.Holders[term] < notedFrom {
		return p, false
	}
	m.noting.Lock()
	defer m.noting.Unlock()
	if p, noted = m.peaks[term]; noted {
		return p, true
	}
	if m.peaks == nil {
		m.peaks = map[uint32]peak{}
	}
	p = peakIn(m.listIn(room, term), m.Passages)
	m.peaks[term] = p
	return p, true
}

func (m *mapped) eachHeard(room *[]posting, term uint32, hear func(sequence, count uint32)) bool {
	if m.Holders[term] < notedFrom {
		return false
	}
	list := m.heardOf(room, term)
	for _, h := range list {
		hear(m.numbers[h.sequence], h.count)
	}
	return list != nil
}

// heardOf lists the sequences that say a term; nil: reading them would cost as much as the postings.
func (m *mapped) heardOf(room *[]posting, term uint32) []heard {
	m.noting.Lock()
	defer m.noting.Unlock()
	list, noted := m.heard[term]
	if noted {
		return list
	}
	counts := make([]uint32, m.Sequences()+1)
	postings := m.listIn(room, term)
	for _, p := range postings {
		if q := m.Passages[p.Passage].Sequence; q != 0 {
			counts[q] += p.Count
		}
	}
	for q, count := range counts {
		if count > 0 {
			list = append(list, heard{uint32(q), count})
		}
	}
	if len(list)*8 > len(postings)*7 {
		list = nil
	}
	if m.heard == nil || m.hears+len(list) > 2*len(m.Passages) {
		m.heard, m.hears = map[uint32][]heard{}, 0
	}
	m.heard[term] = list
	m.hears += len(list)
	return list
}

func (m *mapped) countTerms(t *targets, passage uint32) {
	if m.isDead(m.Passages[passage].Entry) {
		return
	}
	t.room = m.TermsOf(t.room[:0], passage, t.terms)
	for _, term := range t.room {
		t.add(term)
	}
}

func (m *mapped) members(q *sequence, visit func(entry uint32)) {
	for _, in := range q.stored {
		if in.in != m {
			continue
		}
		_, members := m.Sequence(in.n)
		for _, n := range members {
			if !m.isDead(n) {
				visit(n)
			}
		}
	}
}

func (m *mapped) membersIn(q *sequence, to []uint32) []uint32 {
	for _, in := range q.stored {
		if in.in != m {
			continue
		}
		_, members := m.Sequence(in.n)
		from := len(to)
		if to = append(to, members...); m.gone > 0 {
			to = append(to[:from], slices.DeleteFunc(to[from:], m.isDead)...)
		}
	}
	return to
}

// wordsOf gives the form of a segment, which has the mark for a word without a position
// below its number, that of the heap.
func (m *mapped) wordsOf(passage uint32) []uint32 { return m.wordsIn(new([]uint32), passage) }

func (m *mapped) wordsIn(room *[]uint32, passage uint32) []uint32 {
	if m.isDead(m.Passages[passage].Entry) {
		return nil
	}
	words := m.Words((*room)[:0], passage)
	*room = words
	for i, w := range words {
		words[i] = w>>1 | w&1*overlaid
	}
	return words
}

func (m *mapped) termOf(word uint32) uint32 {
	t, _ := m.TermOf(word)
	return t
}

func (m *mapped) isWord(spelling string) bool {
	n, ok := m.FindSpelling(spelling)
	if !ok || !m.isSaid(n) {
		return false
	}
	_, stop := m.TermOf(n)
	return !stop
}

// isSaid reports whether some memory that is not removed says a word.
func (m *mapped) isSaid(spelling uint32) bool { return m.Uses[spelling] > m.lessUses[spelling] }

func (m *mapped) beginning(prefix string) wordsAndTerms {
	out := wordsAndTerms{map[uint32]bool{}, map[uint32]bool{}}
	first, last := m.Beginning(prefix)
	for n := first; n < last; n++ {
		if term, stop := m.TermOf(n); !stop && m.isSaid(n) {
			out.words[n], out.terms[term] = true, true
		}
	}
	return out
}

func (m *mapped) allMarks() []retrieval.Mark {
	return unsafe.Slice((*retrieval.Mark)(unsafe.SliceData(m.Marks)), len(m.Marks))
}

func (m *mapped) spelled(n uint32) (spelling, term string) {
	if !m.isSaid(n) {
		return "", ""
	}
	return m.Spelling(n), m.Term(m.termOf(n))
}

func (m *mapped) find(id loci.ID) (uint32, bool) {
	n, ok := m.Find(id)
	return n, ok && !m.isDead(n)
}

func (m *mapped) seen(n uint32) seen {
	e := m.Entry(n)
	return seen{e.ID, e.Version, time.UnixMilli(e.Created).UTC(), e.First, e.Passages, m.numbers[e.Sequence],
		e.Position, speakerIn(e.Flags), signatureIn(e.Flags), traitsIn(e.Flags), !m.isDead(n), e.Flags&flagLazy != 0}
}

func (m *mapped) standing(n uint32) (id loci.ID, created moment, first, passages uint32) {
	e := m.Entry(n)
	return e.ID, momentAt(e.Created), e.First, e.Passages
}

func (m *mapped) firstOf(n uint32) uint32 { return m.Entry(n).First }

func (m *mapped) numberOf(n uint32) uint32 { return m.Entry(n).Number }

func (m *mapped) placeOf(n uint32) uint32 { return placeIn(m.Rest(n)) }

func (m *mapped) headerOf(n uint32, room *loci.Record) *loci.Record {
	tags := room.Tags[:0] // one list for all that a search looks at
	*room = loci.Record{Tags: tags}
	m.readRecord(n, room)
	return room
}

func (m *mapped) textOf(n uint32) (text, heading string, ok bool) {
	if m.Entry(n).Flags&flagTexted == 0 {
		return "", "", false
	}
	r := m.recordOf(n)
	return strings.Clone(r.Text), strings.Clone(r.Heading), true
}

// mostTags is for how many tags a segment notes which entries have them.
const mostTags = 64

// taggedWith is a bit for each entry that has a tag. Making it looks at all entries, so
// that those who search for what few have do not.
func (m *mapped) taggedWith(tag string) []uint64 {
	m.noting.Lock()
	defer m.noting.Unlock()
	if bits := m.tagged[tag]; bits != nil {
		return bits
	}
	bits := make([]uint64, len(m.dead))
	var r loci.Record
	for n := range uint32(m.Len()) {
		r = loci.Record{Tags: r.Tags[:0]}
		if readRest(m.Rest(n), &r); slices.Contains(r.Tags, tag) {
			bits[n/64] |= 1 << (n % 64)
		}
	}
	if m.tagged == nil || len(m.tagged) >= mostTags {
		m.tagged = map[string][]uint64{}
	}
	m.tagged[strings.Clone(tag)] = bits
	return bits
}

func (m *mapped) withTags(tags []string) (bits []uint64) {
	for i, tag := range tags {
		have := m.taggedWith(tag)
		if i == 0 {
			bits = slices.Clone(have)
		}
		for j := range bits {
			bits[j] &= have[j]
		}
	}
	return bits
}

// recordOf is what is known of an entry. Its strings share the bytes of the segment.
func (m *mapped) recordOf(n uint32) (r loci.Record) {
	m.readRecord(n, &r)
	return r
}

// readRecord fills in an empty record.
func (m *mapped) readRecord(n uint32, r *loci.Record) {
	e := m.Entry(n)
	r.ID, r.Kind, r.Namespace, r.Version = e.ID, m.shard.key.Kind, m.shard.namespace, e.Version
	r.Live, r.CreatedAt = true, time.UnixMilli(e.Created).UTC()
	if e.Flags&flagNamed != 0 {
		name, _ := m.Sequence(e.Sequence)
		r.Sequence = m.shard.nameIn(name)
		r.Position = e.Position
	}
	readRest(m.Rest(n), r) // a checksum has shown that nothing is wrong with it
	if at, moved := m.expiries[n]; moved {
		r.ExpiresAt = at
	}
}

func (m *mapped) near(q *sequence, at member, visit func(side int, m member)) {
	for _, in := range q.stored {
		if in.in != m {
			continue
		}
		_, members := m.Sequence(in.n)
		get := func(i int) member {
			e := m.Entry(members[i])
			return member{e.Position, e.ID, members[i]}
		}
		i, _ := slices.BinarySearchFunc(members, at, func(n uint32, at member) int {
			e := m.Entry(n)
			return cmp.Or(cmp.Compare(e.Position, at.position), bytes.Compare(e.ID[:], at.id[:]))
		})
		nearest(i, len(members), func(i int) (member, bool) {
			return get(i), !m.isDead(members[i]) && m.Entry(members[i]).ID != at.id
		}, visit)
	}
}

func (m *mapped) embeddings() (*vector.Matrix, []uint32) { return m.matrix, m.Rows }

func (m *mapped) hasRow(row int) bool { return !m.isDead(m.Passages[m.Rows[row]].Entry) }
