package rank

import (
	"cmp"
	"slices"
)

// Sort puts values in order, those with the greatest score first, and equal ones by compare. What it moves about
// are numbers: values may be large.
func Sort[T any](values []T, score func(*T) float64, compare func(a, b *T) int) {
	type scored struct {
		score float64
		at    int
	}
	list, order := make([]scored, len(values)), make([]int, len(values))
	for i := range values {
		list[i] = scored{score(&values[i]), i}
	}
	slices.SortFunc(list, func(a, b scored) int {
		if a.score != b.score { // as most often
			return cmp.Compare(b.score, a.score)
		}
		return compare(&values[a.at], &values[b.at])
	})
	for n, s := range list {
		order[n] = s.at
	}
	Arrange(values, order)
}

// Arrange puts the value that is at order[n] to n, for each n. It leaves nothing of order.
func Arrange[T any](values []T, order []int) {
	for first := range order {
		if order[first] == first {
			continue
		}
		held, at := values[first], first
		for order[at] != first {
			from := order[at]
			values[at], order[at] = values[from], at
			at = from
		}
		values[at], order[at] = held, at
	}
}
