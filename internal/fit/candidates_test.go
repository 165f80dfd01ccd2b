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
		first       []int // in the first round
		more        bool  // may there be, behind it
	}{
		"by their shares":            {3000, []int{200, 200, 200}, []int{75, 45, 30}, []int{30, 18, 12}, true},
		"a small budget":             {300, []int{200, 200, 200}, []int{30, 30, 30}, []int{12, 12, 12}, true},
		"no budget":                  {0, []int{200, 200, 200}, []int{30, 30, 30}, []int{12, 12, 12}, true},
		"a large budget":             {200_000, []int{200, 200, 200}, []int{100, 100, 100}, []int{40, 40, 40}, true},
		"what is unused passes on":   {3000, []int{40, 200, 200}, []int{40, 80, 30}, []int{30, 18, 12}, true},
		"and back":                   {3000, []int{200, 30, 20}, []int{100, 30, 20}, []int{30, 18, 12}, true},
		"to the first that has some": {2000, []int{60, 30, 10}, []int{60, 30, 10}, []int{22, 12, 10}, true},
		"nothing found":              {3000, []int{0, 0, 0}, []int{1, 1, 1}, []int{1, 1, 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for n, round := range []fit.Round{fit.First, fit.All, fit.First} {
				asked, few := make([]int, len(shares)), n == 2
				ask := func(section, limit, wide int) (int, bool, error) {
					if asked[section]++; limit > fit.MostOf(round) && !few || wide > fit.MostCandidates {
						t.Errorf("round %d: section %d is asked for %d or %d", n, section, limit, wide)
					}
					if few {
						limit = wide
					}
					return min(c.found[section], 2*limit), few, nil // by words and by vectors
				}
				got, _, more, err := fit.Candidates(c.budget, shares, round, ask)
				want := [][]int{c.first, c.want, c.want}[n]
				if err != nil || !slices.Equal(got, want) || more != (n == 0 && c.more) {
					t.Errorf("round %d: %v, want %v, more: %v, %v", n, got, want, more, err)
				}
				if slices.Max(asked) > 2 || asked[0] != 1 && c.found[0] >= 30 {
					t.Errorf("round %d: sections are asked for %v times", n, asked)
				}
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
		most, others, few := make([]int, n), false, make([]bool, n)
		asked, round := make([]int, n), []fit.Round{fit.First, fit.All}[rng.IntN(2)]
		rounds := slices.Repeat([]fit.Round{round}, n)
		for i := range n {
			if few[i] = rng.IntN(3) == 0; few[i] {
				rounds[i] = fit.All
			}
			most[i] = min(words[i], fit.MostOf(rounds[i])) + min(vectors[i], fit.MostOf(rounds[i]))
		}
		ask := func(section, limit, wide int) (int, bool, error) {
			if few[section] {
				limit = wide
			}
			asked[section] = limit
			return min(words[section], limit) + min(vectors[section], limit), few[section], nil
		}
		got, lines, more, err := fit.Candidates(budget, shares, round, ask)
		if err != nil {
			t.Fatal(err)
		}
		if want := fit.Divided(budget, shares, most, rounds); !slices.Equal(got, want) {
			t.Fatalf("budget %d, shares %v, found %v, few %v: %v, want %v", budget, shares, most, few, got, want)
		}
		for i, limit := range got {
			if want := map[fit.Round]int{fit.First: 2 * limit, fit.All: limit}[rounds[i]]; lines[i] != want {
				t.Fatalf("%d lines are made of %d candidates, want %d", lines[i], limit, want)
			}
			others = others || rounds[i] == fit.First && max(words[i], vectors[i]) > asked[i]
			if limit > asked[i] && most[i] > asked[i] {
				t.Fatalf("section %d chooses from %d of %d asked for", i, limit, asked[i])
			}
		}
		if others && !more || more && round == fit.All {
			t.Fatalf("budget %d, words %v, vectors %v, few %v, asked for %v: more: %v", budget, words, vectors, few, asked, more)
		}
	}
	failed := errors.New("no store")
	fails := func(int, int, int) (int, bool, error) { return 0, false, failed }
	if _, _, _, err := fit.Candidates(3000, []float64{1}, fit.First, fails); !errors.Is(err, failed) {
		t.Error(err)
	}
}
