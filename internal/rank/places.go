package rank

import (
	"bytes"
	"cmp"
	"slices"
	"time"
)

// First orders what has a score: the best first, then the newest, then by id.
func First(a, b float64, aMade, bMade time.Time, aID, bID []byte) int {
	if order := cmp.Compare(b, a); order != 0 { // as most often
		return order
	}
	if order := bMade.Compare(aMade); order != 0 {
		return order
	}
	return bytes.Compare(aID, bID)
}

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

// Where says at which place of a list the value of each key is.
func Where[K comparable, T any](values []T, key func(*T) K) map[K]int {
	at := make(map[K]int, len(values))
	for i := range values {
		at[key(&values[i])] = i
	}
	return at
}
