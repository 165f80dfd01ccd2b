package session

import "testing"

// BoundRead sets the bytes of a page of messages during a test.
func BoundRead(t *testing.T, most int) {
	t.Helper()
	before := mostRead
	mostRead = most
	t.Cleanup(func() { mostRead = before })
}

// BoundCounted sets how many bytes of a conversation are counted whatever there is to decide, during a test.
func BoundCounted(t *testing.T, most int) {
	t.Helper()
	before := countedBytes
	countedBytes = most
	t.Cleanup(func() { countedBytes = before })
}
