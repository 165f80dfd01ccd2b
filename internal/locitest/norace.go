//go:build !race

package locitest

// Raced is set where the race detector makes everything some twenty times as slow.
const Raced = false
