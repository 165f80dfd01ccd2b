package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/view"
)

// The links of a memory are bounded: who adds one gets all of them, so that a call would take
// longer with each that is there.
func TestLinksOfOneMemoryAreBounded(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	store := func(text string) loci.ID {
		t.Helper()
		saved, err := m.StoreFact(t.Context(), loci.NewFact{Content: text})
		if err != nil {
			t.Fatal(err)
		}
		return saved.ID
	}
	view.BoundLinks(t, 5)
	hub, one, other := store("the hub of it all"), store("one that is linked"), store("another that is not")
	for i := range 5 {
		to := one
		if i > 0 {
			to = store(fmt.Sprintf("number %d around it", i))
		}
		if err := view.Link(t.Context(), m, hub, loci.LinkDerivedFrom, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		from, to loci.ID
		want     string
	}{
		"from":         {hub, other, "the memory has 5 links; the limit is 5: link to a memory between"},
		"to":           {other, hub, "the memory that to names has 5 links; the limit is 5"},
		"one is there": {hub, one, ""},
		"others":       {other, one, ""},
	} {
		err := view.Link(t.Context(), m, c.from, loci.LinkDerivedFrom, c.to)
		refused := err != nil && loci.AsError(err).Code == loci.TooLarge && strings.Contains(err.Error(), c.want)
		if c.want == "" && err != nil || c.want != "" && !refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
