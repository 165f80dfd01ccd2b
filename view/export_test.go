package view

import "testing"

// BoundLinks sets the bound of the links of one memory during a test.
func BoundLinks(t *testing.T, most int) {
	t.Helper()
	before := maxLinks
	maxLinks = most
	t.Cleanup(func() { maxLinks = before })
}

// BoundLists sets the bytes of a page of a list during a test.
func BoundLists(t *testing.T, most int) {
	t.Helper()
	before := mostListed
	mostListed = most
	t.Cleanup(func() { mostListed = before })
}
