//go:build !race

package jsonguard_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/jsonguard"
)

// Large texts are read whole, not with a call for every byte as package json does, and
// looking through them costs no more than that. Twice as quick is asked for; it is five
// times and more.
func TestLargeTextsAreCheap(t *testing.T) {
	const size = 1 << 20
	for name, inside := range map[string]string{
		"base64": strings.Repeat("QUJD", size/4), "prose": strings.Repeat("Two lines of it,\\nand words. ", size/28),
	} {
		text := []byte(`{"data":"` + inside + `"}`)
		took := func(call func()) time.Duration {
			start := time.Now()
			call()
			return time.Since(start)
		}
		valid, checked := func() { json.Valid(text) }, func() { jsonguard.Check(text, 64, nil) }
		theirs, ours := time.Hour, time.Hour
		for began := time.Now(); time.Since(began) < 10*time.Second; { // the least of as many as a busy machine needs
			if theirs, ours = min(theirs, took(valid)), min(ours, took(checked)); ours < theirs/2 {
				break
			}
		}
		if ours >= theirs/2 {
			t.Errorf("%s: the check took %v; package json takes %v to see that it is valid", name, ours, theirs)
		}
	}
}
