package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The kernels must agree on two rows of any length, from any address, and read nothing beyond.
func TestRowsAreMultipliedAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for n := 0; n <= 400; n++ {
		offset := n % 5
		a, b := make([]int8, n+offset+40)[offset:], make([]int8, n+40)
		for i := range a {
			a[i] = int8(rng.Uint32())
		}
		for i := range b {
			b[i] = int8(rng.Uint32())
		}
		var want int32
		for i := range n {
			want += int32(a[i]) * int32(b[i])
		}
		for name, kernel := range map[string]func(a, b []int8) int32{"best": dotRows, "portable": dotRowsPortable} {
			if got := kernel(a[:n:n], b[:n:n]); got != want {
				t.Fatalf("%s of %d: %d, want %d", name, n, got, want)
			}
		}
	}
	least := make([]int8, MaxDims)
	for i := range least {
		least[i] = -128
	}
	if got := dotRows(least, least); got != 128*128*MaxDims {
		t.Errorf("of the least codes: %d", got)
	}
}

func TestBetweenRows(t *testing.T) {
	one, other := New(3), New(3)
	one.Append([]float32{1, 0, 0})
	one.Append([]float32{0.6, 0.8, 0})
	other.Append([]float32{0, 2, 0})
	for row, want := range []float64{0, 1.6} {
		if got := one.Between(row, other, 0); math.Abs(got-want) > 0.02 {
			t.Errorf("row %d: %v, want %v", row, got, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("rows of different dimensions are multiplied")
		}
	}()
	one.Between(0, New(4), 0)
}
