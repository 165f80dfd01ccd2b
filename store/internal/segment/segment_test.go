package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"reflect"
	"sync/atomic"
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
	d := &Data{Passages: s.Passages, Rows: s.Rows, Scales: s.Scales, Codes: s.Codes}
	s.Check(bytesOf(s.Codes))
	d.Sketch = s.Sketch
	s.Check(s.Sketch)
	for n := range uint32(s.Len()) {
		d.Entries = append(d.Entries, *s.Entry(n))
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
	for _, e := range d.Entries {
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

// format-2.segment was made of the sample by commit d1225ec3, the last one that wrote the second format: entries lie
// before the blocks there.
func TestASegmentOfTheSecondFormatIsRead(t *testing.T) {
	b, err := os.ReadFile("testdata/format-2.segment")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(aligned(b), origin)
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Entries[1].Rest, want.Rests[1] = 4, []byte{}
	if got := readAll(s); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if err := s.CheckAll(); err != nil {
		t.Error(err)
	}
	if _, err := Open(forge(b, func(b []byte) { b[0] = 1 }), origin); !errors.Is(err, ErrUnusable) {
		t.Errorf("the first format: %v", err)
	}
}

// What is looked at as a whole is refused where entries and passages do not fit one another, though each refers to
// what is there.
func TestEntriesThatDoNotFitAreRefused(t *testing.T) {
	for name, change := range map[string]func(*Data){
		"a passage is another entry's": func(d *Data) { d.Passages[1].Entry = 0 },
		"a passage is of two entries":  func(d *Data) { d.Entries[1].First = 0 },
		"a passage is nobody's":        func(d *Data) { d.Entries[99].Passages = 0 },
	} {
		d := large()
		change(d)
		of64 := origin
		of64.Dims = 64
		s, err := Open(aligned(d.Encode(of64)), of64)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := s.CheckAll(); !errors.Is(err, ErrUnusable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Texts lie one after another: one that would end before it begins is refused.
func TestATextThatEndsBeforeItBeginsIsRefused(t *testing.T) {
	of64 := origin
	of64.Dims = 64
	s, err := Open(aligned(large().Encode(of64)), of64)
	if err != nil || s.CheckAll() != nil {
		t.Fatal(err)
	}
	s.entries[1].Rest, s.entries[2].Rest = 2000, 1000
	if !damaged(func() { s.Rest(1) }) || damaged(func() { s.Rest(2) }) {
		t.Error("the first text is read, or the second is not")
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

// readSafely is readAll; damaged: it came to a damaged block.
func readSafely(t *testing.T, s *Segment) (d *Data, damaged bool) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, damaged = p.(*DamageError); !damaged {
			t.Fatal(p)
		}
	}()
	return readAll(s), false
}

// Cut anywhere, or longer than it was, it is refused. With any bit turned it is refused as well, or what is
// damaged is not read.
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
	turned, opened := aligned(whole), 0
	for bit := range 8 * len(whole) {
		turned[bit/8] ^= 1 << (bit % 8)
		if s, err := Open(turned, origin); err == nil {
			opened++
			if _, seen := readSafely(t, s); !seen || s.CheckAll() == nil {
				t.Fatalf("with bit %d turned it is read", bit)
			}
		}
		turned[bit/8] ^= 1 << (bit % 8)
	}
	if opened == 0 {
		t.Error("none was opened: the test does not show that blocks are looked at")
	}
}

// large is a segment of several blocks, with a row, a text and words of 64, 1,000 and 300 bytes an entry.
func large() *Data {
	const n = 100
	d := &Data{Terms: []Term{{Name: "a"}}, Spellings: []Spelling{{Text: "a", Uses: n}}}
	for i := range uint32(n) {
		d.Entries = append(d.Entries, Entry{ID: [16]byte{byte(i)}, First: i, Passages: 1})
		d.Rests = append(d.Rests, make([]byte, 1000))
		d.Passages = append(d.Passages, Passage{Entry: i, Length: 300, Row: int32(i)})
		d.Words = append(d.Words, make([]uint32, 300))
		d.Terms[0].Postings = append(d.Terms[0].Postings, Posting{i, 300})
		d.Rows, d.Scales = append(d.Rows, i), append(d.Scales, 1)
	}
	d.Codes = make([]int8, 64*n)
	return d
}

// Where a block is damaged, nothing of it is read, and everything else is.
func TestWhatIsNotDamagedIsRead(t *testing.T) {
	of64 := origin
	of64.Dims = 64
	whole := large().Encode(of64)
	s, err := Open(aligned(whole), of64)
	if err != nil || len(s.sums) < 8 {
		t.Fatalf("%d blocks, %v", len(s.sums), err)
	}
	begin, seen := len(whole)-len(s.blocks), map[string]int{}
	for n := range s.sums {
		b := aligned(whole)
		b[begin+n*blockBytes] ^= 1
		s, err := Open(b, of64)
		if err != nil {
			t.Fatal(err)
		}
		holds := func(part []byte) bool {
			at := int(uintptr(unsafe.Pointer(&part[0])) - uintptr(unsafe.Pointer(&s.blocks[0])))
			return at/blockBytes <= n && n <= (at+len(part)-1)/blockBytes
		}
		expect := func(what string, part []byte, read func()) {
			t.Helper()
			lies := holds(part)
			if got := damaged(read); got != lies {
				t.Fatalf("%s, with block %d damaged: refused is %v", what, n, got)
			}
			if lies {
				seen[what]++
			}
		}
		for i := range uint32(s.Len()) {
			expect("an entry", bytesOf(s.entries[i:i+1]), func() { s.Entry(i) })
			if end := min(int(i)+2, s.Len()); !holds(bytesOf(s.entries[i:end])) { // it says where the text lies
				expect("a text", s.rests[1000*i:1000*i+1000], func() { s.Rest(i) })
			}
			expect("words", s.words.at(i), func() { s.Words(nil, i) })
			row := bytesOf(s.Codes[64*i : 64*i+64])
			expect("a row", row, func() { s.Check(row) })
		}
		expect("postings", s.postings.at(0), func() { s.Postings(nil, 0) })
		if s.CheckAll() == nil {
			t.Errorf("block %d is not looked at", n)
		}
	}
	if len(seen) != 5 {
		t.Errorf("refused was %v", seen)
	}
	if err := s.CheckAll(); err != nil {
		t.Error(err)
	}
}

// damaged reports whether a reader comes to a damaged block.
func damaged(read func()) (damaged bool) {
	defer func() { _, damaged = recover().(*DamageError) }()
	read()
	return false
}

// A block is looked at once.
func TestABlockIsLookedAtOnce(t *testing.T) {
	b := aligned(sample().Encode(origin))
	s, err := Open(b, origin)
	if err != nil {
		t.Fatal(err)
	}
	readAll(s)
	s.blocks[0] ^= 1
	if damaged(func() { s.Check(s.blocks[:1]) }) {
		t.Error("it is looked at again")
	}
}

// Of any range all blocks are looked at in which it lies, however many, and no others.
func TestBlocksOfARange(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	const all = 300
	b := make([]byte, all*blockBytes-17)
	fresh := func() *Segment {
		s := &Segment{blocks: b, sums: make([]uint32, all), checked: make([]atomic.Uint64, (all+63)/64)}
		for n := range s.sums {
			s.sums[n] = crc32.Checksum(block(b, n), castagnoli)
		}
		return s
	}
	for range 3000 {
		s, bad := fresh(), random.IntN(all)
		s.sums[bad] ^= 1
		for n := range s.checked { // some have been looked at
			s.checked[n].Store(random.Uint64() & random.Uint64())
		}
		seen := s.checked[bad/64].Load()&(1<<(bad%64)) != 0
		from := random.IntN(len(b))
		to := min(len(b), from+1+random.IntN([]int{10, 2 * blockBytes, len(b)}[random.IntN(3)]))
		lies := from/blockBytes <= bad && bad <= (to-1)/blockBytes && !seen
		before := make([]uint64, len(s.checked))
		for n := range before {
			before[n] = s.checked[n].Load()
		}
		if got := damaged(func() { s.Check(b[from:to]) }); got != lies {
			t.Fatalf("bytes %d to %d with block %d damaged: refused is %v", from, to, bad, got)
		}
		for n := range all {
			was := before[n/64]&(1<<(n%64)) != 0
			now := s.checked[n/64].Load()&(1<<(n%64)) != 0
			within := from/blockBytes <= n && n <= (to-1)/blockBytes
			if !lies && now != (was || within) {
				t.Fatalf("bytes %d to %d: block %d is looked at: %v", from, to, n, now)
			}
		}
	}
}

// Numbers of any length are read as they were written, and none where one is cut or too long.
func TestNumbers(t *testing.T) {
	for _, n := range []uint64{0, 127, 128, 16383, 16384, 1<<21 - 1, 1 << 21, 1 << 40, 1<<64 - 1} {
		b := binary.AppendUvarint([]byte{9}, n)
		if got, next := number(append(b, 0x85, 1), 1); got != n || next != len(b) {
			t.Errorf("%d is read as %d, up to %d", n, got, next)
		}
		if _, next := number(b[:len(b)-1], 1); next != -1 {
			t.Errorf("%d that is cut is read up to %d", n, next)
		}
	}
	if _, next := number(bytes.Repeat([]byte{0xff}, 12), 0); next != -1 {
		t.Error("a number without an end is read")
	}
}

// forge turns bytes and makes the sums fit, as somebody who knows the format would.
func forge(b []byte, turn func([]byte)) []byte {
	out := aligned(b)
	turn(out[sumFrom:])
	list, _ := listOf[header](out[:headerBytes])
	h, begin := list[0], uint64(len(out))
	if h.Blocks >= uint64(headerBytes) && h.Blocks <= begin {
		begin = h.Blocks
	}
	at := h.Sections[sectionSums].Start
	for i := range blocks(len(out) - int(begin)) {
		if at <= begin && begin-at >= 4*uint64(i+1) {
			binary.LittleEndian.PutUint32(out[at+4*uint64(i):], crc32.Checksum(block(out[begin:], i), castagnoli))
		}
	}
	binary.LittleEndian.PutUint32(out[sumAt:], crc32.Checksum(out[sumFrom:begin], castagnoli))
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
			if _, damaged := readSafely(t, s); !damaged {
				opened++
			}
		}
	}
	if opened < 1000 {
		t.Errorf("only %d forged ones were opened: the test shows little", opened)
	}
}

// Neither does an entry of the second format, which lies in no block.
func TestForgedSegmentsOfTheSecondFormat(t *testing.T) {
	whole, err := os.ReadFile("testdata/format-2.segment")
	if err != nil {
		t.Fatal(err)
	}
	list, _ := listOf[header](whole[:headerBytes])
	at, random := list[0].Sections[sectionEntries], rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := forge(whole, func(b []byte) { b[int(at.Start)+random.IntN(int(at.Length))] = byte(random.Uint32()) })
		if s, err := Open(b, origin); err == nil {
			readSafely(t, s)
		}
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
			readSafely(t, s)
		}
	})
}
