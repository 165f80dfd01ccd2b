package session

import "testing"

// BoundRead sets the bytes of a page of messages during a test.
func BoundRead(t *testing.T, most int) {
	t.Helper()
	before := mostRead
	mostRead = most
	t.Cleanup(func() { mostRead = before })
}
