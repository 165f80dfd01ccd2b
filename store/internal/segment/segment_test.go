package segment

import (
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"
)

var origin = Origin{Analyser: 3, Token: [16]byte{7}, Dims: 4, Space: [16]byte{9}}

// sample is a small segment with something in each section.
func sample() *Data {
	return &Data{
		Entries: []Entry{
			{ID: [16]byte{9}, Version: 1, Created: 5, Passages: 2, Sequence: 1, Flags: Embedded},
			{ID: [16]byte{4}, Version: 7, Created: -5, Position: 3, First: 2, Passages: 1, Sequence: 1},
		},
		Rests: [][]byte{[]byte("rest"), nil},
		Passages: []Passage{
			{Entry: 0, Length: 2, Row: 0, Sequence: 1},
			{Entry: 0, Length: 1, Row: -1, Sequence: 1},
			{Entry: 1, Length: 300, Row: 1, Sequence: 1},
		},
		Words: [][]uint32{{0, 2}, {1}, {2, 2, 4}},
		Spellings: []Spelling{
			{Text: "the", Term: 1, Stop: true, Uses: 2}, {Text: "zebra", Term: 2, Uses: 3, Mark: 77}, {Text: "zebras", Term: 2, Uses: 1},
		},
		Terms: []Term{
			{Name: "", Postings: nil},
			{Name: "the", Postings: []Posting{{0, 1}, {1, 1}}},
			{Name: "zebra", Postings: []Posting{{0, 1}, {2, 3}}},
		},
		Sequences: []Sequence{{Name: "talk", Members: []uint32{0, 1}, Length: 303}},
		Rows:      []uint32{0, 2},
		Scales:    []float32{0.5, 0.25},
		Codes:     []int8{1, 2, 3, 4, -1, -2, -3, -4},
		Sketch:    []byte("sketch"),
	}
}

// aligned copies bytes to where a mapping would begin.
func aligned(b []byte) []byte {
	words := make([]uint64, len(b)/8+1)
	out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(b))
	copy(out, b)
	return out
}

// readAll calls everything that a segment can be asked.
func readAll(s *Segment) *Data {
	d := &Data{Entries: s.Entries, Passages: s.Passages, Rows: s.Rows, Scales: s.Scales, Codes: s.Codes}
	d.Sketch = s.Sketch
	for n := range uint32(len(s.Entries)) {
		d.Rests = append(d.Rests, s.Rest(n))
	}
	for n := range uint32(len(s.Passages)) {
		d.Words = append(d.Words, s.Words(nil, n))
	}
	for n := range uint32(s.Spellings()) {
		term, stop := s.TermOf(n)
		d.Spellings = append(d.Spellings, Spelling{s.Spelling(n), term, stop, s.Uses[n], s.Marks[n]})
		s.Term(term)
		s.FindSpelling(s.Spelling(n))
		first, last := s.Beginning(s.Spelling(n))
		for ; first < last; first++ {
			s.Spelling(first)
		}
	}
	for n := range uint32(len(s.Holders)) {
		d.Terms = append(d.Terms, Term{s.Term(n), s.Postings(nil, n)})
		s.FindTerm(s.Term(n))
	}
	for n := range uint32(s.Sequences()) {
		name, members := s.Sequence(n + 1)
		d.Sequences = append(d.Sequences, Sequence{name, members, s.Lengths[n]})
	}
	for _, e := range s.Entries {
		s.Find(e.ID)
	}
	return d
}

func TestASegmentReadsAsItWasMade(t *testing.T) {
	want := sample()
	s, err := Open(aligned(want.Encode(origin)), origin)
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(s)
	want.Entries[1].Rest, want.Rests[1] = 4, []byte{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	for i, e := range want.Entries {
		if n, ok := s.Find(e.ID); !ok || n != uint32(i) {
			t.Errorf("entry %d is found at %d, %v", i, n, ok)
		}
	}
	if _, ok := s.Find([16]byte{5}); ok {
		t.Error("an id is found that is not there")
	}
	if n, ok := s.FindTerm("zebra"); !ok || n != 2 {
		t.Errorf("term zebra is %d, %v", n, ok)
	}
	if _, ok := s.FindSpelling("zebr"); ok {
		t.Error("a spelling is found that is not there")
	}
	if first, last := s.Beginning("zeb"); first != 1 || last != 3 {
		t.Errorf("zeb* is %d to %d", first, last)
	}
	if first, last := s.Beginning("zz"); first != last {
		t.Errorf("zz* is %d to %d", first, last)
	}
}

func TestAnEmptySegmentOpens(t *testing.T) {
	s, err := Open(aligned((&Data{}).Encode(origin)), origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Find([16]byte{}); ok || len(readAll(s).Entries) > 0 {
		t.Error("something is in it")
	}
}

// A segment of a builder that knew of no sketches is read as one without.
func TestSegmentsWithoutSketches(t *testing.T) {
	whole := sample().Encode(origin)
	at := unsafe.Offsetof(header{}.Sketch) - sumFrom
	s, err := Open(forge(whole, func(b []byte) { clear(b[at : at+unsafe.Sizeof(span{})]) }), origin)
	if err != nil || len(s.Sketch) > 0 || len(s.Codes) != 8 {
		t.Errorf("%v, a sketch of %d bytes", err, len(s.Sketch))
	}
}

// A segment of another origin is refused, whatever is in it.
func TestForeignSegmentsAreRefused(t *testing.T) {
	b := aligned(sample().Encode(origin))
	for name, change := range map[string]func(*Origin){
		"analyser": func(o *Origin) { o.Analyser++ }, "token": func(o *Origin) { o.Token[15]++ },
		"dims": func(o *Origin) { o.Dims = 8 }, "space": func(o *Origin) { o.Space[0]++ },
	} {
		other := origin
		if change(&other); other == origin {
			t.Fatal("nothing changed")
		}
		if _, err := Open(b, other); err == nil {
			t.Errorf("a segment of another %s is opened", name)
		}
	}
}

// Cut anywhere, or longer than it was, or with any bit turned, it is refused.
func TestDamagedSegmentsAreRefused(t *testing.T) {
	whole := sample().Encode(origin)
	for n := range whole {
		if _, err := Open(aligned(whole[:n]), origin); err == nil {
			t.Fatalf("cut at %d of %d it is opened", n, len(whole))
		}
	}
	if _, err := Open(aligned(append(whole, 0)), origin); err == nil {
		t.Error("with a byte more it is opened")
	}
	damaged := aligned(whole)
	for bit := range 8 * len(whole) {
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := Open(damaged, origin); err == nil {
			t.Fatalf("with bit %d turned it is opened", bit)
		}
		damaged[bit/8] ^= 1 << (bit % 8)
	}
}

// forge turns bytes and makes the sum fit, as somebody who knows the format would.
func forge(b []byte, turn func([]byte)) []byte {
	out := aligned(b)
	turn(out[sumFrom:])
	binary.LittleEndian.PutUint32(out[sumAt:], crc32.Checksum(out[sumFrom:], castagnoli))
	return out
}

// A forged segment may say anything, but no offset in it leads a reader out of it.
func TestForgedSegmentsAreReadSafely(t *testing.T) {
	whole, random := sample().Encode(origin), rand.New(rand.NewPCG(1, 2))
	opened := 0
	for range 100_000 {
		b := forge(whole, func(b []byte) {
			for range 1 + random.IntN(3) {
				b[random.IntN(len(b))] = byte(random.Uint32())
			}
		})
		if s, err := Open(b, origin); err == nil {
			opened++
			readAll(s)
		}
	}
	if opened < 1000 {
		t.Errorf("only %d forged ones were opened: the test shows little", opened)
	}
}

func FuzzOpen(f *testing.F) {
	whole := sample().Encode(origin)
	f.Add(whole)
	f.Add(whole[:headerBytes])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerBytes {
			return
		}
		b = forge(b, func([]byte) {})
		copy(b, magic[:])
		if s, err := Open(b, origin); err == nil {
			readAll(s)
		}
	})
}
