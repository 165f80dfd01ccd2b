package vector

import "unsafe"

func axpy(y []float32, a float32, x []int8) {
	if !hasAVX2 {
		axpyPortable(y, a, x)
		return
	}
	y = y[:len(x)] // what follows checks no bounds
	whole := len(x) &^ 15
	axpyAVX2(unsafe.SliceData(y), a, unsafe.SliceData(x), whole)
	if whole < len(x) {
		axpyPortable(y[whole:], a, x[whole:])
	}
}

// axpyAVX2 works on the first n elements; n is a multiple of 16, and may be 0.
//
//go:noescape
func axpyAVX2(y *float32, a float32, x *int8, n int)
