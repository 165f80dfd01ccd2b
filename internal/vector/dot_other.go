//go:build !amd64

package vector

import "math"

func dot(query []int16, row []int8) int32 { return dotPortable(query, row) }

func dotRows(a, b []int8) int32 { return dotRowsPortable(a, b) }

func dots(query []int16, rows []int8, sums []int32) { dotsPortable(query, rows, sums) }

func dotsAt(query []int16, rows []int8, list []int32, sums []int32) {
	dotsAtPortable(query, rows, list, sums)
}

func mayReach(blocks []byte, dims int, a *asking, masks []uint64) {
	mayReachPortable(blocks, dims, a, masks)
}

// likely has a bit for each row: none is passed over without a closer look.
func (*first) likely(sums []int32, _ []float32, _ float64) uint64 {
	return math.MaxUint64 >> (64 - len(sums))
}

func prefetch([]int8, int, []int32) {}
