// Package segment is the form in which a part of a search index is kept: bytes that are
// made once, never changed, and read where they lie. It knows no file system and no
// record; package index fills it and reads it (docs/adr/0035).
//
// All numbers are little-endian, and every section begins at a multiple of 64 bytes, so
// that a mapped file is read without a copy. The bytes are derived and never trusted: a
// checksum covers what every search needs, and what refers to something is looked at before
// it is followed. What does not fit is refused as a whole, to be made again. The rest, seven
// eighths of the bytes, lies behind in blocks with a checksum each, which is looked at when a
// block is read for the first time (docs/adr/0136).
package segment

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"sort"
	"unsafe"
)

// format is the version of what this package writes, oldest what it reads: in the second format entries lie before
// the blocks, which only [Open] notices, as what lies in no block has been looked at.
const format, oldest = 3, 2

// blockBytes is what has a checksum of its own, of what is looked at when it is read. A search reads rows of some
// hundred bytes here and there: of blocks of 16 KiB it would look at most.
const blockBytes = 1 << 10

var magic = [8]byte{'l', 'o', 'c', 'i', 's', 'e', 'g', 0}

// ErrUnusable is what every refusal of [Open] is.
var ErrUnusable = errors.New("the segment is damaged, or of another version or origin")

// Supported reports whether this machine reads segments where they lie: one that is
// little-endian.
func Supported() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// Origin is what a segment was made of and by. Whoever opens one says what it must be.
type Origin struct {
	Analyser uint32   // version of what makes words of texts
	Token    [16]byte // of the place it is for, such as a file and a part of it
	Dims     uint32   // of the vectors; 0: there are none
	Space    [16]byte // digest of the name of their space
}

// Flags of an [Entry]; the lowest 8 bits and those from the 12th on are the user's.
const (
	Embedded = 1 << (8 + iota) // it has vectors
	User1
	User2
	User3
)

// An Entry is a record, in 64 bytes.
type Entry struct {
	ID       [16]byte
	Version  int64
	Created  int64 // milliseconds since 1970
	Position int64 // in its sequence
	First    uint32
	Passages uint32 // from First on
	Sequence uint32 // from 1; 0: none
	Rest     uint32 // where what else is known of it begins
	Flags    uint32
	Number   uint32 // of the record in its store, the user's; 0, as in older segments: not known
}

// A Passage is a part of an entry's text.
type Passage struct {
	Entry    uint32
	Length   uint32
	Row      int32 // of its vector; -1: none
	Sequence uint32
}

// A Posting says how often a term stands in a passage.
type Posting struct {
	Passage, Count uint32
}

// A Spelling is a word as it is written. They are sorted, each different.
type Spelling struct {
	Text string
	Term uint32
	Stop bool
	Uses uint32
	Mark uint32
}

// A Term is what words are searched by. They are sorted, each different.
type Term struct {
	Name     string
	Postings []Posting // ascending, no count of 0
}

// A Sequence is what entries are a part of. They are sorted by name, each different.
type Sequence struct {
	Name    string
	Members []uint32 // entries in their order
	Length  uint64   // of the passages
}

// Data is what a segment is made from.
type Data struct {
	Entries   []Entry  // Rest is filled in
	Rests     [][]byte // by entry
	Passages  []Passage
	Words     [][]uint32 // by passage: twice the number of the spelling, plus 1 for one without a position
	Spellings []Spelling
	Terms     []Term
	Sequences []Sequence // from number 1 on
	Rows      []uint32   // passage of each row
	Scales    []float32
	Codes     []int8
	Sketch    []byte // of the rows, if there is one
}

// The sections in their order.
const (
	sectionEntries = iota
	sectionRests
	sectionByID
	sectionPassages
	sectionWordStarts
	sectionWords
	sectionSpellingStarts
	sectionSpellings
	sectionSpellingTerms
	sectionUses
	sectionMarks
	sectionTermStarts
	sectionTerms
	sectionHolders
	sectionPostingStarts
	sectionPostings
	sectionNameStarts
	sectionNames
	sectionMemberStarts
	sectionMembers
	sectionLengths
	sectionRows
	sectionScales
	sectionCodes
	sectionSketch
	sectionSums // of the blocks
	sections
)

// header comes first. Sum covers what follows it up to the blocks, the rest of the header and the sums of the
// blocks included: so it differs where a block does.
type header struct {
	Magic    [8]byte
	Sum      uint32 // CRC-32C
	Format   uint32
	Length   uint64 // of all
	Blocks   uint64 // where they begin
	Origin   Origin
	Sections [sections]span
}

type span struct{ Start, Length uint64 }

const (
	headerBytes = int(unsafe.Sizeof(header{}))
	entryBytes  = 64 // an Entry has so many
	sumAt       = 8
	sumFrom     = 12
	align       = 64
)

var _ [0]struct{} = [entryBytes - unsafe.Sizeof(Entry{})]struct{}{}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// plain is what is read where it lies.
type plain interface {
	Entry | Passage | header | uint64 | uint32 | float32 | int8
}

// bytesOf are the bytes of a list where it lies.
func bytesOf[T plain](list []T) []byte {
	if len(list) == 0 {
		return nil
	}
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(one)))
}

// listOf reads bytes as a list where they lie; they begin at a multiple of 8.
func listOf[T plain](b []byte) (list []T, ok bool) {
	var one T
	size := int(unsafe.Sizeof(one))
	if len(b)%size != 0 {
		return nil, false
	}
	if len(b) == 0 {
		return nil, true
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size), true
}

// Encode makes the bytes of a segment.
func (d *Data) Encode(origin Origin) []byte {
	w := writer{out: make([]byte, headerBytes, headerBytes+len(d.Codes)+len(d.Sketch)+512*len(d.Entries))}
	rests := blobOf(len(d.Rests), func(i int) []byte { return d.Rests[i] })
	entries := append([]Entry(nil), d.Entries...)
	for i := range entries {
		entries[i].Rest = rests.starts[i]
	}
	w.addLater(sectionEntries, bytesOf(entries))
	w.addLater(sectionRests, rests.bytes)
	byID := make([]uint32, len(entries))
	for i := range byID {
		byID[i] = uint32(i)
	}
	sort.Slice(byID, func(i, j int) bool { return string(entries[byID[i]].ID[:]) < string(entries[byID[j]].ID[:]) })
	w.add(sectionByID, bytesOf(byID))
	w.add(sectionPassages, bytesOf(d.Passages))
	var buffer []byte
	w.addBlobLater(sectionWordStarts, sectionWords, len(d.Words), func(i int) []byte {
		buffer = buffer[:0]
		for _, n := range d.Words[i] {
			buffer = binary.AppendUvarint(buffer, uint64(n))
		}
		return buffer
	})
	w.addSpellings(d.Spellings)
	w.addTerms(d.Terms)
	w.addSequences(d.Sequences)
	w.add(sectionRows, bytesOf(d.Rows))
	w.add(sectionScales, bytesOf(d.Scales))
	w.addLater(sectionCodes, bytesOf(d.Codes))
	w.addLater(sectionSketch, d.Sketch)
	return w.finish(origin)
}

// writer lays out the sections.
type writer struct {
	out    []byte
	header header
	later  []section // that lie in blocks
}

type section struct {
	number int
	bytes  []byte
}

// blob is a list of byte strings as one, with where each begins.
type blob struct {
	starts []uint32 // one more than there are
	bytes  []byte
	firsts *firsts // of a sorted list that is searched; nil: of none
}

func blobOf(n int, at func(int) []byte) (b blob) {
	b.starts = make([]uint32, 0, n+1)
	for i := range n {
		b.starts = append(b.starts, uint32(len(b.bytes)))
		b.bytes = append(b.bytes, at(i)...)
	}
	b.starts = append(b.starts, uint32(len(b.bytes)))
	return b
}

func (w *writer) addBlob(starts, bytes, n int, at func(int) []byte) {
	b := blobOf(n, at)
	w.add(starts, bytesOf(b.starts))
	w.add(bytes, b.bytes)
}

// addBlobLater is addBlob of one whose bytes lie in blocks.
func (w *writer) addBlobLater(starts, bytes, n int, at func(int) []byte) {
	b := blobOf(n, at)
	w.add(starts, bytesOf(b.starts))
	w.addLater(bytes, b.bytes)
}

func (w *writer) add(section int, b []byte) {
	w.fill()
	w.header.Sections[section] = span{uint64(len(w.out)), uint64(len(b))}
	w.out = append(w.out, b...)
}

func (w *writer) addLater(number int, b []byte) { w.later = append(w.later, section{number, b}) }

// fill goes on to where a section may begin.
func (w *writer) fill() {
	for len(w.out)%align != 0 {
		w.out = append(w.out, 0)
	}
}

func (w *writer) addSpellings(list []Spelling) {
	terms, uses, marks := make([]uint32, len(list)), make([]uint32, len(list)), make([]uint32, len(list))
	for i, s := range list {
		terms[i], uses[i], marks[i] = s.Term<<1, s.Uses, s.Mark
		if s.Stop {
			terms[i] |= 1
		}
	}
	w.addBlob(sectionSpellingStarts, sectionSpellings, len(list), func(i int) []byte { return []byte(list[i].Text) })
	w.add(sectionSpellingTerms, bytesOf(terms))
	w.add(sectionUses, bytesOf(uses))
	w.add(sectionMarks, bytesOf(marks))
}

func (w *writer) addTerms(list []Term) {
	holders := make([]uint32, len(list))
	for i, t := range list {
		holders[i] = uint32(len(t.Postings))
	}
	w.addBlob(sectionTermStarts, sectionTerms, len(list), func(i int) []byte { return []byte(list[i].Name) })
	w.add(sectionHolders, bytesOf(holders))
	var buffer []byte
	w.addBlobLater(sectionPostingStarts, sectionPostings, len(list), func(i int) []byte {
		buffer = buffer[:0]
		last := uint32(0)
		for _, p := range list[i].Postings {
			// A count of 1, which most have, takes no byte of its own.
			step := uint64(p.Passage-last) << 1
			if p.Count == 1 {
				buffer = binary.AppendUvarint(buffer, step)
			} else {
				buffer = binary.AppendUvarint(buffer, step|1)
				buffer = binary.AppendUvarint(buffer, uint64(p.Count))
			}
			last = p.Passage
		}
		return buffer
	})
}

func (w *writer) addSequences(list []Sequence) {
	w.addBlob(sectionNameStarts, sectionNames, len(list), func(i int) []byte { return []byte(list[i].Name) })
	starts, members, lengths := []uint32{0}, []uint32(nil), make([]uint64, len(list))
	for i, s := range list {
		members = append(members, s.Members...)
		starts = append(starts, uint32(len(members)))
		lengths[i] = s.Length
	}
	w.add(sectionMemberStarts, bytesOf(starts))
	w.add(sectionMembers, bytesOf(members))
	w.add(sectionLengths, bytesOf(lengths))
}

func (w *writer) finish(origin Origin) []byte {
	length := 0
	for _, s := range w.later {
		length += (len(s.bytes) + align - 1) / align * align
	}
	sums := make([]uint32, blocks(length))
	w.add(sectionSums, bytesOf(sums))
	w.fill()
	begin := len(w.out)
	for _, s := range w.later {
		w.add(s.number, s.bytes)
	}
	w.fill()
	for i := range sums {
		sums[i] = crc32.Checksum(block(w.out[begin:], i), castagnoli)
	}
	copy(w.out[w.header.Sections[sectionSums].Start:], bytesOf(sums))
	h := w.header
	h.Magic, h.Format, h.Length, h.Blocks, h.Origin = magic, format, uint64(len(w.out)), uint64(begin), origin
	copy(w.out, bytesOf([]header{h}))
	binary.LittleEndian.PutUint32(w.out[sumAt:], crc32.Checksum(w.out[sumFrom:begin], castagnoli))
	return w.out
}

// blocks is how many blocks so many bytes are.
func blocks(length int) int { return (length + blockBytes - 1) / blockBytes }

// block is the block of a number.
func block(b []byte, n int) []byte { return b[n*blockBytes : min((n+1)*blockBytes, len(b))] }
