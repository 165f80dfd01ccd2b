package loci_test

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A store that tells of no links but the one it is asked for.
type closedLinks struct{ loci.Store }

func (closedLinks) Links(context.Context, loci.Tenant, loci.ID) ([]loci.Link, error) {
	return nil, loci.Errorf(loci.Internal, "all links were read")
}

// A link is looked for by itself: a memory may have many others.
func TestALinkReadsNoOther(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, closedLinks{locitest.OpenMemory()}, loci.Options{}), "u")
	a, b := locitest.Save(t, m, "a"), locitest.Save(t, m, "b")
	for range 2 {
		if err := m.Link(t.Context(), a, loci.LinkSupports, b); err != nil {
			t.Error(err)
		}
	}
}
