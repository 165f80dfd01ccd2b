package segment

import (
	"fmt"
	"hash/crc32"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A DamageError is that a block is not what its sum says, or that it refers to what is not there.
type DamageError struct{ block int }

func (e *DamageError) Error() string {
	return fmt.Sprintf("block %d of the segment is damaged", e.block)
}

// Check looks at the blocks in which bytes of the segment lie, unless somebody has. It panics with
// a [DamageError]. Bytes that are in no block have been looked at when the segment was opened.
func (s *Segment) Check(b []byte) {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.blocks)))
	if len(b) == 0 || at >= uintptr(len(s.blocks)) {
		return
	}
	n, last := uint(at)/blockBytes, (uint(at)+uint(len(b))-1)/blockBytes
	if n == last && s.checked[n/64].Load()>>(n%64)&1 != 0 { // as mostly
		return
	}
	for ; n <= last; n = n&^63 + 64 {
		wanted := ^uint64(0) << (n % 64) // of 64 blocks those from n to the last
		if last|63 == n|63 {
			wanted &= ^uint64(0) >> (63 - last%64)
		}
		for lacking := wanted &^ s.checked[n/64].Load(); lacking != 0; lacking &= lacking - 1 {
			s.checkBlock(int(n&^63) + bits.TrailingZeros64(lacking))
		}
	}
}

// A checkedWhole knows when all blocks of some bytes have been looked at.
type checkedWhole struct {
	all   atomic.Bool
	calls atomic.Uint32
}

// callsUntilCounted is after how many calls it looks whether they have.
const callsUntilCounted = 64

// CheckEach is Check of rows of Codes, of a size, those of some numbers, from 0.
func (s *Segment) CheckEach(b []byte, size int, numbers []int32) {
	if s.codes.all.Load() {
		return
	}
	if s.codes.calls.Add(1)%callsUntilCounted == 0 && s.isChecked(b) {
		s.codes.all.Store(true)
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.blocks)))
	if uint64(base)+uint64(len(b)) > uint64(len(s.blocks)) {
		for _, i := range numbers {
			s.Check(b[int(i)*size : (int(i)+1)*size])
		}
		return
	}
	for _, i := range numbers {
		at := uint(base) + uint(i)*uint(size)
		n, last := at/blockBytes, (at+uint(size)-1)/blockBytes
		if n != last || s.checked[n/64].Load()>>(n%64)&1 == 0 {
			s.Check(b[int(i)*size : (int(i)+1)*size])
		}
	}
}

// isChecked reports whether all blocks in which bytes lie have been looked at.
func (s *Segment) isChecked(b []byte) bool {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.blocks)))
	if len(b) == 0 || uint64(at)+uint64(len(b)) > uint64(len(s.blocks)) {
		return false
	}
	for n := uint(at) / blockBytes; n <= (uint(at)+uint(len(b))-1)/blockBytes; n++ {
		if s.checked[n/64].Load()>>(n%64)&1 == 0 {
			return false
		}
	}
	return true
}

// checkBlock looks at a block, and that entries in it refer to nothing outside of the segment: so that who reads one
// looks at a bit.
func (s *Segment) checkBlock(n int) {
	if crc32.Checksum(block(s.blocks, n), castagnoli) != s.sums[n] || !s.fitIn(n) {
		panic(&DamageError{n})
	}
	s.checked[n/64].Or(1 << (n % 64))
}
