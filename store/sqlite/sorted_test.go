//go:build !race

// This test counts work and starts no goroutine: the race detector has nothing to see, and
// `make test` runs it without it.

package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/effort"
	"github.com/loci-memory/loci/internal/locitest"
)

// A list over more namespaces than are merged sorts the numbers of records: how long their texts are makes no difference
// to a page of one.
func TestAListOverManyNamespacesSortsNumbers(t *testing.T) {
	const places, each = 70, 4 // more than 64
	fill := func(text string) func() {
		e := locitest.NewEngine(t, open(t), loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}})
		for place := range places {
			m := locitest.Bind(t, e, "u", fmt.Sprint("p", place))
			for n := range each {
				locitest.Save(t, m, fmt.Sprint("note ", place*each+n, text))
			}
		}
		all := locitest.Bind(t, e, "u")
		return func() {
			for range 10 {
				found, _, err := all.Facts(t.Context(), loci.FactQuery{}, loci.Page{Limit: 1})
				if err != nil || len(found) != 1 || !strings.HasSuffix(found[0].Content, text) {
					t.Fatalf("%d notes, %v", len(found), err)
				}
			}
		}
	}
	short, long := fill(""), fill(strings.Repeat(" zebra", 15_000))
	short()
	long()
	effort.AtMost(t, "a page of one of long notes in many namespaces", 3, short, long)
}
