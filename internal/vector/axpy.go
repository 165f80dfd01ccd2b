package vector

import "math"

// Axpy adds a·x to y, element by element, each product and each sum rounded to float32:
// the bits are the same on every processor. Both have the same length. The caller makes
// sure that a and the sums are finite.
func Axpy(y []float32, a float32, x []int8) {
	if len(x) != len(y) {
		panic("vector: Axpy of different lengths")
	}
	axpy(y, a, x)
}

// Dot is the product of two sums of rows, of as many dimensions, the same bits on every machine. 0: it is no number.
func Dot(a, b []float32) (dot float64) {
	for i, x := range a {
		dot += float64(float64(x) * float64(b[i])) // the conversion forbids a fused multiply-add
	}
	if math.IsNaN(dot) || math.IsInf(dot, 0) {
		return 0
	}
	return dot
}

func axpyPortable(y []float32, a float32, x []int8) {
	for len(x) >= 4 && len(y) >= 4 {
		// The conversion of a product forbids a fused multiply-add.
		c, sum := x[:4:4], y[:4:4]
		sum[0] += float32(a * float32(int32(c[0])))
		sum[1] += float32(a * float32(int32(c[1])))
		sum[2] += float32(a * float32(int32(c[2])))
		sum[3] += float32(a * float32(int32(c[3])))
		x, y = x[4:], y[4:]
	}
	for i, c := range x {
		y[i] += float32(a * float32(int32(c)))
	}
}
