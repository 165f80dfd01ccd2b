package vector

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasAVX2 = cpu.X86.HasAVX2

// dot returns the sum of the products of two vectors of equal length.
func dot(query []int16, row []int8) int32 {
	var sum [1]int32
	dots(query, row, sum[:])
	return sum[0]
}

// dots writes the sum of the products of the query with each row; those follow one another.
func dots(query []int16, rows []int8, sums []int32) {
	dims := len(query)
	whole := dims &^ 15
	if !hasAVX2 || len(sums) == 0 || dims == 0 {
		dotsPortable(query, rows, sums)
		return
	}
	rows = rows[:dims*len(sums)] // what follows checks no bounds
	dotsAVX2(unsafe.SliceData(query), unsafe.SliceData(rows), whole, dims, unsafe.SliceData(sums), len(sums))
	if whole == dims {
		return
	}
	for i := range sums {
		sums[i] += dotPortable(query[whole:], rows[i*dims+whole:(i+1)*dims])
	}
}

// dotsAVX2 works on the first n elements of each row, which is stride after the one before;
// n is a multiple of 16, and may be 0. There is a row at least.
//
//go:noescape
func dotsAVX2(query *int16, rows *int8, n, stride int, sums *int32, count int)

// products writes the sum of the products of the query, of [sketches] dimensions, with the codes
// of each sketch.
func products(query []int8, codes []byte, sums []int32) {
	if !hasAVX2 || len(sums) == 0 {
		productsPortable(query, codes, sums)
		return
	}
	codes = codes[:len(query)/4*len(sums)] // what follows checks no bounds
	productsAVX2(unsafe.SliceData(query), unsafe.SliceData(codes), len(query)/4, unsafe.SliceData(sums), len(sums))
}

// productsAVX2 works on sketches of n bytes, a multiple of 32, at most 256. There is one at least.
//
//go:noescape
func productsAVX2(query *int8, codes *byte, n int, sums *int32, count int)
