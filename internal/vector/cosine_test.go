package vector

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The cosine of a query and a sum of rows is that of the vectors, off by what their rounding costs.
func TestCosineOfASum(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	unit := func() []float32 {
		v := make([]float32, 256)
		for i := range v {
			v[i] = float32(rng.NormFloat64() / 16)
		}
		return v
	}
	for range 20 {
		m, exact := New(256), make([]float64, 256)
		sum := make([]float32, 256)
		for row := range 5 {
			v := unit()
			m.Append(v)
			m.AddTo(sum, row)
			for i, x := range v {
				exact[i] += float64(x)
			}
		}
		query := unit()
		var dot, squares float64
		for i, x := range exact {
			dot, squares = dot+x*float64(query[i]), squares+x*x
		}
		if got, want := NewQuery(query).Cosine(sum), dot/math.Sqrt(squares); math.Abs(got-want) > 0.01 {
			t.Errorf("the cosine is %v; want %v", got, want)
		}
	}
}

func TestCosineWithoutADirection(t *testing.T) {
	query := NewQuery([]float32{0.6, 0.8})
	big := float32(math.MaxFloat32)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, sum := range [][]float32{{0, 0}, {inf, 1}, {nan, 1}, {-inf, 1}} {
		if got := query.Cosine(sum); got != 0 {
			t.Errorf("the cosine with %v is %v; want 0", sum, got)
		}
	}
	if got := query.Cosine([]float32{big, big}); math.Abs(got-0.99) > 0.01 {
		t.Errorf("the cosine with the greatest numbers is %v", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("Cosine accepts a sum of other dimensions")
		}
	}()
	query.Cosine([]float32{1})
}
