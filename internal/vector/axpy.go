package vector

// Axpy adds a·x to y, element by element, each product and each sum rounded to float32:
// the bits are the same on every processor. Both have the same length. The caller makes
// sure that a and the sums are finite.
func Axpy(y []float32, a float32, x []int8) {
	if len(x) != len(y) {
		panic("vector: Axpy of different lengths")
	}
	axpy(y, a, x)
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
