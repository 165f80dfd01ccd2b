//go:build race

package storetest

// raced is set where the race detector makes everything some twenty times as slow.
const raced = true
