package fit_test

import (
	"errors"
	"math/rand/v2"
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
			asked := make([]int, len(shares))
			got, more, err := fit.Candidates(c.budget, shares, fit.All, func(section, limit int) (int, error) {
				if asked[section]++; limit > fit.MostCandidates {
					t.Errorf("section %d is asked for %d", section, limit)
				}
				return min(c.found[section], 2*limit), nil // by words and by vectors
			})
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v, %v", got, c.want, err)
			}
			if slices.Max(asked) > 2 || asked[0] != 1 && c.found[0] >= 30 {
				t.Errorf("sections are asked for %v times", asked)
			}
		})
	}
}

// Sections choose from as many candidates as if the most had been asked for at once.
func TestCandidatesAreThoseOfAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		n := 1 + rng.IntN(4)
		shares, words, vectors := make([]float64, n), make([]int, n), make([]int, n)
		for i := range n {
			shares[i], words[i], vectors[i] = rng.Float64(), rng.IntN(150), rng.IntN(150)
			if rng.IntN(3) == 0 {
				words[i], vectors[i] = words[i]/20, vectors[i]/20
			}
		}
		budget := rng.IntN(1 << rng.IntN(15))
		most := make([]int, n)
		for i := range n {
			most[i] = min(words[i], fit.MostCandidates) + min(vectors[i], fit.MostCandidates)
		}
		asked := make([]int, n)
		got, err := fit.Candidates(budget, shares, func(section, limit int) (int, error) {
			asked[section] = limit
			return min(words[section], limit) + min(vectors[section], limit), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if want := fit.Divided(budget, shares, most); !slices.Equal(got, want) {
			t.Fatalf("budget %d, shares %v, found %v: %v, want %v", budget, shares, most, got, want)
		}
		for i, limit := range got {
			if limit > asked[i] && most[i] > asked[i] {
				t.Fatalf("section %d chooses from %d of %d asked for", i, limit, asked[i])
			}
		}
	}
	failed := errors.New("no store")
	fails := func(int, int) (int, error) { return 0, failed }
	if _, err := fit.Candidates(3000, []float64{1}, fails); !errors.Is(err, failed) {
		t.Error(err)
	}
}
