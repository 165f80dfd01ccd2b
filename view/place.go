package view

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A Place is a namespace with how much lies in it, but not below it.
type Place struct {
	Namespace loci.Namespace      `json:"namespace"`
	Counts    map[loci.Kind]int64 `json:"counts"` // by kind, in every state; notes count as facts
	Total     int64               `json:"total"`
}

// Places lists the namespaces that a handle may read in which memories lie, in order of
// their names, at most limit (1 to 1000), from the one after a place on; more says that
// others follow.
func Places(
	ctx context.Context, m *loci.Memory, after loci.Namespace, limit int,
) (places []Place, more bool, err error) {
	if limit < 1 || limit > 1000 {
		return nil, false, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to 1000", limit)
	}
	all := shapes(m)
	f := reach(m, m.Now())
	f.NotLive = true
	for _, s := range all {
		f.Kinds = append(f.Kinds, s.kind)
	}
	namespaces, err := m.Namespaces(ctx, f)
	if err != nil {
		return nil, false, err
	}
	byOwner := map[string][]loci.Namespace{}
	var owners []string
	for _, n := range namespaces {
		key := n.Owner().Key()
		if byOwner[key] == nil {
			owners = append(owners, key)
		}
		byOwner[key] = append(byOwner[key], n)
	}
	slices.Sort(owners)
	for _, key := range owners {
		if after != nil && strings.Compare(key, after.Key()) <= 0 {
			continue
		}
		if len(places) == limit {
			return places, true, nil
		}
		p := Place{Namespace: loci.NamespaceFromKey(key), Counts: map[loci.Kind]int64{}}
		f.Within, f.Exact = byOwner[key], true
		if err := p.count(ctx, m, all, f); err != nil {
			return nil, false, err
		}
		if p.Total > 0 {
			places = append(places, p)
		}
	}
	return places, false, nil
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
