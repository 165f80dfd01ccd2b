package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The kernels must give the bits of the definition for every length, from any
// address, and write nothing beyond.
func TestAxpyKernelsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	factors := []float32{0, 1, -0.3, 1e-45, 3e-39, 1e6, 1.0 / 3}
	for n := 0; n <= 400; n++ {
		offset := n % 3
		x, start := make([]int8, n+offset)[offset:], make([]float32, n)
		for i := range x {
			x[i], start[i] = int8(rng.Uint32()), float32(rng.NormFloat64())*float32(math.Pow(10, rng.Float64()*8-4))
		}
		a := factors[n%len(factors)] * (1 + rng.Float32())
		for name, kernel := range map[string]func([]float32, float32, []int8){"Axpy": Axpy, "axpyPortable": axpyPortable} {
			memory := make([]float32, n+offset+1)
			memory[n+offset] = 42
			y := memory[offset : n+offset]
			copy(y, start)
			kernel(y, a, x)
			for i := range y {
				product := float32(float64(a) * float64(x[i])) // exact before it is rounded
				if want := start[i] + product; math.Float32bits(y[i]) != math.Float32bits(want) {
					t.Fatalf("%s of %d at offset %d: element %d is %v; want %v", name, n, offset, i, y[i], want)
				}
			}
			if memory[n+offset] != 42 {
				t.Fatalf("%s of %d writes beyond its end", name, n)
			}
		}
	}
}

func TestAxpyRefusesDifferentLengths(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Axpy accepts a row that is shorter than the sum")
		}
	}()
	Axpy(make([]float32, 32), 1, make([]int8, 16))
}

func BenchmarkAxpy256(b *testing.B) {
	y, x := make([]float32, 256), make([]int8, 256)
	for i := range x {
		x[i] = int8(i)
	}
	b.Run("best", func(b *testing.B) {
		for b.Loop() {
			Axpy(y, 1e-9, x)
		}
	})
	b.Run("portable", func(b *testing.B) {
		for b.Loop() {
			axpyPortable(y, 1e-9, x)
		}
	})
}
