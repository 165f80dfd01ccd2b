package index

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/store/internal/segment"
)

// analyser is the version of what makes words, marks, places and speakers of records. A
// test notices when they change; then it must grow, so that no older segment is read. It also grew when sketches
// got another form: without one all vectors of a segment are compared.
const analyser = 11

// Flags of entries in segments.
const (
	flagLazy   = segment.User1
	flagTexted = segment.User2
	flagNamed  = segment.User3 // the record names its sequence

	traitShift = 12 // the lowest of the bits of its traits
)

func traitsIn(flags uint32) retrieval.Traits {
	return retrieval.Traits(flags >> traitShift & (1<<retrieval.TraitBits - 1))
}

// OriginOf is the origin of segments of a shard: token names the file and the shard in it.
func OriginOf(token [16]byte, space loci.Space) segment.Origin {
	sum := sha256.Sum256([]byte(space.Model))
	o := segment.Origin{Analyser: analyser, Token: token, Dims: uint32(space.Dims)}
	copy(o.Space[:], sum[:])
	return o
}

// Freeze makes a segment of what a shard holds on the heap; what it holds in segments
// is not looked at. It may change how the shard lies in memory.
func (x *Index) Freeze(key Key, origin segment.Origin) []byte {
	s := x.shards[key]
	x.change(s, s.compact)
	f := freezer{shard: s}
	f.spellings()
	f.terms()
	f.entries()
	f.sequences()
	if s.matrix != nil {
		f.data.Rows = s.rows
		f.data.Scales, f.data.Codes = s.matrix.Raw()
		f.data.Sketch = x.sketch(s.matrix)
	}
	return f.data.Encode(origin)
}

// freezer turns the heap's form of a part into that of a segment: words, terms and
// sequences are sorted, and numbered so.
type freezer struct {
	*shard
	data     segment.Data
	word     []uint32 // new number by old one
	term     []uint32
	order    []uint32 // of the terms
	sequence []uint32
}

// sorted numbers what is in use by name.
func sorted(n int, name func(uint32) string, used func(uint32) bool) (order, number []uint32) {
	number = make([]uint32, n)
	for i := range uint32(n) {
		if used(i) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(name(a), name(b)) })
	for i, old := range order {
		number[old] = uint32(i)
	}
	return order, number
}

func (f *freezer) spellings() {
	var order []uint32
	f.order, f.term = sorted(f.listed.len(), func(n uint32) string { return f.listed.at(n).name },
		func(n uint32) bool { return f.listed.at(n).holders > 0 })
	order, f.word = sorted(f.vocabulary.len(), func(n uint32) string { return f.vocabulary.at(n).spelling },
		func(n uint32) bool { return f.vocabulary.at(n).uses > 0 })
	for _, n := range order {
		w := f.vocabulary.at(n)
		f.data.Spellings = append(f.data.Spellings, segment.Spelling{Text: w.spelling, Term: f.term[w.term],
			Stop: w.stop, Uses: w.uses, Mark: uint32(f.marks[n])})
	}
}

func (f *freezer) terms() {
	for _, n := range f.order {
		f.data.Terms = append(f.data.Terms, segment.Term{Name: f.listed.at(n).name, Postings: f.listed.at(n).postings})
	}
}

func (f *freezer) entries() {
	var order []uint32
	order, f.sequence = sorted(len(f.shard.sequences), func(n uint32) string { return f.shard.sequences[n].name },
		func(n uint32) bool { return n > 0 && len(f.shard.sequences[n].members) > 0 })
	for _, n := range order {
		f.data.Sequences = append(f.data.Sequences, segment.Sequence{Name: f.shard.sequences[n].name})
	}
	number := func(old uint32) uint32 {
		if old == 0 {
			return 0
		}
		return f.sequence[old] + 1
	}
	for i := range f.shard.entries {
		e := &f.shard.entries[i]
		out := segment.Entry{
			ID:       e.record.ID,
			Version:  e.record.Version,
			Created:  e.record.CreatedAt.UnixMilli(),
			Position: e.position,
			First:    e.first,
			Passages: e.passages,
			Sequence: number(e.sequence),
			Number:   e.number,
			Flags:    e.signed.flags(e.speaker) | uint32(e.traits)<<traitShift,
		}
		for flag, set := range map[uint32]bool{segment.Embedded: e.embedded, flagLazy: e.lazy, flagTexted: e.texted,
			flagNamed: e.record.Sequence != "" && e.sequence != 0} {
			if set {
				out.Flags |= flag
			}
		}
		f.data.Entries = append(f.data.Entries, out)
		f.data.Rests = append(f.data.Rests, appendRest(nil, &e.record, e.place))
	}
	for n, p := range f.passages {
		p.Sequence = number(p.Sequence)
		f.data.Passages = append(f.data.Passages, p)
		words := make([]uint32, len(f.words[n]))
		for i, w := range f.words[n] {
			words[i] = f.word[w&^overlaid]<<1 | w/overlaid
		}
		f.data.Words = append(f.data.Words, words)
	}
}

func (f *freezer) sequences() {
	for n, q := range f.shard.sequences {
		if n == 0 || len(q.members) == 0 {
			continue
		}
		out := &f.data.Sequences[f.sequence[n]]
		for _, m := range q.members {
			out.Members = append(out.Members, m.entry)
			e := &f.shard.entries[m.entry]
			for at := e.first; at < e.first+e.passages; at++ {
				out.Length += uint64(f.passages[at].Length)
			}
		}
	}
}

// Attach makes a segment a part of a shard, as if its records were put in one by one,
// without the entries that are gone by now. They must not be there already. The bytes stay
// while the keeper is referred to.
func (x *Index) Attach(key Key, g *segment.Segment, keeper any, gone []uint32) {
	s := x.shards[key]
	x.change(s, func() {
		m := newMapped(g, x.space.Dims, keeper)
		m.shard = s
		s.segments = append(s.segments, m)
		m.attach(s)
		for _, n := range gone {
			if int(n) < g.Len() {
				m.remove(g.Entry(n).ID)
			}
		}
	})
}

// Shelve is Attach for the segment that [Index.Freeze] has just made of what the shard
// holds on the heap, which leaves it.
func (x *Index) Shelve(key Key, g *segment.Segment, keeper any) {
	s := x.shards[key]
	fresh := newShard(s.key, s.space)
	fresh.segments = s.segments
	x.change(s, func() { s.become(fresh) })
	x.Attach(key, g, keeper, nil)
}

// become puts another form of a shard in its place, with the same segments.
func (s *shard) become(fresh *shard) {
	for _, m := range fresh.segments {
		m.attach(fresh)
	}
	fresh.apart = s.apart
	*s = *fresh
	for _, m := range s.segments {
		m.shard = s
	}
}

// Kept is what a segment holds that is attached.
type Kept struct {
	Entries int
	Gone    []uint32 // entries
	Keeper  any
}

// Segments says what segments a shard has, in the order in which they were attached.
func (x *Index) Segments(key Key) (out []Kept) {
	for _, m := range x.shards[key].segments {
		kept := Kept{Entries: m.Len(), Keeper: m.keeper}
		for n := range uint32(m.Len()) {
			if m.isDead(n) {
				kept.Gone = append(kept.Gone, n)
			}
		}
		out = append(out, kept)
	}
	return out
}

// Keepers are those of the segments of a shard.
func (x *Index) Keepers(key Key) (keepers []any) {
	if s := x.shards[key]; s != nil {
		for _, m := range s.segments {
			keepers = append(keepers, m.keeper)
		}
	}
	return keepers
}

// Shelved is how many segments a shard has.
func (x *Index) Shelved(key Key) int { return len(x.shards[key].segments) }

// Records is how many records a shard has.
func (x *Index) Records(key Key) int { return x.shards[key].records() }

// Loose is how many records a shard holds on the heap.
func (x *Index) Loose(key Key) int { return len(x.shards[key].byID) }

// LooseBytes is about how much memory that takes.
func (x *Index) LooseBytes(key Key) int64 {
	s := x.shards[key]
	n := s.bytes()
	for _, m := range s.segments {
		n -= m.bytes()
	}
	return n
}

// Thaw takes what is left of a segment of a shard back to the heap, without
// making its words again.
func (x *Index) Thaw(key Key, number int) {
	s := x.shards[key]
	x.change(s, func() { s.thaw(number) })
}

// Merge takes segments of a shard back to the heap, to become one with what is there when that is frozen: small
// ones, so that there are few, however often one is added, and those of which most is gone. Of one that is gone as
// a whole nothing stays. book is the size of a large one. What is merged takes no more than mergedBytes, about.
func (x *Index) Merge(key Key, book int) { x.merge(key, book, mergedBytes) }

func (x *Index) merge(key Key, book int, bytes int64) {
	books, segments := x.Segments(key), slices.Clone(x.shards[key].segments)
	for n := len(books) - 1; n >= 0; n-- {
		gone, size := len(books[n].Gone), int64(segments[n].Size)
		left := books[n].Entries - gone
		fits := x.Loose(key)+left <= 2*book && x.LooseBytes(key)+size <= bytes
		if left == 0 || fits && (left < book/2 || left < gone) {
			x.Thaw(key, n)
		}
	}
}

// mergedBytes is up to how much memory small segments are taken back to.
const mergedBytes = 128 << 20

// Without makes a segment again, of a shard and a space, without the entries that are gone and
// without some records; nil: nothing is left.
func Without(
	g *segment.Segment, gone []uint32, ids []loci.ID, of Key, space loci.Space, origin segment.Origin,
) []byte {
	key := Key{Kind: of.Kind, Above: of.Above}
	x := New(space)
	x.AddShard(key)
	x.Attach(key, g, nil, gone)
	for _, id := range ids {
		x.Remove("", id)
	}
	x.Thaw(key, 0)
	if x.Loose(key) == 0 {
		return nil
	}
	return x.Freeze(key, origin)
}

func (s *shard) thaw(number int) {
	m := s.segments[number]
	words := slices.Repeat([]uint32{overlaid}, m.Spellings())
	for n := range uint32(m.Len()) {
		if m.isDead(n) {
			continue
		}
		r := m.recordOf(n)
		e := m.Entry(n)
		name := ""
		if e.Sequence != 0 {
			name, _ = m.Sequence(e.Sequence)
		}
		m.remove(e.ID)
		s.put(m, n, &r, name, words)
	}
	s.segments = slices.Delete(s.segments, number, number+1)
	for i := range s.sequences {
		s.sequences[i].stored = slices.DeleteFunc(s.sequences[i].stored, func(in stored) bool { return in.in == m })
	}
}

// put takes over an entry of a segment.
func (s *shard) put(m *mapped, n uint32, r *loci.Record, name string, renumbered []uint32) {
	own(r)
	from := m.Entry(n)
	e := entry{record: *r, alive: true, embedded: from.Flags&segment.Embedded != 0, lazy: from.Flags&flagLazy != 0,
		texted: from.Flags&flagTexted != 0, position: from.Position, speaker: speakerIn(from.Flags),
		signed: signatureIn(from.Flags), traits: traitsIn(from.Flags),
		first: uint32(len(s.passages)), passages: from.Passages, number: from.Number, place: m.placeOf(n)}
	if e.texted {
		s.texts += keptText(r)
	}
	s.attributes += len(r.Attributes)
	number := uint32(len(s.entries))
	s.entries = append(s.entries, e)
	e.sequence = s.join(name, number)
	if from.Flags&flagNamed != 0 {
		e.record.Sequence = s.nameOf(e.sequence)
	}
	for at := from.First; at < from.First+from.Passages; at++ {
		p := m.Passages[at]
		words := m.Words(nil, at)
		for i, w := range words {
			if renumbered[w>>1] == overlaid {
				spelling := strings.Clone(m.Spelling(w >> 1)) // which is mapped
				renumbered[w>>1] = s.word(spelling, hashOf(spelling))
			}
			words[i] = renumbered[w>>1] | w&1*overlaid
		}
		s.adoptText(words, uint32(len(s.passages)))
		if p.Row >= 0 {
			codes := signed(m.Codes[int(p.Row)*s.space.Dims : (int(p.Row)+1)*s.space.Dims])
			m.Check(codes)
			p.Row = int32(s.matrix.AppendQuantized(m.Scales[p.Row], codes))
			s.rows = append(s.rows, uint32(len(s.passages)))
		}
		p.Entry, p.Sequence = number, e.sequence
		s.keep(p, words)
	}
	s.byID[r.ID] = number
	s.entries[number] = e
}

// own gives a record strings of its own.
func own(r *loci.Record) {
	for _, text := range []*string{&r.Slot, &r.Scope, &r.Status, &r.Text, &r.Heading} {
		*text = strings.Clone(*text)
	}
	for i := range r.Tags {
		r.Tags[i] = strings.Clone(r.Tags[i])
	}
	r.Attributes = slices.Clone(r.Attributes)
	r.Sequence = ""
}

func signed(codes []int8) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(codes))), len(codes))
}

// What is known of an entry beyond its 64 bytes, as a mask of what there is and then that.
const (
	restSlot = 1 << iota
	restScope
	restStatus
	restText
	restHeading
	restAttributes
	restTags
	restDecay
	restEnds
	restDue
	restUpdated
	restExpires
	restPlace // the number of its namespace: see [Index.UpsertPlaced]. It comes first
)

// texts and times are the fields of a record that a rest has.
func texts(r *loci.Record) []*string {
	return []*string{&r.Slot, &r.Scope, &r.Status, &r.Text, &r.Heading}
}

func times(r *loci.Record) []*time.Time {
	return []*time.Time{&r.EndsAt, &r.DueAt, &r.UpdatedAt, &r.ExpiresAt}
}

func appendRest(b []byte, r *loci.Record, place uint32) []byte {
	mask := uint64(0)
	if place > 0 {
		mask |= restPlace
	}
	for i, text := range texts(r) {
		if *text != "" {
			mask |= restSlot << i
		}
	}
	for i, at := range times(r) {
		if !at.IsZero() {
			mask |= restEnds << i
		}
	}
	if len(r.Attributes) > 0 {
		mask |= restAttributes
	}
	if len(r.Tags) > 0 {
		mask |= restTags
	}
	if !r.Decay.IsZero() {
		mask |= restDecay
	}
	b = binary.AppendUvarint(b, mask)
	if place > 0 {
		b = binary.AppendUvarint(b, uint64(place))
	}
	for _, text := range texts(r) {
		if *text != "" {
			b = appendText(b, *text)
		}
	}
	for _, at := range times(r) {
		if !at.IsZero() {
			b = binary.AppendVarint(b, at.UnixMilli())
		}
	}
	if len(r.Attributes) > 0 {
		b = appendText(b, string(r.Attributes))
	}
	if len(r.Tags) > 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Tags)))
		for _, tag := range r.Tags {
			b = appendText(b, tag)
		}
	}
	if !r.Decay.IsZero() {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Decay.Confidence))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(r.Decay.Rate))
		b = binary.AppendVarint(b, r.Decay.From.UnixMilli())
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// readRest fills in a record, as far as the bytes go.
func readRest(b []byte, r *loci.Record) {
	d := decoder{b, true}
	mask := d.number()
	if mask&restPlace != 0 {
		d.number()
	}
	for i, text := range texts(r) {
		if mask&(restSlot<<i) != 0 {
			*text = d.text()
		}
	}
	for i, at := range times(r) {
		if mask&(restEnds<<i) != 0 {
			*at = d.time()
		}
	}
	if mask&restAttributes != 0 {
		text := d.text()
		r.Attributes = unsafe.Slice(unsafe.StringData(text), len(text))
	}
	if mask&restTags != 0 {
		for n := d.number(); n > 0 && d.ok; n-- {
			r.Tags = append(r.Tags, d.text())
		}
	}
	if mask&restDecay != 0 {
		r.Decay = d.decay()
	}
}
