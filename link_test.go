package loci_test

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A store that tells of no links but the one it is asked for.
type closedLinks struct{ loci.Store }

func (closedLinks) Links(context.Context, loci.Tenant, ...loci.ID) ([]loci.Link, error) {
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

func TestLinksNeedReadableEnds(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		a, b := locitest.Save(t, m, "a"), storeRule(t, m, "b")
		theirs, shared := locitest.Save(t, locitest.Bind(t, e, "v"), "c"), locitest.Save(t, locitest.Bind(t, e, "org"), "d")
		reader := locitest.BindView(t, e, loci.View{
			Tenant:    locitest.Tenant(t, "t"),
			Namespace: loci.Namespace{"u"},
			Also:      []loci.Namespace{{"org"}},
			Actor:     "tester",
		})
		for _, typ := range []loci.LinkType{loci.LinkDerivedFrom, loci.LinkSupports,
			loci.LinkContradicts, loci.LinkSupersedes, loci.LinkRelatedTo} {
			for range 2 { // the second time it is there
				if err := m.Link(t.Context(), a, typ, b); err != nil {
					t.Error(typ, err)
				}
			}
		}
		if err := reader.Link(t.Context(), a, loci.LinkSupports, shared); err != nil {
			t.Error(err)
		}
		locitest.WantCode(t, reader.Link(t.Context(), shared, loci.LinkSupports, a), loci.NotFound) // may be read, not written
		locitest.WantCode(t, m.Link(t.Context(), a, loci.LinkSupports, theirs), loci.NotFound)
		locitest.WantCode(t, m.Link(t.Context(), theirs, loci.LinkSupports, a), loci.NotFound)
		locitest.WantCode(t, m.Link(t.Context(), a, loci.LinkSupports, a), loci.Invalid)
		err := m.Link(t.Context(), a, "likes", b)
		if locitest.WantCode(t, err, loci.Invalid); err.Error() != "Invalid link type: 'likes'. Must be one of ['contradicts', 'derived_from', 'related_to', 'supersedes', 'supports']" {
			t.Error(err)
		}
		links, err := m.Links(t.Context(), a)
		if err != nil || len(links) != 6 || len(eventTypes(t, m, a)) != 7 {
			t.Errorf("%d links, %d events, %v", len(links), len(eventTypes(t, m, a)), err)
		}
		// A memory that no longer holds may be named, for example by what supersedes it.
		ended := locitest.Save(t, m, "no longer")
		if gone, err := m.Forget(t.Context(), loci.KindFact, ended); err != nil || !gone {
			t.Fatal(gone, err)
		}
		if err := m.Link(t.Context(), a, loci.LinkSupersedes, ended); err != nil {
			t.Error("to what is not live:", err)
		}
		if links, err := m.Links(t.Context(), ended); err != nil || len(links) != 1 || links[0].From != a {
			t.Errorf("links of what is not live: %+v, %v", links, err)
		}
		if locitest.Fact(t, m, a).Validity != loci.Active {
			t.Error("a link superseded a fact")
		}
	})
}
