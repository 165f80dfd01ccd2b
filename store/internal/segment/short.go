package segment

import (
	"encoding/binary"
	"unsafe"
)

// What lies in a segment are lists of numbers, most of them short. The functions here read these, and leave the others
// to their callers. They call nothing, so that all that their loops work with stays in registers.

// wide is how many bytes are looked at for what mostly takes fewer.
const wide = 4

// shortWords is the part of [Segment.TermsOf] that reads words of up to three bytes, from a place on. It says how many
// terms it found, and at which place it ended.
func shortWords(out []uint32, b []byte, at int, terms []uint32, among uint64) (k, next int) {
	last := len(b) - wide
	for at <= last && k < len(out) {
		x := fourOf(b, at)
		size := 1
		switch {
		case x&0x80 == 0:
			x &= 0x7f
		case x&0x8000 == 0:
			x, size = x&0x7f|x>>1&0x3f80, 2
		case x&0x800000 == 0:
			x, size = x&0x7f|x>>1&0x3f80|x>>2&0x1fc000, 3
		default:
			return k, at
		}
		word := int(x >> 1)
		if word >= len(terms) {
			return k, at
		}
		term := terms[word] >> 1
		out[k] = term
		k += int(among >> (term % 64) & 1)
		at += size
	}
	return k, at
}

// shortPostings is the part of [Segment.Postings] that reads steps of up to two bytes and counts of one, from a place
// and a passage on. It says how many it found, and at which place and passage it ended.
func shortPostings(out []Posting, b []byte, at int, passage, passages uint64) (n, next int, last uint64) {
	end := len(b) - wide
	for at <= end && n < len(out) {
		x := fourOf(b, at)
		step, count, size := x&0xff, uint32(1), 1
		if x&0x81 != 0 {
			if x >>= 8; step >= 0x80 {
				if x&0x80 != 0 {
					break
				}
				step, x, size = step&0x7f|x&0x7f<<7, x>>8, 2
			}
			if step&1 != 0 {
				if x&0x80 != 0 {
					break
				}
				count, size = x&0xff, size+1
			}
		}
		to := passage + uint64(step>>1)
		if to >= passages {
			break
		}
		out[n] = Posting{uint32(to), count}
		passage = to
		at += size
		n++
	}
	return n, at, passage
}

// fourOf are four bytes from a place on: it and the three that follow lie in b.
func fourOf(b []byte, at int) uint32 {
	return binary.LittleEndian.Uint32((*[wide]byte)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(b)), at))[:])
}
