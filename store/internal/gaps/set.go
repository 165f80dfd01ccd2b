// Package gaps knows pages of a file whose gaps may hold something that was erased, and writes down which these are.
package gaps

import (
	"encoding/binary"
	"math/bits"
)

// A Set is a set of pages by their numbers, from 1. The zero value is empty.
type Set struct {
	words []uint64
	n     int
}

// Len is how many pages there are.
func (s *Set) Len() int { return s.n }

// Has reports whether a page is in the set.
func (s *Set) Has(page uint32) bool {
	at := int(page / 64)
	return at < len(s.words) && s.words[at]&(1<<(page%64)) != 0
}

// Add adds a page.
func (s *Set) Add(page uint32) {
	at := int(page / 64)
	if at >= len(s.words) {
		s.words = append(s.words, make([]uint64, at+1-len(s.words))...)
	}
	if bit := uint64(1) << (page % 64); s.words[at]&bit == 0 {
		s.words[at] |= bit
		s.n++
	}
}

// AddTo adds the pages from 1 to one.
func (s *Set) AddTo(last uint32) {
	if last > 0 {
		s.Add(last) // makes room at once
	}
	for page := uint32(1); page < last; page++ {
		s.Add(page)
	}
}

// Remove takes a page away.
func (s *Set) Remove(page uint32) {
	if s.Has(page) {
		s.words[page/64] &^= 1 << (page % 64)
		s.n--
	}
}

// Next is the first page from one on; 0: there is none.
func (s *Set) Next(from uint32) uint32 {
	for at := int(from / 64); at < len(s.words); at++ {
		word := s.words[at]
		if at == int(from/64) {
			word &= ^uint64(0) << (from % 64)
		}
		if word != 0 {
			return uint32(64*at + bits.TrailingZeros64(word))
		}
	}
	return 0
}

// Copy is another set of the same pages.
func (s *Set) Copy() Set { return Set{append([]uint64(nil), s.words...), s.n} }

// appendTo appends the runs of pages that follow one another: how far each is from the one before, and how many
// pages it has. Beyond a size it ends; fits is false then.
func (s *Set) appendTo(b []byte, most int) (_ []byte, fits bool) {
	before := uint32(0)
	for page := s.Next(1); page != 0; {
		end := page + 1
		for s.Has(end) {
			end++
		}
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(page-before)), uint64(end-page))
		if len(b) > most {
			return nil, false
		}
		before, page = end, s.Next(end)
	}
	return b, true
}

// mostPages is how many pages a file may have whose set is read: as many as SQLite allows would take half a gigabyte.
const mostPages = 1 << 28

// setOf reads what appendTo has written; false: it is none.
func setOf(b []byte) (s Set, ok bool) {
	for at := uint64(0); len(b) > 0; {
		gap, n := binary.Uvarint(b)
		if n <= 0 {
			return Set{}, false
		}
		pages, m := binary.Uvarint(b[n:])
		if m <= 0 || gap > mostPages || pages > mostPages || at+gap+pages > mostPages || at+gap == 0 {
			return Set{}, false
		}
		for range pages {
			s.Add(uint32(at + gap))
			at++
		}
		at += gap
		b = b[n+m:]
	}
	return s, true
}
