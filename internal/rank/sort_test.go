package rank_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// The greatest score comes first, and what is equal is compared.
func TestSort(t *testing.T) {
	type value struct {
		score float64
		name  int
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 60 {
		got := make([]value, n)
		for i, name := range rng.Perm(n) {
			got[i] = value{float64(rng.IntN(1 + n/2)), name}
		}
		compare := func(a, b *value) int { return a.name - b.name }
		want := slices.Clone(got)
		slices.SortFunc(want, func(a, b value) int { return cmp.Or(cmp.Compare(b.score, a.score), compare(&a, &b)) })
		if rank.Sort(got, func(v *value) float64 { return v.score }, compare); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
