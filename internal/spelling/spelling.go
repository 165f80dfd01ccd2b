// Package spelling says what a word must be, and what a misspelt one probably meant.
package spelling

import (
	"fmt"
	"slices"
	"strings"
)

// OneOf returns the word if it is among those that are allowed; else an error that names
// them, or the one that was probably meant.
func OneOf(word string, allowed ...string) (string, error) {
	if slices.Contains(allowed, word) {
		return word, nil
	}
	return "", Unknown(word, allowed...)
}

// Unknown is the error for a word that is not allowed: it says what was probably meant, or
// what the word can be.
func Unknown(word string, allowed ...string) error {
	if near := Nearest(word, allowed); near != "" {
		return fmt.Errorf("%q is not known: did you mean %s?", word, near)
	}
	return fmt.Errorf("%q is not known: must be one of %s", word, strings.Join(allowed, ", "))
}

// Nearest returns the candidate a misspelt name probably meant, or "": one slip
// away, or two in a long name.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, bestAt := "", 3
	for _, c := range candidates {
		allowed := 1
		if len(c) > 5 {
			allowed = 2
		}
		if d := distance(name, strings.ToLower(c)); d <= allowed && d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace or swap with their
// neighbour between two names.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 { // no name is that long
		return len(a) + len(b)
	}
	var before, above, row [65]int // the rows of two letters ago, one letter ago, and now
	for j := range len(b) + 1 {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := above[j-1]
			if a[i-1] != b[j-1] {
				cost++
			}
			row[j] = min(cost, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}
