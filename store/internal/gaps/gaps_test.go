package gaps

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// pages are those of a set, one by one.
func pages(s *Set) map[uint32]bool {
	found := map[uint32]bool{}
	for page := s.Next(1); page != 0; page = s.Next(page + 1) {
		found[page] = true
	}
	return found
}

// A set has what came and did not go, and a mark brings it back.
func TestSetsOfPages(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		want := map[uint32]bool{}
		m := NewMark()
		s := &m.Unwiped
		if seed%5 == 0 {
			last := uint32(rng.IntN(3000))
			s.AddTo(last)
			for page := range last {
				want[page+1] = true
			}
		}
		for range rng.IntN(250) {
			page := 1 + uint32(rng.IntN(5000))
			if rng.IntN(4) == 0 {
				s.Remove(page)
				delete(want, page)
			} else {
				s.Add(page)
				want[page] = true
			}
			if s.Has(page) != want[page] || s.Has(page+5000) {
				t.Fatalf("seed %d: page %d: %v", seed, page, s.Has(page))
			}
		}
		if s.Len() != len(want) || !maps.Equal(pages(s), want) {
			t.Fatalf("seed %d: %d pages; want %d", seed, s.Len(), len(want))
		}
		other := s.Copy()
		other.Add(9000)
		other.Remove(1)
		if s.Has(9000) || s.Has(1) != want[1] {
			t.Errorf("seed %d: a copy is the same set", seed)
		}
		m.Rest, m.Frames, m.Log, m.Shape = seed%2 == 0, uint32(seed), [8]byte{1, byte(seed)}, Shape{3, byte(seed)}
		b, fits := m.Bytes()
		if !fits {
			t.Fatalf("seed %d: %d pages do not fit", seed, s.Len())
		}
		got, ok := MarkOf(b)
		if !ok || got.Rest != m.Rest || got.Frames != m.Frames || got.Log != m.Log ||
			got.Nonce != m.Nonce || got.Shape != m.Shape ||
			!maps.Equal(pages(&got.Unwiped), want) || got.Unwiped.Len() != len(want) {
			t.Errorf("seed %d: %v; want %v", seed, got, m)
		}
	}
}

// A mark has one size. One that names too many pages is none, and so is one of which a byte is another one.
func TestMarksAreWholeOrNone(t *testing.T) {
	m := NewMark()
	for page := uint32(1); page < 5000; page += 2 {
		m.Unwiped.Add(page)
	}
	if _, fits := m.Bytes(); fits {
		t.Error("2500 pages apart fit")
	}
	m = NewMark()
	m.Unwiped.AddTo(1_000_000)
	b, fits := m.Bytes()
	if !fits || len(b) != MarkSize {
		t.Fatalf("a mark of %d bytes: %v", len(b), fits)
	}
	for at := range b {
		damaged := bytes.Clone(b)
		damaged[at] ^= 1
		if _, ok := MarkOf(damaged); ok {
			t.Errorf("with another byte at %d it is one", at)
		}
	}
	for _, other := range [][]byte{nil, b[1:], append(bytes.Clone(b), 0), make([]byte, MarkSize)} {
		if _, ok := MarkOf(other); ok {
			t.Errorf("%d bytes are one", len(other))
		}
	}
	if another := NewMark(); another.Nonce == m.Nonce || another.Nonce == [16]byte{} {
		t.Error("two marks have one nonce")
	}
}

// What cannot be a set is none, however much it asks for.
func TestBadSets(t *testing.T) {
	for _, b := range [][]byte{
		{0, 1}, {1}, {0x80}, {1, 0x80}, {0xff, 0xff, 0xff, 0xff, 0x7f, 1}, {1, 0xff, 0xff, 0xff, 0xff, 0x7f},
	} {
		if s, ok := setOf(b); ok {
			t.Errorf("%x: %d pages", b, s.Len())
		}
	}
	if _, err := ShapeOf(make([]byte, 43), 1); err == nil {
		t.Error("43 bytes are the first page of a file")
	}
}

// The pages below one are those of its cells and the last. A leaf has none, and neither has what is damaged.
func TestPagesBelow(t *testing.T) {
	page := make([]byte, 64)
	copy(page, []byte{2, 0, 0, 0, 2, 0, 40, 0, 0, 0, 1, 9, 0, 40, 0, 50})
	page[43], page[53] = 7, 8
	if got := Below(page); !slices.Equal(got, []int64{7, 8, 265}) {
		t.Errorf("it finds %v", got)
	}
	for name, change := range map[string]func(){
		"a leaf":                func() { page[0] = 10 },
		"a cell behind the end": func() { page[13] = 62 },
		"too many cells":        func() { page[3] = 1 },
	} {
		before := bytes.Clone(page)
		change()
		if got := Below(page); got != nil {
			t.Errorf("%s: %v", name, got)
		}
		copy(page, before)
	}
	if got := Below(page[:11]); got != nil {
		t.Errorf("eleven bytes: %v", got)
	}
}
