//go:build !amd64

package vector

func axpy(y []float32, a float32, x []int8) { axpyPortable(y, a, x) }
