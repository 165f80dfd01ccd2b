package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Values are put in any order where they are.
func TestArrange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		values, want, order := make([]int, n+2), make([]int, n), rng.Perm(n)
		for i := range values {
			values[i] = 100 + i
		}
		for i, from := range order {
			want[i] = values[from]
		}
		if Arrange(values, order); !slices.Equal(values[:n], want) || values[n] != 100+n || values[n+1] != 101+n {
			t.Fatalf("%v, want %v", values, want)
		}
	}
}
