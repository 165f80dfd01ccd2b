package fit_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/fit"
)

// A section chooses from what its share could hold; what it lacks passes on, backwards too.
func TestCandidates(t *testing.T) {
	shares := []float64{0.5, 0.3, 0.2}
	for name, c := range map[string]struct {
		budget      int
		found, want []int
	}{
		"by their shares":            {3000, []int{200, 200, 200}, []int{75, 45, 30}},
		"a small budget":             {300, []int{200, 200, 200}, []int{30, 30, 30}},
		"no budget":                  {0, []int{200, 200, 200}, []int{30, 30, 30}},
		"a large budget":             {200_000, []int{200, 200, 200}, []int{100, 100, 100}},
		"what is unused passes on":   {3000, []int{40, 200, 200}, []int{40, 80, 30}},
		"and back":                   {3000, []int{200, 30, 20}, []int{100, 30, 20}},
		"to the first that has some": {2000, []int{60, 30, 10}, []int{60, 30, 10}},
		"nothing found":              {3000, []int{0, 0, 0}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fit.Candidates(c.budget, shares, c.found); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}
