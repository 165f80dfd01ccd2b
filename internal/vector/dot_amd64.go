package vector

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasAVX2 = cpu.X86.HasAVX2

// dot returns the sum of the products of two vectors of equal length. It works on
// one row a call: the scheduler cannot interrupt assembly, and a scan of a
// million rows in one call would hold up the collector.
func dot(query []int16, row []int8) int32 {
	if !hasAVX2 {
		return dotPortable(query, row)
	}
	row = row[:len(query)] // what follows checks no bounds
	whole := len(query) &^ 15
	sum := dotAVX2(unsafe.SliceData(query), unsafe.SliceData(row), whole)
	if whole == len(query) {
		return sum
	}
	return sum + dotPortable(query[whole:], row[whole:])
}

// dotAVX2 works on the first n elements; n is a multiple of 16, and may be 0.
//
//go:noescape
func dotAVX2(query *int16, row *int8, n int) int32
