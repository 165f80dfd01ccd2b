package rank_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/rank"
)

func TestPlaces(t *testing.T) {
	values := []int{5, 9, -1, 7, 9}
	in := func(v *int) int { return max(0, *v) }
	larger := func(a, b *int) int { return cmp.Compare(*b, *a) }
	for limit, want := range map[int][]int{
		0: {0, 0, 0, 0, 0},
		1: {0, 1, 0, 0, 0},
		3: {0, 1, 0, 3, 2},
		9: {4, 1, 0, 3, 2},
	} {
		if got := rank.Places(values, limit, in, larger); !slices.Equal(got, want) {
			t.Errorf("limit %d: places %v, want %v", limit, got, want)
		}
	}
	if got := rank.Places(nil, 3, in, larger); len(got) != 0 {
		t.Errorf("no values: places %v", got)
	}
}

// Of one list the ranks are the places. Of several, or of one that lacks a rank, they are not.
func TestPlacesOfLists(t *testing.T) {
	for name, c := range map[string]struct{ ranks, want []int }{
		"one":                 {[]int{2, 0, 1, 3}, []int{2, 0, 1, 0}},
		"two":                 {[]int{2, 1, 1, 0}, []int{1, 2, 0, 0}},
		"one that lacks some": {[]int{3, 0, 2, 0}, []int{1, 0, 2, 0}},
		"a rank beyond all":   {[]int{9, 1, 0, 0}, []int{1, 2, 0, 0}},
	} {
		never := func(a, b *int) int { return 0 } // as they stand
		rankOf := func(n *int) int { return *n }
		if got := rank.Places(c.ranks, 2, rankOf, never); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The score comes first, then what is newer, then the id.
func TestFirst(t *testing.T) {
	early, late := time.UnixMilli(1), time.UnixMilli(2)
	for name, c := range map[string]struct {
		a, b         float64
		aMade, bMade time.Time
		aID, bID     string
		want         int
	}{
		"score":      {2, 1, early, late, "b", "a", -1},
		"less score": {1, 2, late, early, "a", "b", 1},
		"newer":      {1, 1, late, early, "b", "a", -1},
		"older":      {1, 1, early, late, "a", "b", 1},
		"id":         {1, 1, late, late, "a", "b", -1},
		"same":       {1, 1, late, late, "a", "a", 0},
	} {
		if got := rank.First(c.a, c.b, c.aMade, c.bMade, []byte(c.aID), []byte(c.bID)); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Far down in the results, candidates by each signal are four times as many no longer, but always as many as results.
func TestCandidates(t *testing.T) {
	for depth, want := range map[int]int{1: 4, 10: 40, 4000: 16_000, 4001: 16_000, 15_999: 16_000, 16_001: 16_001} {
		if got := rank.Candidates(depth); got != want {
			t.Errorf("%d for %d results, want %d", got, depth, want)
		}
	}
}

// The best are those with the greatest scores, of equal ones the first.
func TestBest(t *testing.T) {
	scores := []float64{2, 5, 3, 5, 1, 9}
	score := func(i int) float64 { return scores[i] }
	for most, want := range map[int][]int{0: {}, 1: {1}, 3: {1, 3, 2}, 9: {1, 3, 2, 0, 4}} {
		if got := rank.Best(len(scores), most, func(i int) bool { return i != 5 }, score); !slices.Equal(got, want) {
			t.Errorf("the best %d: %v, want %v", most, got, want)
		}
	}
}
