package segment

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Lists are read as they were made, however near and often and far and seldom what is in them stands, to the last one;
// and of the terms of a passage those that are asked for.
func TestListsOfShortAndLongNumbers(t *testing.T) {
	t.Parallel()
	const passages, spellings = 60_000, 20_000
	random := rand.New(rand.NewPCG(7, 8))
	d := &Data{Entries: []Entry{{Passages: passages}}, Rests: [][]byte{nil}, Words: make([][]uint32, passages)}
	for n := range passages {
		d.Passages = append(d.Passages, Passage{Length: 1, Row: -1})
		for n%50 == 0 && random.IntN(20) > 0 {
			d.Words[n] = append(d.Words[n], uint32(random.IntN(2*(1<<random.IntN(15)))))
		}
	}
	for n := range spellings {
		name := string([]byte{byte(n >> 14), byte(n >> 7 & 0x7f), byte(n & 0x7f)})
		d.Spellings = append(d.Spellings, Spelling{Text: name, Term: uint32(n / 2)})
		if n%2 == 0 {
			d.Terms = append(d.Terms, Term{Name: name})
		}
	}
	for n := range 300 {
		most := 1 + random.IntN(1<<random.IntN(15))
		for passage := random.IntN(most); passage < passages; passage += 1 + random.IntN(most) {
			count := uint32(1)
			if random.IntN(1+n%5) > 0 {
				count += uint32(random.IntN(1 << random.IntN(20)))
			}
			d.Terms[n].Postings = append(d.Terms[n].Postings, Posting{uint32(passage), count})
		}
	}
	s, err := Open(aligned(d.Encode(origin)), origin)
	if err != nil {
		t.Fatal(err)
	}
	room, words := []Posting{{1, 2}}, []uint32{3}
	for n, term := range d.Terms[:310] {
		if got := s.Postings(room, uint32(n)); !slices.Equal(got[1:], term.Postings) || got[0] != room[0] {
			t.Fatalf("term %d has %d postings; want %d", n, len(got)-1, len(term.Postings))
		}
	}
	for n, want := range d.Words {
		if got := s.Words(words, uint32(n)); !slices.Equal(got[1:], want) || got[0] != words[0] {
			t.Fatalf("passage %d has the words %d; want %d", n, got[1:], want)
		}
		among := random.Uint64() & random.Uint64()
		var terms []uint32
		for _, w := range want {
			if term := w >> 1 / 2; among>>(term%64)&1 != 0 {
				terms = append(terms, term)
			}
		}
		if got := s.TermsOf(words, uint32(n), among); !slices.Equal(got[1:], terms) || got[0] != words[0] {
			t.Fatalf("passage %d has the terms %d; want %d", n, got[1:], terms)
		}
	}
}
