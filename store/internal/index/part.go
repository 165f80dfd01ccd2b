package index

import (
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/internal/vector"
)

// A part of a shard is searched by itself; what is counted is summed over the parts. One
// part, the shard itself, is on the heap and takes in what comes; the others are segments
// that lie elsewhere. Numbers of entries, passages, words and terms are a part's own.
// What it returns may share memory that is gone when the search ends.
type part interface {
	alive() counts
	allEntries() int
	allPassages() []passage
	sequenceOfPassage(p *passage) uint32 // its number in the shard
	hasSequences() bool                  // else no passage is in one

	findTerm(name string) (term uint32, ok bool)
	hasStems() bool                                // else no term is the stem of a word in another language than English
	holding(term uint32) int                       // passages alive that hold a term
	list(term uint32) []posting                    // ascending; the count is 0 where a passage was removed
	listIn(room *[]posting, term uint32) []posting // the same, good until the next call with that room
	packed(room *[]posting, term uint32) *packed   // for a term that many passages hold; nil: read the list
	peak(room *[]posting, term uint32) (p peak, noted bool)
	countTerms(t *targets, passage uint32)
	// eachHeard calls hear for each sequence of the shard that says a term, as far as the part has it; false: that
	// is not noted.
	eachHeard(room *[]posting, term uint32, hear func(sequence, count uint32)) bool
	members(q *sequence, visit func(entry uint32))   // those alive of a sequence of the shard
	membersIn(q *sequence, to []uint32) []uint32     // the same, appended in order
	wordsOf(passage uint32) []uint32                 // in order; with overlaid set: has no position of its own
	wordsIn(room *[]uint32, passage uint32) []uint32 // the same, good until the next call with that room
	termOf(word uint32) uint32                       //
	isWord(spelling string) bool                     // which is said, and no stop word
	beginning(prefix string) wordsAndTerms
	allMarks() []retrieval.Mark
	spelled(word uint32) (spelling, term string) // "": nobody says it any more

	seen(entry uint32) seen
	standing(entry uint32) (id loci.ID, created moment, first, passages uint32) // what it is ranked by
	firstOf(entry uint32) (passage uint32)
	numberOf(entry uint32) uint32 // see [Index.UpsertNumbered]
	placeOf(entry uint32) uint32  // see [Index.UpsertPlaced]
	// headerOf is what filters look at; not to be changed, and good until the next call with
	// the same room for it.
	headerOf(entry uint32, room *loci.Record) *loci.Record
	glance(entry uint32) (g glance, ok bool) // false: ask the header
	withTags(tags []string) []uint64         // a bit for each entry that has all of them; nil: look at each
	textOf(entry uint32) (text, heading string, ok bool)
	// near calls visit for what stands beside a place in a sequence of the shard: up to two
	// on each side, the nearest first; side is −1 or 1.
	near(q *sequence, at member, visit func(side int, m member))

	embeddings() (matrix *vector.Matrix, rows []uint32) // passage of each row
	hasRow(row int) bool                                // it is not removed
}

// counts are the statistics of a part.
type counts struct {
	passages      int
	length        uint64 // of the passages
	contextLength uint64 // of those that stand in a sequence
}

// wordsAndTerms are words, and the terms that they are searched by.
type wordsAndTerms struct {
	words, terms map[uint32]bool
}

// seen is what a search needs of each entry that it looks at.
type seen struct {
	id       loci.ID
	version  int64
	created  time.Time
	first    uint32 // passage
	passages uint32
	sequence uint32 // of the shard; 0: in none
	position int64
	speaker  loci.Speaker
	signed   signature
	traits   retrieval.Traits // of one with a single passage
	alive    bool
	lazy     bool
}

// parts are those of a shard, itself first.
func (s *shard) parts(yield func(part) bool) {
	if !yield(s) {
		return
	}
	for _, m := range s.segments {
		if !yield(m) {
			return
		}
	}
}

// records is how many a shard holds.
func (s *shard) records() int {
	n := len(s.byID)
	for _, m := range s.segments {
		n += m.Len() - m.gone
	}
	return n
}

func (s *shard) alive() counts { return counts{s.livePassages, s.totalLength, s.contextLength} }

func (s *shard) allEntries() int { return len(s.entries) }

func (s *shard) allPassages() []passage { return s.passages }

func (s *shard) sequenceOfPassage(p *passage) uint32 { return p.Sequence }

func (s *shard) hasSequences() bool { return len(s.sequences) > 0 }

func (s *shard) findTerm(name string) (uint32, bool) {
	return s.findName(hashOf(name), name)
}

func (s *shard) hasStems() bool { return s.stemmed }

func (s *shard) holding(term uint32) int { return int(s.listed.at(term).holders) }

func (s *shard) list(term uint32) []posting { return s.listed.at(term).postings }

func (s *shard) listIn(_ *[]posting, term uint32) []posting { return s.list(term) }

func (s *shard) packed(*[]posting, uint32) *packed { return nil }

func (s *shard) peak(*[]posting, uint32) (p peak, noted bool) { return p, false }

func (s *shard) countTerms(t *targets, passage uint32) {
	for _, w := range s.words[passage] {
		t.add(s.vocabulary.at(w &^ overlaid).term)
	}
}

func (s *shard) eachHeard(*[]posting, uint32, func(sequence, count uint32)) bool { return false }

func (s *shard) members(q *sequence, visit func(entry uint32)) {
	for _, m := range q.members {
		if s.entries[m.entry].alive {
			visit(m.entry)
		}
	}
}

func (s *shard) membersIn(q *sequence, to []uint32) []uint32 {
	for _, m := range q.members {
		if q.gone == 0 || s.entries[m.entry].alive {
			to = append(to, m.entry)
		}
	}
	return to
}

func (s *shard) wordsIn(_ *[]uint32, passage uint32) []uint32 { return s.words[passage] }

func (s *shard) wordsOf(passage uint32) []uint32 { return s.words[passage] }

func (s *shard) termOf(word uint32) uint32 { return s.vocabulary.at(word).term }

func (s *shard) isWord(spelling string) bool {
	n, ok := s.findSpelling(hashOf(spelling), spelling)
	return ok && !s.vocabulary.at(n).stop
}

func (s *shard) beginning(prefix string) wordsAndTerms {
	out := wordsAndTerms{map[uint32]bool{}, map[uint32]bool{}}
	for n := range uint32(s.vocabulary.len()) {
		w := s.vocabulary.at(n)
		if w.uses > 0 && !w.stop && strings.HasPrefix(w.spelling, prefix) {
			out.words[n], out.terms[w.term] = true, true
		}
	}
	return out
}

func (s *shard) allMarks() []retrieval.Mark { return s.marks }

func (s *shard) spelled(n uint32) (spelling, term string) {
	w := s.vocabulary.at(n)
	return w.spelling, s.listed.at(w.term).name
}

func (s *shard) seen(n uint32) seen {
	e := &s.entries[n]
	return seen{e.record.ID, e.record.Version, e.record.CreatedAt, e.first,
		e.passages, e.sequence, e.position, e.speaker, e.signed, e.traits, e.alive, e.lazy}
}

func (s *shard) standing(n uint32) (id loci.ID, created moment, first, passages uint32) {
	e := &s.entries[n]
	return e.record.ID, momentOf(e.record.CreatedAt), e.first, e.passages
}

func (s *shard) firstOf(n uint32) uint32 { return s.entries[n].first }

func (s *shard) numberOf(n uint32) uint32 { return s.entries[n].number }

func (s *shard) placeOf(n uint32) uint32 { return s.entries[n].place }

func (s *shard) headerOf(n uint32, _ *loci.Record) *loci.Record { return &s.entries[n].record }

func (s *shard) withTags([]string) []uint64 { return nil }

func (s *shard) textOf(n uint32) (text, heading string, ok bool) {
	e := &s.entries[n]
	return e.record.Text, e.record.Heading, e.texted
}

func (s *shard) embeddings() (*vector.Matrix, []uint32) { return s.matrix, s.rows }

func (s *shard) hasRow(row int) bool { return s.passages[s.rows[row]].Row == int32(row) }
