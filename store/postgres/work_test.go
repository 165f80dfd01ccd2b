package postgres_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
)

// TestWork: commits are counted, and the parts of the index that a search brought into memory.
func TestWork(t *testing.T) {
	s, tn, id := open(t), locitest.Tenant(t, "work"), loci.NewID()
	for _, one := range []loci.ID{id, loci.NewID()} {
		if err := s.Apply(t.Context(), tn, creation(one)); err != nil {
			t.Fatal(err)
		}
	}
	work := func() store.Work { return s.(interface{ Work() store.Work }).Work() }
	if w := work(); w.Writes != 2 || w.Commits[0] != 2 || w.ShardsLoaded != 0 || w.IndexBytes != 0 {
		t.Errorf("before a search: %+v", w)
	}
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id)}, everywhere, 1)
	if err != nil || len(hits) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	if w := work(); w.ShardsLoaded != 1 || w.ShardsDropped != 0 || w.IndexBytes <= 0 || w.IndexLimit < w.IndexBytes {
		t.Errorf("after a search: %+v", w)
	}
}
