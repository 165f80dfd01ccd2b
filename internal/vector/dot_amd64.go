package vector

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

var hasAVX2, hasAVX512 = cpu.X86.HasAVX2, cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

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

// dotRows returns the sum of the products of two rows of equal length.
func dotRows(a, b []int8) int32 {
	whole := len(a) &^ 15
	if !hasAVX2 || whole == 0 {
		return dotRowsPortable(a, b)
	}
	b = b[:len(a)] // what follows checks no bounds
	return dotRowsAVX2(unsafe.SliceData(a), unsafe.SliceData(b), whole) + dotRowsPortable(a[whole:], b[whole:])
}

// dotRowsAVX2 works on the first n elements, a multiple of 16.
//
//go:noescape
func dotRowsAVX2(a, b *int8, n int) int32

// dotsAVX2 works on the first n elements of each row, which is stride after the one before;
// n is a multiple of 16, and may be 0. There is a row at least.
//
//go:noescape
func dotsAVX2(query *int16, rows *int8, n, stride int, sums *int32, count int)

// dots256AVX2 works on rows of 256 bytes; there are four, or a multiple of that. No code of the query is -128.
//
//go:noescape
func dots256AVX2(query *int16, rows *int8, sums *int32, count int)

// dotsAt writes the sum of the products of the query with each row that is listed.
func dotsAt(query []int16, rows []int8, list []int32, sums []int32) {
	four := len(list) &^ 3
	if !hasAVX2 || len(query) != 256 || four == 0 {
		dotsAtPortable(query, rows, list, sums)
		return
	}
	_ = sums[len(list)-1]
	all := uint32(len(rows) / 256)
	for _, row := range list { // what follows checks no bounds
		if uint32(row) >= all {
			panic("vector: a row that is not there")
		}
	}
	dotsAt256AVX2(unsafe.SliceData(query), unsafe.SliceData(rows), unsafe.SliceData(list), unsafe.SliceData(sums), four)
	dotsAtPortable(query, rows, list[four:], sums[four:])
}

// dotsAt256AVX2 is dots256AVX2 of rows that are listed.
//
//go:noescape
func dotsAt256AVX2(query *int16, rows *int8, list *int32, sums *int32, count int)

// mayReach writes a bit for each row of some blocks of a sketch that may reach what it must.
func mayReach(blocks []byte, dims int, a *asking, masks []uint64) {
	if !hasAVX2 {
		mayReachPortable(blocks, dims, a, masks)
		return
	}
	_ = blocks[len(masks)*sketchBlock(dims)-1] // what follows checks no bounds
	first, steps, bits := unsafe.SliceData(blocks), dims/stepDims, unsafe.SliceData(masks)
	if hasAVX512 {
		mayReachAVX512(first, steps, &a.table[0], &a.bounds, bits, len(masks))
		return
	}
	mayReachAVX2(first, steps, &a.table[0], &a.bounds, bits, len(masks))
}

// mayReachAVX512 is mayReachAVX2 of all rows of a block at once.
//
//go:noescape
func mayReachAVX512(blocks *byte, steps int, table *byte, by *bounds, masks *uint64, count int)

// mayReachAVX2 works on sketches of so many steps. There is one block at least.
//
//go:noescape
func mayReachAVX2(blocks *byte, steps int, table *byte, by *bounds, masks *uint64, count int)

// likely has a bit for each row, of at most 64, whose score may be as much as least, and for some others.
func (f *first) likely(sums []int32, scales []float32, least float64) uint64 {
	whole := len(sums) &^ 7
	if !hasAVX2 || whole == 0 || !f.narrow || !(least > leastFirst && least < mostFirst) {
		return math.MaxUint64 >> (64 - len(sums))
	}
	by := *f
	by.least = float32(least * (1 - firstOff))
	_ = scales[whole-1] // what follows checks no bounds
	bits := likelyAVX2(unsafe.SliceData(sums), unsafe.SliceData(scales), whole, &by)
	return bits | math.MaxUint64>>(64-len(sums))&^(1<<whole-1)
}

// likelyAVX2 looks at count rows, a multiple of 8, at most 64.
//
//go:noescape
func likelyAVX2(sums *int32, scales *float32, count int, by *first) uint64

// prefetch says that rows are about to be read. Where there are none is no fault.
func prefetch(rows []int8, dims int, list []int32) {
	if len(list) > 0 {
		prefetchLines(unsafe.SliceData(rows), dims, unsafe.SliceData(list), len(list))
	}
}

// prefetchLines works on rows of so many bytes.
//
//go:noescape
func prefetchLines(rows *int8, dims int, list *int32, count int)
