package rank

import (
	"cmp"
	"slices"
)

// Sort puts values in order, those with the greatest score first, and equal ones by compare. What it moves about
// are numbers: values may be large.
func Sort[T any](values []T, score func(*T) float64, compare func(a, b *T) int) {
	list := inOrder(values, score, compare)
	for first := range list { // the value that is at list[n].at comes to n
		if list[first].at == first {
			continue
		}
		held, at := values[first], first
		for list[at].at != first {
			from := list[at].at
			values[at], list[at].at = values[from], at
			at = from
		}
		values[at], list[at].at = held, at
	}
}

// Ordered is Sort that leaves the values where they are, and returns their addresses.
func Ordered[T any](values []T, score func(*T) float64, compare func(a, b *T) int) []*T {
	out := make([]*T, len(values))
	for i, s := range inOrder(values, score, compare) {
		out[i] = &values[s.at]
	}
	return out
}

// scored is a value of a list, and its score.
type scored struct {
	score float64
	at    int
}

func inOrder[T any](values []T, score func(*T) float64, compare func(a, b *T) int) []scored {
	list := make([]scored, len(values))
	for i := range values {
		list[i] = scored{score(&values[i]), i}
	}
	slices.SortFunc(list, func(a, b scored) int {
		if a.score != b.score { // as most often
			return cmp.Compare(b.score, a.score)
		}
		return compare(&values[a.at], &values[b.at])
	})
	return list
}
