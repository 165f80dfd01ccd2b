package postgres

import (
	"context"
	"maps"
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
	log := page.Log{
		Read: func(ranges []page.Range, limit int) ([]loci.Event, error) {
			c := about(r.t)
			above, below := make([]int64, len(ranges)), make([]int64, len(ranges))
			for i := range ranges {
				above[i], below[i] = ranges[i].Above, ranges[i].Before
			}
			from := "e.seq > " + c.arg(above[0]) + " AND e.seq < " + c.arg(below[0])
			q := stmt{sql: "SELECT " + eventColumns + " FROM "}
			if len(ranges) > 1 {
				c.args = c.args[:1]
				q.sql += "unnest(" + c.arg(above) + "::bigint[], " + c.arg(below) + "::bigint[]) k (above, below) CROSS JOIN LATERAL "
				from = "e.seq > k.above AND e.seq < k.below"
			}
			c.add("e.tenant = $1 AND " + from)
			c.eventsOf(filter, nameKey)
			end := " ORDER BY e.seq DESC LIMIT " + c.arg(limit)
			if len(ranges) > 1 {
				q.sql += "(SELECT * FROM loci.event e WHERE " + c.String() + end + ") e" + end
			} else {
				q.sql += "loci.event e WHERE " + c.String() + end
			}
			q.args = c.args
			return r.eventPage(q, filter, nameKey)
		},
		Covered: func() (whole int64, err error) {
			err = r.query(stmt{sql: coveredBlocks, args: []any{r.t.key}, row: func(row row) error {
				whole = row.int(0) * page.BlockSize
				return nil
			}})
			return whole, err
		},
		Spans: func(types []loci.EventType, before int64, limit int) ([]page.Span, error) {
			return r.spans(filter, types, before, limit)
		},
	}
	return page.ListEvents(filter, before, most, &log)
}

// spans looks for blocks before one in which events of some types are, by [page.Log].
func (r *reading) spans(
	filter *loci.EventFilter, types []loci.EventType, before int64, limit int,
) (found []page.Span, err error) {
	c := about(r.t)
	each := map[string]bool{}
	for _, typ := range types {
		each[string(typ[:min(len(typ), typeBytes)])] = true
	}
	from := "unnest(" + c.arg(list(slices.Collect(maps.Keys(each)))) + "::bytea[]) k (type) CROSS JOIN LATERAL "
	c.add("s.tenant = $1 AND s.type = k.type AND s.block < " + c.arg(before))
	c.eventTimes("s.first_at", "s.last_at", filter)
	end := " ORDER BY s.block DESC LIMIT " + c.arg(limit)
	err = r.query(stmt{
		sql: "SELECT s.block, s.first_seq, s.last_seq FROM " + from +
			"(SELECT * FROM loci.event_span s WHERE " + c.String() + end + ") s" + end,
		args: c.args,
		row: func(row row) error {
			found = append(found, page.Span{Block: row.int(0), First: row.int(1), Last: row.int(2)})
			return nil
		},
	})
	return found, err
}

const (
	// typeBytes are how much of a type an index holds; types that begin alike share their spans.
	typeBytes = 200

	coveredBlocks = "SELECT coalesce(max(block), 0) FROM loci.event_span WHERE tenant = $1 AND type = ''"

	// spansOf are the spans of blocks behind those that are described, up to the block $2.
	spansOf = `SELECT e.tenant, k.type, (e.seq + 255) / 256 AS block, min(e.seq) AS first_seq, max(e.seq) AS last_seq,
		min(e.occurred_at) AS first_at, max(e.occurred_at) AS last_at FROM loci.event e
		CROSS JOIN LATERAL (VALUES (substring(e.type from 1 for 200)), (''::bytea)) k (type)
		WHERE e.tenant = $1 AND e.seq <= $2::bigint * 256`
	bySpan       = " GROUP BY e.tenant, k.type, (e.seq + 255) / 256"
	spanColumns  = "type, block, first_seq, last_seq, first_at, last_at"
	insertSpans  = "INSERT INTO loci.event_span (tenant, " + spanColumns + ") SELECT tenant, " + spanColumns + " FROM ("
	describe     = insertSpans + spansOf + " AND e.seq > (" + coveredBlocks + ") * 256 AND e.seq <= ((" + coveredBlocks + ") + $3::bigint) * 256" + bySpan + ") s"
	describeAll  = insertSpans + spansOf + bySpan + ") s"
	forgetSpans  = "DELETE FROM loci.event_span WHERE tenant = $1"
	keptSpansOf  = "SELECT " + spanColumns + " FROM loci.event_span WHERE tenant = $1"
	wholeSpansOf = "SELECT " + spanColumns + " FROM (" + spansOf + bySpan + ") s"
	wrongSpans   = "SELECT count(*) FROM ((" + wholeSpansOf + " EXCEPT " + keptSpansOf + ") UNION ALL (" + keptSpansOf + " EXCEPT " + wholeSpansOf + ")) s"
)

// describe stages what the spans are of blocks that are whole now.
func (x *tx) describe() {
	if most := page.ToDescribe(x.Found.Events, x.State.Events); most > 0 {
		x.written = append(x.written, stmt{sql: describe, args: []any{x.t.key, x.State.Events / page.BlockSize, most}})
	}
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
func (c *conditions) eventsOf(f *loci.EventFilter, nameKey loci.NameKey) {
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
		// Of each event, as a list of all namespaces is to be read whole.
		c.add("(SELECT " + strings.Join(either, " OR ") + " FROM loci.namespace WHERE tenant = $1 AND n = e.namespace)")
	}
	if entity, one := f.About(); one {
		c.add("e.entity = " + c.arg(entity))
	}
	if len(f.Types) > 0 {
		c.add("e.type = ANY(" + c.arg(list(f.Types)) + ")")
	}
	c.eventTimes("e.occurred_at", "e.occurred_at", f)
}

// eventTimes restricts events to times, by the first and the last of them.
func (c *conditions) eventTimes(first, last string, f *loci.EventFilter) {
	if !f.Since.IsZero() {
		c.add(last + " >= " + c.arg(f.Since.UnixMilli()))
	}
	if !f.Until.IsZero() {
		c.add(first + " < " + c.arg(batch.FirstMilli(f.Until)))
	}
}

// checkSpans says how much of what is kept of blocks differs from their events.
func (r *reading) checkSpans() (wrong int, err error) {
	var covered int64
	err = r.query(stmt{sql: coveredBlocks, args: []any{r.t.key}, row: func(row row) error {
		covered = row.int(0)
		return nil
	}})
	if err == nil {
		err = r.query(stmt{sql: wrongSpans, args: []any{r.t.key, covered}, row: func(row row) error {
			wrong = int(row.int(0))
			return nil
		}})
	}
	return wrong, err
}

// describeAgain makes again what is kept of the blocks of a tenant's events.
func (x *tx) describeAgain() error {
	x.Flush()
	x.written = append(x.written, stmt{sql: forgetSpans, args: []any{x.t.key}})
	return x.now(stmt{sql: describeAll, args: []any{x.t.key, x.Found.Events / page.BlockSize}})
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
