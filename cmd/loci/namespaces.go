package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/view"
)

type namespacesCmd struct {
	Limit int `short:"n" default:"100" placeholder:"N" help:"The most to show, 1 to 1000. Default: 100."`
	following
	place
}

// Help is shown below the usage.
func (*namespacesCmd) Help() string {
	return `In a pipe each namespace is a line with tabs between its parts: its name, how many memories it holds, how many of each kind, and
"outside" if list, search and export look there only when you name it with --namespace. Tools have such namespaces of their own;
with the scope admin you also see all others of the tenant.

    loci namespaces
    LOCI_SCOPES=read,admin loci namespaces --namespace ""`
}

// Run lists where memories lie.
func (c *namespacesCmd) Run(a *app) error {
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	places, next, err := view.Places(a.ctx, m, loci.Page{Limit: c.Limit, Cursor: c.Cursor})
	if err != nil {
		return err
	}
	out := struct {
		Namespaces []view.Place `json:"namespaces"`
		Outside    []view.Place `json:"outside"`
		NextCursor string       `json:"next_cursor,omitempty"`
	}{append([]view.Place{}, places...), []view.Place{}, next}
	if c.Cursor == "" {
		if out.Outside, err = a.outside(m); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(out)
	}
	t := table{head: []string{"NAMESPACE", "MEMORIES", "KINDS", "WHERE"}}
	for i, p := range append(out.Namespaces, out.Outside...) {
		var kinds []string
		for _, k := range slices.Sorted(maps.Keys(p.Counts)) {
			one, many := string(k), string(k)+"s"
			if k == loci.KindFact { // counts do not tell them apart
				one, many = string(noteOrFact), "notes and facts"
			}
			kinds = append(kinds, number(p.Counts[k], one, many))
		}
		where := ""
		if i >= len(out.Namespaces) {
			where = "outside"
		}
		t.add(p.Namespace.String(), fmt.Sprint(p.Total), strings.Join(kinds, ", "), where)
	}
	if len(t.rows) == 0 && c.Cursor == "" {
		a.note(nothingYet)
	}
	t.print(a)
	a.more(next)
	return nil
}

// outside counts what lies where a handle does not look: with the scope admin in all
// other namespaces of the tenant, else in those that the configured tools have.
func (a *app) outside(m *loci.Memory) (places []view.Place, err error) {
	at := func(n loci.Namespace) (*loci.Memory, error) {
		v := m.View()
		v.Namespace = n
		return a.engine.Memory(v)
	}
	if !a.principal.May(loci.ScopeAdmin) {
		set, err := tool.New(a.engine, a.cfg.Tools(a.logger()))
		if err != nil {
			return nil, err
		}
		return view.Outside(a.ctx, m, set.Places(a.principal), at)
	}
	whole, err := at(loci.Namespace{})
	if err != nil {
		return nil, err
	}
	places = []view.Place{}
	for page := (loci.Page{Limit: 1000}); ; {
		all, next, err := view.Places(a.ctx, whole, page)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if !m.Namespace().Contains(p.Namespace) {
				places = append(places, p)
			}
		}
		if page.Cursor = next; next == "" {
			return places, nil
		}
	}
}

// noteOutside says how much an export of a handle leaves out.
func (a *app) noteOutside(m *loci.Memory) (left int64, err error) {
	outside, err := a.outside(m)
	for _, p := range outside {
		left += p.Total
	}
	if left > 0 {
		a.note("%d memories in %d other namespaces are not in it: see loci namespaces", left, len(outside))
	}
	return left, err
}
