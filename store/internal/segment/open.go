package segment

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"unsafe"
)

// A Segment is read where its bytes lie: they must stay as they are as long as it is used.
// Lists and strings that it returns share them. What reads a block that is damaged panics with
// a [DamageError].
type Segment struct {
	Sum  uint32 // it tells this one from others of the same origin
	Size int    // bytes

	Passages []Passage
	Holders  []uint32 // by term: its postings
	Uses     []uint32 // by spelling: how often it stands in passages
	Marks    []uint32 // by spelling
	Lengths  []uint64 // by sequence, from 0
	Rows     []uint32 // passage of each row
	Scales   []float32
	Codes    []int8 // in blocks: see [Segment.Check]
	Sketch   []byte // of the rows, in blocks; empty: there is none

	blocks  []byte
	sums    []uint32
	checked []atomic.Uint64 // by block, a bit
	codes   checkedWhole

	entries   []Entry         // in blocks, or before them: see format
	entriesAt int             // where they begin in the blocks; -1: they lie before
	before    uint            // entries that had room in the blocks before the first one
	seen      []atomic.Uint64 // by block, a bit: those with entries that were looked at
	rests     []byte          // in blocks
	byID      []uint32
	words     blob // in blocks
	spellings blob
	wordTerms []uint32
	terms     blob
	postings  blob // in blocks
	names     blob
	starts    []uint32 // of the members of each sequence
	members   []uint32
}

// Open reads the bytes of a segment of an origin. It looks at all but the blocks: the sum shows
// damage, and a second look that nothing refers to what is not there.
func Open(b []byte, origin Origin) (*Segment, error) {
	if len(b) < headerBytes || !Supported() || uintptr(unsafe.Pointer(unsafe.SliceData(b)))%8 != 0 {
		return nil, ErrUnusable
	}
	list, _ := listOf[header](b[:headerBytes])
	h := list[0]
	if h.Magic != magic || h.Format < oldest || h.Format > format || h.Length != uint64(len(b)) || h.Origin != origin ||
		h.Blocks < uint64(headerBytes) || h.Blocks > uint64(len(b)) || h.Blocks%align != 0 ||
		h.Sum != crc32.Checksum(b[sumFrom:h.Blocks], castagnoli) {
		return nil, ErrUnusable
	}
	r := reader{bytes: b, header: &h, ok: true}
	s := &Segment{
		Sum: h.Sum, Size: len(b),
		entries: take[Entry](&r, sectionEntries), rests: take8(&r, sectionRests), byID: take[uint32](&r, sectionByID),
		Passages: take[Passage](&r, sectionPassages), words: r.blob(sectionWordStarts, sectionWords),
		spellings: r.blob(sectionSpellingStarts, sectionSpellings), wordTerms: take[uint32](&r, sectionSpellingTerms),
		Uses: take[uint32](&r, sectionUses), Marks: take[uint32](&r, sectionMarks),
		terms: r.blob(sectionTermStarts, sectionTerms), Holders: take[uint32](&r, sectionHolders),
		postings: r.blob(sectionPostingStarts, sectionPostings), names: r.blob(sectionNameStarts, sectionNames),
		starts: take[uint32](&r, sectionMemberStarts), members: take[uint32](&r, sectionMembers),
		Lengths: take[uint64](&r, sectionLengths), Rows: take[uint32](&r, sectionRows),
		Scales: take[float32](&r, sectionScales), Codes: take[int8](&r, sectionCodes),
		Sketch: take8(&r, sectionSketch), blocks: b[h.Blocks:], sums: take[uint32](&r, sectionSums),
	}
	if !r.ok || len(s.sums) != blocks(len(s.blocks)) || !s.fits(int(origin.Dims)) {
		return nil, ErrUnusable
	}
	for _, sorted := range []*blob{&s.terms, &s.spellings} {
		if sorted.len() >= leastFirsts {
			sorted.firsts = &firsts{}
		}
	}
	s.checked = make([]atomic.Uint64, (len(s.sums)+63)/64)
	if !s.findEntries(int(h.Sections[sectionEntries].Start) - int(h.Blocks)) {
		return nil, ErrUnusable
	}
	return s, nil
}

// findEntries notes where in the blocks the entries begin. Those before the blocks are looked at.
func (s *Segment) findEntries(at int) bool {
	if s.entriesAt, s.before, s.seen = at, uint(at)/entryBytes, s.checked; at >= 0 {
		return true
	}
	s.entriesAt, s.before = -1, 0
	s.seen = make([]atomic.Uint64, len(s.entries)*entryBytes/blockBytes/64+1)
	for i := range s.seen {
		s.seen[i].Store(^uint64(0))
	}
	return s.fitEach(0, len(s.entries))
}

// CheckAll looks at all blocks, and that entries and passages fit one another. It returns [ErrUnusable] if
// something is wrong.
func (s *Segment) CheckAll() error {
	for n := range s.sums {
		if crc32.Checksum(block(s.blocks, n), castagnoli) != s.sums[n] || !s.fitIn(n) {
			return ErrUnusable
		}
		s.checked[n/64].Or(1 << (n % 64))
	}
	if !s.fitEntries() {
		return ErrUnusable
	}
	return nil
}

// Len is how many entries there are.
func (s *Segment) Len() int { return len(s.entries) }

// Entry is that of a number. It lies in one block, as both begin at multiples of its length.
func (s *Segment) Entry(n uint32) *Entry {
	if b := (s.before + uint(n)) / (blockBytes / entryBytes); s.seen[b/64].Load()>>(b%64)&1 == 0 {
		s.checkBlock(int(b))
	}
	return &s.entries[n]
}

// reader takes sections apart.
type reader struct {
	bytes  []byte
	header *header
	ok     bool
}

func take8(r *reader, section int) []byte { return r.bytesAt(r.header.Sections[section]) }

func (r *reader) bytesAt(at span) []byte {
	n := uint64(len(r.bytes))
	if at.Start > n || at.Length > n-at.Start || at.Start%align != 0 {
		r.ok = false
		return nil
	}
	return r.bytes[at.Start : at.Start+at.Length : at.Start+at.Length]
}

func take[T plain](r *reader, section int) []T {
	list, ok := listOf[T](take8(r, section))
	r.ok = r.ok && ok
	return list
}

func (r *reader) blob(starts, bytes int) blob {
	b := blob{starts: take[uint32](r, starts), bytes: take8(r, bytes)}
	r.ok = r.ok && ascending(b.starts, len(b.bytes))
	return b
}

// ascending reports whether starts are those of parts of so much, one after another.
func ascending(starts []uint32, all int) bool {
	return len(starts) > 0 && starts[0] == 0 && uint64(starts[len(starts)-1]) == uint64(all) &&
		slices.IsSorted(starts)
}

func (b *blob) len() int { return len(b.starts) - 1 }

func (b *blob) at(n uint32) []byte { return b.bytes[b.starts[n]:b.starts[n+1]] }

func (b *blob) text(n uint32) string { return text(b.at(n)) }

// text is bytes as a string where they lie.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fits reports whether the sections fit one another.
func (s *Segment) fits(dims int) bool {
	return s.fitCounts(dims) && s.fitPassages() &&
		below(s.byID, len(s.entries)) && below(s.Rows, len(s.Passages)) && below(s.members, len(s.entries)) &&
		!slices.ContainsFunc(s.wordTerms, func(t uint32) bool { return int(t>>1) >= s.terms.len() })
}

func (s *Segment) fitCounts(dims int) bool {
	spellings, terms, sequences := s.spellings.len(), s.terms.len(), s.names.len()
	return len(s.byID) == len(s.entries) && s.words.len() == len(s.Passages) &&
		len(s.wordTerms) == spellings && len(s.Uses) == spellings && len(s.Marks) == spellings &&
		len(s.Holders) == terms && s.postings.len() == terms &&
		len(s.Lengths) == sequences && len(s.starts) == sequences+1 && ascending(s.starts, len(s.members)) &&
		len(s.Scales) == len(s.Rows) && len(s.Codes) == len(s.Rows)*dims
}

// fitIn is fitEach of the entries in a block.
func (s *Segment) fitIn(n int) bool {
	if s.entriesAt < 0 {
		return true
	}
	from := min(max(n*blockBytes-s.entriesAt, 0)/entryBytes, len(s.entries))
	to := min(max((n+1)*blockBytes-s.entriesAt, 0)/entryBytes, len(s.entries))
	return s.fitEach(from, to)
}

// fitEach reports whether entries refer to nothing outside of the segment.
func (s *Segment) fitEach(from, to int) bool {
	for i := from; i < to; i++ {
		if !s.fitsEntry(&s.entries[i]) {
			return false
		}
	}
	return true
}

func (s *Segment) fitsEntry(e *Entry) bool {
	return uint64(e.First)+uint64(e.Passages) <= uint64(len(s.Passages)) && uint64(e.Rest) <= uint64(len(s.rests)) &&
		int(e.Sequence) <= s.names.len()
}

// fitEntries reports whether the entries lie one after another, and the passages are theirs.
func (s *Segment) fitEntries() bool {
	next, rest := uint64(0), uint32(0)
	for i := range s.entries {
		e := &s.entries[i]
		if !s.fitsEntry(e) || uint64(e.First) != next || e.Rest < rest {
			return false
		}
		for _, p := range s.Passages[e.First : e.First+e.Passages] {
			if p.Entry != uint32(i) {
				return false
			}
		}
		next, rest = next+uint64(e.Passages), e.Rest
	}
	return next == uint64(len(s.Passages))
}

func (s *Segment) fitPassages() bool {
	for i := range s.Passages {
		p := &s.Passages[i]
		if int(p.Entry) >= len(s.entries) || int(p.Sequence) > s.names.len() ||
			p.Row < -1 || int(p.Row) >= len(s.Rows) {
			return false
		}
	}
	return true
}

func below(list []uint32, limit int) bool {
	return !slices.ContainsFunc(list, func(n uint32) bool { return int(n) >= limit })
}

// Find returns the number of an entry.
func (s *Segment) Find(id [16]byte) (n uint32, found bool) {
	i := sort.Search(len(s.byID), func(i int) bool { return string(s.ByID(i).ID[:]) >= string(id[:]) })
	if i == len(s.byID) || s.ByID(i).ID != id {
		return 0, false
	}
	return s.byID[i], true
}

// ByID is the i-th entry in the order of ids, from 0.
func (s *Segment) ByID(i int) *Entry { return s.Entry(s.byID[i]) }

// Rest is what else is known of an entry.
func (s *Segment) Rest(n uint32) []byte {
	begin, end := s.Entry(n).Rest, uint32(len(s.rests))
	if int(n)+1 < len(s.entries) {
		end = s.Entry(n + 1).Rest
	}
	if begin > end {
		panic(&DamageError{int(n)})
	}
	b := s.rests[begin:end]
	s.Check(b)
	return b
}

// Words appends the words of a passage to a list: see [Data.Words].
func (s *Segment) Words(to []uint32, passage uint32) []uint32 {
	b := s.wordsOf(passage)
	to = slices.Grow(to, len(b))
	words := uint64(len(s.wordTerms))
	for at := 0; at < len(b); {
		n, next := uint64(b[at]), at+1
		if n >= 0x80 {
			if next < len(b) && b[next] < 0x80 { // as most have
				n, next = n&0x7f|uint64(b[next])<<7, next+1
			} else if n, next = number(b, at); next < 0 {
				break
			}
		}
		if n>>1 >= words {
			break
		}
		to, at = append(to, uint32(n)), next
	}
	return to
}

// wordsOf are the bytes of the words of a passage.
func (s *Segment) wordsOf(passage uint32) []byte {
	b := s.words.at(passage)
	s.Check(b)
	return b
}

// TermsOf appends the terms of the words of a passage to a list, those alone whose bit is among some: that of their
// number, of 64.
func (s *Segment) TermsOf(to []uint32, passage uint32, among uint64) []uint32 {
	b := s.wordsOf(passage)
	to = slices.Grow(to, len(b))
	out, k := to[len(to):cap(to)], 0
	for at := 0; at < len(b) && k < len(out); {
		var more int
		more, at = shortWords(out[k:], b, at, s.wordTerms, among)
		if k += more; at >= len(b) || k >= len(out) {
			break
		}
		word, next := number(b, at)
		if word >>= 1; next < 0 || word >= uint64(len(s.wordTerms)) {
			break
		}
		term := s.wordTerms[word] >> 1
		out[k] = term
		k, at = k+int(among>>(term%64)&1), next
	}
	return to[:len(to)+k]
}

// number is [binary.Uvarint] of what begins at a place, and where the next begins; -1: there is none.
func number(b []byte, at int) (n uint64, next int) {
	if b := b[at:]; len(b) > 2 && b[0] >= 0x80 && b[1] >= 0x80 && b[2] < 0x80 {
		return uint64(b[0]&0x7f) | uint64(b[1]&0x7f)<<7 | uint64(b[2])<<14, at + 3
	}
	n, size := binary.Uvarint(b[at:])
	if size <= 0 {
		return 0, -1
	}
	return n, at + size
}

// Spellings returns how many there are.
func (s *Segment) Spellings() int { return len(s.wordTerms) }

// Spelling returns a word as it is written.
func (s *Segment) Spelling(n uint32) string { return s.spellings.text(n) }

// TermOf returns the term of a spelling, and whether it is a stop word.
func (s *Segment) TermOf(n uint32) (term uint32, stop bool) {
	return s.wordTerms[n] >> 1, s.wordTerms[n]&1 != 0
}

// FindSpelling returns the number of a spelling.
func (s *Segment) FindSpelling(spelling string) (n uint32, found bool) {
	return s.spellings.search(spelling)
}

// Beginning returns the spellings that begin so: from the first to before the last.
func (s *Segment) Beginning(prefix string) (first, last uint32) {
	first, _ = s.spellings.search(prefix)
	n := sort.Search(len(s.wordTerms)-int(first), func(i int) bool {
		return !strings.HasPrefix(s.Spelling(first+uint32(i)), prefix)
	})
	return first, first + uint32(n)
}

// FindTerm returns the number of a term.
func (s *Segment) FindTerm(name string) (n uint32, found bool) { return s.terms.search(name) }

// HasTerms reports whether there are terms from one on that come before another one.
func (s *Segment) HasTerms(from, to string) bool {
	n, _ := s.terms.search(from)
	return int(n) < s.terms.len() && s.terms.text(n) < to
}

// Term returns the name of a term.
func (s *Segment) Term(n uint32) string { return s.terms.text(n) }

// Postings appends those of a term to a list.
func (s *Segment) Postings(to []Posting, term uint32) []Posting {
	b, passage, passages := s.postings.at(term), uint64(0), uint64(len(s.Passages))
	s.Check(b)
	had := len(to)
	to = slices.Grow(to, int(min(s.Holders[term], uint32(len(b)))))
	out, n := to[had:cap(to)], 0
	for at := 0; at < len(b) && n < len(out); {
		var more int
		more, at, passage = shortPostings(out[n:], b, at, passage, passages)
		if n += more; at >= len(b) || n >= len(out) {
			break
		}
		step, next := number(b, at)
		if next < 0 {
			break
		}
		count := uint64(1)
		if step&1 != 0 {
			if count, next = number(b, next); next < 0 {
				break
			}
		}
		if passage += step >> 1; passage >= passages {
			break
		}
		out[n] = Posting{uint32(passage), uint32(count)}
		n, at = n+1, next
	}
	return to[:had+n]
}

// Sequences returns how many there are.
func (s *Segment) Sequences() int { return len(s.Lengths) }

// Sequence returns the name of a sequence, from 1, and its entries in their order.
func (s *Segment) Sequence(n uint32) (name string, members []uint32) {
	return s.names.text(n - 1), s.members[s.starts[n-1]:s.starts[n]]
}
