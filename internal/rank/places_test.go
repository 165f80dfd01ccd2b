package rank_test

import (
	"cmp"
	"slices"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

func TestPlaces(t *testing.T) {
	values := []int{5, 9, -1, 7, 9}
	positive := func(v *int) bool { return *v > 0 }
	larger := func(a, b *int) int { return cmp.Compare(*b, *a) }
	for limit, want := range map[int][]int{
		0: {0, 0, 0, 0, 0},
		1: {0, 1, 0, 0, 0},
		3: {0, 1, 0, 3, 2},
		9: {4, 1, 0, 3, 2},
	} {
		if got := rank.Places(values, limit, positive, larger); !slices.Equal(got, want) {
			t.Errorf("limit %d: places %v, want %v", limit, got, want)
		}
	}
	if got := rank.Places(nil, 3, positive, larger); len(got) != 0 {
		t.Errorf("no values: places %v", got)
	}
}
