package postgres

import (
	"maps"
	"slices"
	"strings"
)

func joinOr(parts []string) string { return strings.Join(parts, " OR ") }

// sorted lists the keys of a set in order.
func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// compact lists numbers in order, each once.
func compact(numbers []int64) []int64 {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	return slices.Compact(numbers)
}
