package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// Events implements [loci.EventLog].
func (s *Store) Events(
	ctx context.Context, t loci.Tenant, filter loci.EventFilter, p loci.Page,
) (out []loci.Event, next string, err error) {
	limit, before, invalid := page.Events(p)
	err = s.read(ctx, t, "list events", func(r *reading) (err error) {
		if invalid != nil {
			return invalid
		}
		out, next, err = r.events(&filter, before, limit)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// events are up to most events that a filter selects, newest first, and where the list goes on.
func (r *reading) events(filter *loci.EventFilter, before int64, most int) ([]loci.Event, string, error) {
	if r.t.names.NameKey() == nil { // its marks are made with it
		if err := r.query(); err != nil {
			return nil, "", err
		}
	}
	nameKey := r.t.names.NameKey()
	if nameKey == nil {
		return nil, "", nil // the tenant was never written to
	}
	return page.ListEvents(filter, before, most, func(before int64, limit int) ([]loci.Event, error) {
		c := about(r.t)
		c.add("e.tenant = $1")
		c.eventsOf(filter, before, nameKey)
		q := stmt{sql: "SELECT " + eventColumns + " FROM loci.event e WHERE " + c.String() +
			" ORDER BY e.seq DESC LIMIT " + c.arg(limit)}
		q.args = c.args
		return r.eventPage(q, filter, nameKey)
	})
}

const (
	eventColumns = `e.seq, e.id, e.type, e.kind, e.entity, e.namespace, e.occurred_at, e.actor, e.request_id, e.payload, e.nonce, e.digest, e.sealed, e.former`
	marksOf      = "SELECT n, mark, key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND n = ANY($2)"
)

// eventPage reads events and puts in what their namespaces are called now.
func (r *reading) eventPage(q stmt, filter *loci.EventFilter, nameKey loci.NameKey) (found []loci.Event, err error) {
	var places []int64
	q.row = func(row row) error {
		found = append(found, loci.Event{
			Seq:       row.int(0),
			ID:        row.id(1),
			Type:      loci.EventType(row.string(2)),
			Kind:      loci.Kind(row.string(3)),
			Entity:    row.id(4),
			At:        row.time(6),
			Actor:     row.string(7),
			RequestID: row.string(8),
			Payload:   row.bytes(9),
			Nonce:     row.bytes(10),
			Digest:    row.hash(11),
			Hash:      row.hash(12),
			Former:    row.hash(13),
		})
		places = append(places, row.int(5))
		return nil
	}
	if err := r.query(q); err != nil || len(found) == 0 {
		return nil, err
	}
	type named struct {
		mark    loci.Mark
		key     string
		unnamed bool
	}
	known := map[int64]named{}
	each := slices.Compact(slices.Sorted(slices.Values(places)))
	look := stmt{sql: marksOf, args: []any{r.t.key, each}, row: func(row row) error {
		known[row.int(0)] = named{loci.Mark(row.string(1)), row.string(2) + row.string(3), row.null(2)}
		return nil
	}}
	if err := r.query(look); err != nil {
		return nil, err
	}
	for i := range found {
		place := known[places[i]]
		found[i].Mark, found[i].Unnamed = place.mark, place.unnamed
		if place.unnamed {
			found[i].Namespace = nameKey.Shown(place.mark, filter.Within)
		} else {
			found[i].Namespace = loci.NamespaceFromKey(place.key)
		}
	}
	return found, nil
}

// eventsOf adds what a filter says of an event e. Namespaces are told by their marks.
func (c *conditions) eventsOf(f *loci.EventFilter, before int64, nameKey loci.NameKey) {
	var either []string
	whole := slices.ContainsFunc(f.Within, func(n loci.Namespace) bool { return len(n) == 0 })
	for _, n := range f.Within {
		mark := nameKey.Mark(n)
		if whole {
			break
		}
		part := "mark >= " + c.arg(string(mark))
		if end := batch.After(string(mark)); end != "" { // else nothing sorts behind it
			part += " AND mark < " + c.arg(end)
		}
		either = append(either, "("+part+")")
	}
	switch {
	case whole:
	case len(either) == 0:
		c.add("FALSE")
	default:
		c.add("e.namespace IN (SELECT n FROM loci.namespace WHERE tenant = $1 AND (" + strings.Join(either, " OR ") + "))")
	}
	if before > 0 {
		c.add("e.seq < " + c.arg(before))
	}
	if entity, one := f.About(); one {
		c.add("e.entity = " + c.arg(entity))
	}
	if len(f.Types) > 0 {
		c.add("e.type = ANY(" + c.arg(list(f.Types)) + ")")
	}
	if !f.Since.IsZero() {
		c.add("e.occurred_at >= " + c.arg(f.Since.UnixMilli()))
	}
	if !f.Until.IsZero() {
		c.add("e.occurred_at < " + c.arg(batch.FirstMilli(f.Until)))
	}
}

// Chain implements [loci.EventLog].
func (s *Store) Chain(ctx context.Context, t loci.Tenant) (c loci.Chain, err error) {
	err = s.read(ctx, t, "read chain", func(r *reading) error {
		err := r.last()
		c = loci.Chain{Head: r.state.Head, Start: r.state.ChainStart}
		if r.state.Name != "" || r.state.Events > 0 { // else its key has marked nothing
			c.Names = r.state.NameKey
		}
		return err
	})
	return c, err
}

// Untold implements [loci.EventLog]. Every build that wrote to a database refused such
// changes.
func (s *Store) Untold(ctx context.Context, t loci.Tenant, _ []loci.ID) ([]loci.ID, error) {
	return nil, s.read(ctx, t, "look for erased records", func(r *reading) error { return r.last() })
}
