package view

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
)

// A Place is a namespace with how much lies in it, but not below it.
type Place struct {
	Namespace loci.Namespace      `json:"namespace"`
	Counts    map[loci.Kind]int64 `json:"counts"` // by kind, in every state; notes count as facts
	Total     int64               `json:"total"`
}

// Places lists the namespaces that a handle may read in which memories lie, in order of
// their names; of the page Limit (1 to 1000; 0 is 100) and Cursor count. next continues the
// list; "" is its end.
func Places(ctx context.Context, m *loci.Memory, page loci.Page) (places []Place, next string, err error) {
	page.Limit = cmp.Or(page.Limit, 100)
	after, err := base64.RawURLEncoding.DecodeString(page.Cursor)
	if err != nil || page.Limit < 1 || page.Limit > 1000 {
		return nil, "", loci.Errorf(loci.Invalid, "limit must be 1 to 1000, and cursor what the page before said")
	}
	all := shapes(m)
	f := reach(m, m.Now())
	f.NotLive = true
	for _, s := range all {
		f.Kinds = append(f.Kinds, s.kind)
	}
	namespaces, err := m.Namespaces(ctx, f)
	if err != nil {
		return nil, "", err
	}
	byOwner := map[string][]loci.Namespace{} // the key of a place, behind a mark so that none is empty
	for _, n := range namespaces {
		key := ">" + n.Owner().Key()
		byOwner[key] = append(byOwner[key], n)
	}
	for _, key := range slices.Sorted(maps.Keys(byOwner)) {
		if key <= string(after) {
			continue
		}
		if len(places) == page.Limit {
			return places, base64.RawURLEncoding.EncodeToString([]byte(next)), nil
		}
		p := Place{Namespace: byOwner[key][0].Owner(), Counts: map[loci.Kind]int64{}}
		f.Within, f.Exact = byOwner[key], true
		if err := p.count(ctx, m, all, f); err != nil {
			return nil, "", err
		}
		if next = key; p.Total > 0 {
			places = append(places, p)
		}
	}
	return places, "", nil
}

// count counts what a filter selects, kind by kind.
func (p *Place) count(ctx context.Context, m *loci.Memory, all []shape, f loci.Filter) error {
	for _, s := range all {
		f.Kinds, f.Statuses = []loci.Kind{s.kind}, nil
		if s.status != "" {
			f.Statuses = []string{s.status}
		}
		c, err := m.Count(ctx, f)
		if err != nil {
			return err
		}
		if c.Records > 0 {
			p.Counts[s.name] += c.Records
			p.Total += c.Records
		}
	}
	return nil
}

// Totals counts what a handle may read by kind, in every state.
func Totals(ctx context.Context, m *loci.Memory) (Place, error) {
	p := Place{Namespace: m.Namespace(), Counts: map[loci.Kind]int64{}}
	f := reach(m, m.Now())
	f.NotLive = true
	return p, p.count(ctx, m, shapes(m), f)
}

// Outside counts what lies in places that a handle does not reach, such as those where an
// operator let tools keep memories; at binds a handle to one. Places that hold nothing are
// left out.
func Outside(
	ctx context.Context, m *loci.Memory, places []loci.Namespace, at func(loci.Namespace) (*loci.Memory, error),
) (out []Place, err error) {
	out = []Place{}
	for i, n := range places {
		inner := func(other loci.Namespace) bool { return other.Contains(n) && !other.Equal(n) }
		if m.Namespace().Contains(n) || slices.ContainsFunc(places, inner) ||
			slices.ContainsFunc(places[:i], n.Equal) {
			continue
		}
		there, err := at(n)
		if err != nil {
			return nil, err
		}
		p, err := Totals(ctx, there)
		if err != nil {
			return nil, err
		}
		if p.Total > 0 {
			out = append(out, p)
		}
	}
	return out, nil
}
