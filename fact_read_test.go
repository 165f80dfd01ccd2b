package loci_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// A list decodes the body of each fact: it takes no piece of memory for each member.
func TestFactIsReadQuickly(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
	stored, err := m.StoreFact(t.Context(), loci.NewFact{Content: "walruses dive", Subject: "walrus", Predicate: "does"})
	if err != nil {
		t.Fatal(err)
	}
	f := loci.Filter{Within: []loci.Namespace{m.Namespace()}, IDs: []loci.ID{stored.ID}}
	records, _, err := m.Records(t.Context(), f, loci.Page{})
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	n := testing.AllocsPerRun(100, func() {
		f, err := loci.FactOf(&records[0], m.Now())
		if err != nil || f.Subject != "walrus" || f.Predicate != "does" || f.ValidFrom.IsZero() {
			t.Errorf("%+v, %v", f, err)
		}
	})
	if n > 6 {
		t.Errorf("a fact takes %.0f pieces of memory", n)
	}
}
