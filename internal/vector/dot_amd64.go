package vector

import (
	"math"
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
	if four := len(sums) &^ 3; dims == 256 && four > 0 {
		dots256AVX2(unsafe.SliceData(query), unsafe.SliceData(rows), unsafe.SliceData(sums), four)
		if rows, sums = rows[dims*four:], sums[four:]; len(sums) == 0 {
			return
		}
	}
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

// dots256AVX2 works on rows of 256 bytes; there are four, or a multiple of that. No code of the query is -128.
//
//go:noescape
func dots256AVX2(query *int16, rows *int8, sums *int32, count int)

// products writes the sum of the products of the query, of [sketches] dimensions, with the codes
// of each sketch.
func products(query []int8, codes []byte, sums []int32) {
	if !hasAVX2 || len(sums) == 0 {
		productsPortable(query, codes, sums)
		return
	}
	n := len(query) / 4
	codes = codes[:n*len(sums)] // what follows checks no bounds
	done := 0
	if n == 64 {
		if done = len(sums) &^ 3; done > 0 {
			products64AVX2(unsafe.SliceData(query), unsafe.SliceData(codes), unsafe.SliceData(sums), done)
		}
		if done == len(sums) {
			return
		}
	}
	productsAVX2(unsafe.SliceData(query), &codes[n*done], n, &sums[done], len(sums)-done)
}

// productsAVX2 works on sketches of n bytes, a multiple of 32, at most 256. There is one at least.
//
//go:noescape
func productsAVX2(query *int8, codes *byte, n int, sums *int32, count int)

// products64AVX2 works on sketches of 64 bytes; there are four, or a multiple of that.
//
//go:noescape
func products64AVX2(query *int8, codes *byte, sums *int32, count int)

// likely has a bit for each row, of at most 64, that [coarse.most] may give as much as least, and for some others.
func (c *coarse) likely(sums []int32, factors, spreads []float32, least float64) uint64 {
	whole := len(sums) &^ 7
	if !hasAVX2 || whole == 0 || !c.narrow || !(least > leastNarrow && least < mostNarrow) {
		return math.MaxUint64 >> (64 - len(sums))
	}
	by := c.bounds
	by.least = float32(least * (1 - roundedOff))
	_, _ = factors[whole-1], spreads[whole-1] // what follows checks no bounds
	bits := likelyAVX2(unsafe.SliceData(sums), unsafe.SliceData(factors), unsafe.SliceData(spreads), whole, &by)
	return bits | math.MaxUint64>>(64-len(sums))&^(1<<whole-1)
}

// likelyAVX2 looks at count rows, a multiple of 8, at most 64.
//
//go:noescape
func likelyAVX2(sums *int32, factors, spreads *float32, count int, by *bounds) uint64

// prefetch says that a row is about to be read.
func prefetch(row []int8) { prefetchLines(unsafe.SliceData(row), len(row)) }

// prefetchLines asks for n bytes from memory, without a fault where there are none.
//
//go:noescape
func prefetchLines(row *int8, n int)
