package rank

import "slices"

// Places ranks the values that are in: the best limit of them get their places from 1, the
// best by compare first. All others get 0.
func Places[T any](values []T, limit int, in func(*T) bool, compare func(a, b *T) int) []int {
	var best []int
	for i := range values {
		if in(&values[i]) {
			best = append(best, i)
		}
	}
	slices.SortStableFunc(best, func(a, b int) int { return compare(&values[a], &values[b]) })
	places := make([]int, len(values))
	for n, i := range best[:min(limit, len(best))] {
		places[i] = n + 1
	}
	return places
}
