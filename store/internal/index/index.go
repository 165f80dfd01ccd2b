// Package index is the search index of one tenant, held in the process and
// derived from the records of a store: words with BM25, vectors with exact
// quantised similarity. Stores keep it true to their data; it decides nothing.
//
// Every kind of record in every namespace is a shard with statistics of its own, so
// that what one user stores never moves the scores of another, and a search for notes
// does not pay for the messages beside them.
package index

import (
	"encoding/json"
	"math"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/vector"
	"github.com/loci-memory/loci/store/internal/segment"
)

// maxAttributes bounds the attributes kept in memory for filters; longer ones are
// read from the store when a filter asks.
const maxAttributes = 2 << 10

// Bounds of the texts kept in memory, of facts alone, since each new one is compared with
// those it is near to: of a record, and of a shard. Others are read from the store.
const (
	maxText  = 1 << 10
	maxTexts = 16 << 20
)

// An Index holds the live records of some shards of one tenant, with vectors of one
// space. It is not safe for concurrent changes; concurrent Match is.
type Index struct {
	space  loci.Space
	shards map[Key]*shard
	keys   Keys  // of the shards
	size   int64 // see [Index.Bytes]

	// Places tells the namespace of a number: see [Index.UpsertPlaced].
	Places func(place uint32) (n loci.Namespace, known bool, err error)

	above   []*shard // see [Index.AddAbove]
	members Keys     // of the shards that one of these holds once more; they are not in keys
	changed uint64   // a stamp of the shards above

	gatherings *gatherings

	coarseAbove, sketchFrom, skipFrom, readCost, guessFrom int // see the bounds

	unguessed atomic.Int32 // lists that are to be made without a guess
}

// New makes an empty index for vectors of a space; the zero space means none.
func New(space loci.Space) *Index {
	return &Index{space: space, shards: map[Key]*shard{}, gatherings: newGatherings(),
		coarseAbove: coarseAbove, sketchFrom: sketchFrom, skipFrom: skipFrom, readCost: readCost,
		guessFrom: guessFrom}
}

// Space returns the space whose vectors the index holds.
func (x *Index) Space() loci.Space { return x.space }

// AddShard makes the index responsible for a shard, empty at first.
func (x *Index) AddShard(key Key) {
	if x.shards[key] == nil {
		x.take(key, newShard(key, x.space))
	}
}

// HasShard reports whether the index is responsible for a shard.
func (x *Index) HasShard(key Key) bool { return x.shards[key] != nil }

// DropShard forgets a shard.
func (x *Index) DropShard(key Key) {
	if s := x.shards[key]; s != nil {
		x.gatherings.leaves(s)
		x.size -= s.bytes()
		delete(x.shards, key)
		x.leave(key, s)
	}
}

// Passages returns the number of passages held, a measure of memory.
func (x *Index) Passages() int {
	n := 0
	for _, s := range x.shards {
		n += s.livePassages
		for _, m := range s.segments {
			n += m.counts.passages
		}
	}
	return n
}

// Upsert takes in a record, replacing what its shard held under its id. A record
// that is not live only leaves; one whose shard is not here is passed over.
// codes are its quantised vectors in the index's space, one a passage, or nil.
func (x *Index) Upsert(r *loci.Record, codes [][]byte) { x.UpsertNumbered(r, codes, 0) }

// UpsertNumbered is Upsert of a record that the store finds by a number, too; what does not fit into 32 bits is not
// kept. 0: it has none.
func (x *Index) UpsertNumbered(r *loci.Record, codes [][]byte, number int64) {
	x.UpsertPlaced(r, codes, number, 0)
}

// UpsertPlaced is UpsertNumbered of a record whose namespace has a number, too, by which a shard above it knows it.
func (x *Index) UpsertPlaced(r *loci.Record, codes [][]byte, number, place int64) {
	key := KeyOf(r)
	if s := x.shards[key]; s != nil {
		x.upsert(s, r, codes, number, 0)
	}
	for _, s := range x.above {
		if s.holds(key) {
			x.upsert(s, r, codes, number, fitting(place))
		}
	}
}

func (x *Index) upsert(s *shard, r *loci.Record, codes [][]byte, number int64, place uint32) {
	x.change(s, func() {
		s.remove(r.ID)
		if r.Live && len(r.Passages) > 0 { // without a passage no search finds it
			s.add(r, codes, place)
			s.entries[len(s.entries)-1].number = fitting(number)
		}
	})
}

// fitting is a number of a record, if it fits.
func fitting(number int64) uint32 {
	if number < 0 || number > math.MaxUint32 {
		return 0
	}
	return uint32(number)
}

// Remove forgets a record of a namespace, of whatever kind it was. Shards above forget it wherever it was.
func (x *Index) Remove(namespace string, id loci.ID) {
	for _, keys := range []*Keys{&x.keys, &x.members} {
		keys.within(namespace, func(key Key) bool {
			if key.Namespace != namespace {
				return false
			}
			s := x.shards[key]
			x.change(s, func() { s.remove(id) })
			return true
		})
	}
	for _, s := range x.above {
		x.change(s, func() { s.remove(id) })
	}
	retrieval.ForgetStems() // an erased memory's words are not kept there either
}

// SetExpiry moves the time a record of a shard expires.
func (x *Index) SetExpiry(key Key, id loci.ID, at time.Time) {
	all := []*shard{x.shards[key]}
	for _, s := range x.above {
		if s.holds(key) {
			all = append(all, s)
		}
	}
	for _, s := range all {
		if s == nil {
			continue
		}
		x.gatherings.changes(s)
		if n, ok := s.byID[id]; ok {
			s.entries[n].record.ExpiresAt = at
		}
		for _, m := range s.segments {
			m.setExpiry(id, at)
		}
	}
}

// entry is what the index knows of a record beside its words and vectors.
type entry struct {
	record   loci.Record // without Passages and Body, and mostly without Text and Heading
	lazy     bool        // Attributes are left out for their size
	first    uint32      // passage in the shard
	passages uint32      // from first on
	alive    bool
	embedded bool
	texted   bool // Text and Heading are kept
	speaker  loci.Speaker
	signed   signature
	traits   retrieval.Traits // of one with a single passage
	sequence uint32           // of the shard; 0: in none
	position int64            // in the sequence
	number   uint32           // see [Index.UpsertNumbered]
	place    uint32           // see [Index.UpsertPlaced]
}

// A passage is a part of an entry's text: its Length counts the words that are no stop
// words, and it has the Sequence of its entry, since scoring words has the passage at hand.
type passage = segment.Passage

// shard is the index of one kind of record in one namespace.
type shard struct {
	key       Key
	namespace loci.Namespace
	space     loci.Space
	gathered  bool // from many shards: see [gathering]; it has no key, byID nor namespace

	apart func(namespace string) bool // see [Index.AddAbove]; nil: nothing is

	entries  []entry
	byID     map[loci.ID]uint32
	passages []passage
	words    [][]uint32 // by passage: of the lexicon, in order; with overlaid set: has no position of its own

	lexicon

	segments []*mapped // what was put away; see part

	livePassages int
	totalLength  uint64 // of the passages alive
	texts        int    // bytes of the texts kept
	attributes   int    // bytes of the attributes kept

	sequences     []sequence // by number, from 1; those of the segments, too
	sequenceOf    map[string]uint32
	liveSequences int
	contextLength uint64 // of the passages alive that stand in a sequence

	matrix *vector.Matrix // nil without a space
	rows   []uint32       // passage of each row
}

func newShard(key Key, space loci.Space) *shard {
	s := &shard{
		key:        key,
		namespace:  loci.NamespaceFromKey(key.Namespace),
		space:      space,
		byID:       map[loci.ID]uint32{},
		sequenceOf: map[string]uint32{},
	}
	if !space.IsZero() {
		s.matrix = vector.New(space.Dims)
	}
	return s
}

func (s *shard) add(r *loci.Record, codes [][]byte, place uint32) {
	name, position := placeOf(r)
	e := entry{record: *r, alive: true, embedded: len(codes) > 0 && s.matrix != nil, position: position, place: place}
	if name != "" {
		e.speaker, e.signed = speakerOf(r), signatureOf(r)
	}
	e.record.Passages, e.record.Body = nil, nil
	if size := keptText(r); s.key.Kind == loci.KindFact && size <= maxText && s.texts+size <= maxTexts {
		e.texted = true
		s.texts += size
	} else {
		e.record.Text, e.record.Heading = "", ""
	}
	e.record.Namespace, e.record.Kind = s.namespace, s.key.Kind // one copy for all
	if len(r.Attributes) > maxAttributes {
		e.record.Attributes, e.lazy = nil, true
	} else {
		e.record.Attributes = append(json.RawMessage(nil), r.Attributes...)
		s.attributes += len(r.Attributes)
	}
	// The messages of a conversation mostly come one after another: they share its name.
	if n := len(s.entries); n > 0 && s.entries[n-1].record.Sequence == r.Sequence {
		e.record.Sequence = s.entries[n-1].record.Sequence
	}
	number := uint32(len(s.entries))
	s.entries = append(s.entries, e)
	e.sequence = s.join(s.inPlace(name, place), number)
	e.first, e.passages = uint32(len(s.passages)), uint32(len(r.Passages))
	for i := range r.Passages {
		p := passage{Entry: number, Row: -1, Sequence: e.sequence}
		words, length, traits := s.addText(r.Searched(i), uint32(len(s.passages)))
		if len(r.Passages) == 1 { // of a long text they say little
			e.traits = traits
		}
		p.Length = length
		if e.embedded && i < len(codes) {
			// A code of another size is damage that Check reports; the words are still searched.
			if scale, code, err := vector.Split(codes[i], s.space.Dims); err == nil {
				p.Row = int32(s.matrix.AppendQuantized(scale, code))
				s.rows = append(s.rows, uint32(len(s.passages)))
			}
		}
		s.keep(p, words)
	}
	s.byID[r.ID] = number
	s.entries[number] = e
}

// keep takes in a passage of the newest entry.
func (s *shard) keep(p passage, words []uint32) {
	s.passages, s.words = append(s.passages, p), append(s.words, words)
	s.livePassages++
	s.totalLength += uint64(p.Length)
	if p.Sequence != 0 {
		s.sequences[p.Sequence].length += uint64(p.Length)
		s.contextLength += uint64(p.Length)
	}
}

func (s *shard) remove(id loci.ID) {
	for _, m := range s.segments {
		m.remove(id)
	}
	number, ok := s.byID[id]
	if !ok {
		return
	}
	delete(s.byID, id)
	s.takeOut(number)
	if dead := len(s.passages) - s.livePassages; dead > 1024 && dead > s.livePassages {
		s.compact()
	}
}

// takeOut removes an entry, whose number stays.
func (s *shard) takeOut(number uint32) {
	e := &s.entries[number]
	for n := e.first; n < e.first+e.passages; n++ {
		p := &s.passages[n]
		s.removeText(s.words[n], n)
		s.livePassages--
		s.totalLength -= uint64(p.Length)
		if p.Sequence != 0 {
			s.sequences[p.Sequence].length -= uint64(p.Length)
			s.contextLength -= uint64(p.Length)
		}
		*p, s.words[n] = passage{Entry: number, Row: -1}, nil
	}
	if e.texted {
		s.texts -= keptText(&e.record)
	}
	s.attributes -= len(e.record.Attributes)
	if left := e.sequence; left != 0 {
		s.sequences[left].gone++ // before it may be the last one
		*e = entry{}
		s.leave(left)
	} else {
		*e = entry{}
	}
}

// compact rebuilds the shard without what was removed, so that a shard that
// changes much does not grow. It costs time in the size of the shard and comes
// after as many removals, so a removal costs constant time on average.
func (s *shard) compact() {
	fresh := newShard(s.key, s.space)
	words := s.renumbering()
	var moved []int32 // new number of each row
	if s.matrix != nil {
		moved = s.matrix.Compact(s.hasRow)
		fresh.matrix = s.matrix
		fresh.rows = make([]uint32, s.matrix.Len())
	}
	for _, e := range s.entries {
		if !e.alive {
			continue
		}
		number := uint32(len(fresh.entries))
		first := e.first
		e.first = uint32(len(fresh.passages))
		fresh.entries = append(fresh.entries, e)
		e.sequence = fresh.join(s.placedName(e.sequence), number)
		for n := first; n < first+e.passages; n++ {
			p := s.passages[n]
			at := uint32(len(fresh.passages))
			p.Entry = number
			fresh.adopt(s.words[n], at, &s.lexicon, words)
			if p.Row >= 0 {
				p.Row = moved[p.Row]
				fresh.rows[p.Row] = at
			}
			p.Sequence = e.sequence
			fresh.keep(p, s.words[n])
		}
		fresh.byID[e.record.ID] = number
		fresh.entries[number] = e
	}
	fresh.texts, fresh.attributes = s.texts, s.attributes
	fresh.segments = s.segments
	s.become(fresh)
}
