//go:build !race

package jsonguard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/effort"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// Large texts are read whole, not with a call for every byte as package json does, and
// looking through them costs no more than that. Twice as quick is asked for; it is five
// times and more.
func TestLargeTextsAreCheap(t *testing.T) {
	const size = 4 << 20
	for name, inside := range map[string]string{
		"base64": strings.Repeat("QUJD", size/4), "prose": strings.Repeat("Two lines of it,\\nand words. ", size/28),
	} {
		text := []byte(`{"data":"` + inside + `"}`)
		effort.AtMost(t, "the check of "+name, 0.5, func() {
			json.Valid(text) // reads all of it
		}, func() { jsonguard.Check(text, 64, nil) })
	}
}
