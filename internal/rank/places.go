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

// Places ranks the values that are in, each with its rank from 1 in one of some lists; 0: it is not in. The best limit
// of all get their places from 1, the best by compare first. All others get 0. Where there is one list, its ranks are
// the places.
func Places[T any](values []T, limit int, rank func(*T) int, compare func(a, b *T) int) []int {
	places, best := make([]int, len(values)), make([]int, 0, len(values))
	listed := make([]bool, len(values)+1) // ranks that are there
	for i := range values {
		if n := rank(&values[i]); n > 0 {
			best = append(best, i)
			if n < len(listed) {
				listed[n] = true
			}
		}
	}
	if !slices.Contains(listed[1:len(best)+1], false) { // none is missing, so none is there twice
		for _, i := range best {
			if n := rank(&values[i]); n <= limit {
				places[i] = n
			}
		}
		return places
	}
	slices.SortStableFunc(best, func(a, b int) int { return compare(&values[a], &values[b]) })
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

// Finder is Where for who asks for keys in about the order of the values: most often nothing is made for it.
func Finder[K comparable, T any](values []T, key func(*T) K) func(K) (at int, found bool) {
	next := 0
	var where map[K]int
	return func(k K) (at int, found bool) {
		if next < len(values) && key(&values[next]) == k {
			next++
			return next - 1, true
		}
		if where == nil {
			where = Where(values, key)
		}
		if at, found = where[k]; found {
			next = at + 1
		}
		return at, found
	}
}

// Pointers appends the addresses of values to others.
func Pointers[T any](to []*T, values []T) []*T {
	to = slices.Grow(to, len(values))
	for i := range values {
		to = append(to, &values[i])
	}
	return to
}

// Candidates is how many of the best by each signal are looked at for depth results: four times as many, since those
// that are good by both may be far down in each. Far down that is too many, and less matters there.
func Candidates(depth int) int { return max(depth, min(4*depth, mostCandidates)) }

const mostCandidates = 16_000

// Best returns the numbers of the most values with the greatest scores of those that are in, the best first, and of
// equal ones the first.
func Best(n, most int, in func(i int) bool, score func(i int) float64) []int {
	best := make([]int, 0, n)
	for i := range n {
		if in(i) {
			best = append(best, i)
		}
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
	return best[:min(most, len(best))]
}
