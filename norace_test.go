//go:build !race

package loci_test

// raced is set where the race detector makes everything some twenty times as slow.
const raced = false
