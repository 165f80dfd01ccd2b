package view_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/view"
)

// A page of a list ends at a number of bytes, too, and its cursor goes on: the whole list is the same.
func TestListsEndAtANumberOfBytes(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	for i := range 40 {
		text := fmt.Sprint(i, " ", strings.Repeat(fmt.Sprint("word", i, " "), 60))
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []view.Query{{}, {States: []view.State{view.Fading, view.Waiting, view.Live}}} {
		whole, next, err := view.List(t.Context(), m, q, loci.Page{Limit: 1000})
		if err != nil || next != "" || len(whole) != 40 {
			t.Fatalf("%d, %q, %v", len(whole), next, err)
		}
		view.BoundLists(t, 3000)
		var ids []loci.ID
		pages := 0
		for page := (loci.Page{Limit: 1000}); ; pages++ {
			some, next, err := view.List(t.Context(), m, q, page)
			if err != nil || len(some) == 0 || len(some) > 10 {
				t.Fatalf("a page of %d, %v", len(some), err)
			}
			for _, e := range some {
				ids = append(ids, e.ID)
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		if !slices.EqualFunc(ids, whole, func(id loci.ID, e view.Entry) bool { return id == e.ID }) || pages < 4 {
			t.Errorf("%d memories in %d pages", len(ids), pages)
		}
		view.BoundLists(t, 32<<20)
	}
}
