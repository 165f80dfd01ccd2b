package isolation

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

// readView lists memories of every kind, and reads the victim's in every way.
func (p *probe) readView(ctx context.Context, q view.Query) {
	m := p.m
	if q.Tags[0] == "" {
		q.Tags = nil
	}
	for _, cursor := range append([]string{""}, p.sc.cursor...) {
		q.Kinds = nil
		for range 2 { // parts, too
			entries, _, err := view.List(ctx, m, q, loci.Page{Cursor: cursor})
			p.check("List", entries, err)
			p.checkIDs("List", entries)
			q.Kinds = view.Kinds(m)
		}
	}
	places, _, err := view.Places(ctx, m, loci.Page{})
	p.check("Places", places, err)
	for _, id := range append(p.sc.ids, p.sc.files...) {
		e, err := view.Get(ctx, m, id)
		p.refused("Get", e, err)
		past, err := view.History(ctx, m, id)
		p.refused("History", past, err)
		origin, err := view.Provenance(ctx, m, id)
		p.refused("Provenance", origin, err)
		links, err := view.Links(ctx, m, id)
		p.refused("Links", links, err)
	}
}
