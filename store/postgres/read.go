package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// Records implements [loci.RecordLister].
func (s *Store) Records(
	ctx context.Context, t loci.Tenant, filter loci.Filter, p loci.Page,
) (out []loci.Record, next string, err error) {
	columns := recordColumns
	if (p.NoText || p.Brief) && filter.Where.IsZero() { // a condition may ask for the text of a fact
		columns = headColumns
	}
	err = s.read(ctx, t, "list records", func(r *reading) (err error) {
		out, next, err = page.List(&p, func(after *place, wanted, first int, yield func(*loci.Record) bool) error {
			return r.records(columns, &filter, after, p.Order, wanted, first, yield)
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// records is [page.Walk] in an order. It ends the transaction.
func (r *reading) records(
	columns string, filter *loci.Filter, after *place, order loci.Order, wanted, first int,
	yield func(*loci.Record) bool,
) error {
	in, err := r.streams(filter, after, order, first)
	if err != nil {
		return err
	}
	read := func(after *place, limit, wanted int) ([]loci.Record, bool, error) {
		q, exact := listing(r.t, columns, filter, after, order, limit)
		if in != nil && in.walk {
			q, exact = walked(r.t, columns, filter, after, order, limit)
		} else if in != nil {
			q, exact = merged(r.t, columns, filter, in, after, order, limit)
		}
		found, err := r.page(q, exact && limit >= wanted)
		return found, exact, err
	}
	return page.Walk(filter, after, wanted, first, read, yield)
}

// page runs a query for records and puts in the names of their namespaces. last: no other
// query follows.
func (r *reading) page(q stmt, last bool) (found []loci.Record, err error) {
	var places []int64
	numbers := map[int64]bool{}
	q.row = func(row row) error {
		record, namespace, err := row.record()
		found, places = append(found, record), append(places, namespace)
		numbers[namespace] = true
		return err
	}
	if err := r.run([]stmt{q}, last); err != nil {
		return nil, err
	}
	keys, err := r.keys(numbers)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Namespace = loci.NamespaceFromKey(keys[places[i]])
	}
	return found, nil
}

// Count implements [loci.RecordLister].
func (s *Store) Count(ctx context.Context, t loci.Tenant, filter loci.Filter) (n loci.Counts, err error) {
	var parts page.Parts
	parts.Of(&filter)
	kept := page.Kept(&filter)
	if kept {
		err = s.read(ctx, t, "count", func(r *reading) (err error) {
			n = loci.Counts{}
			parts.Forget()
			kept, err = r.keptCount(&filter, &n)
			return err
		})
	}
	if err == nil && !kept {
		n, err = s.countEach(ctx, t, &filter, &parts)
	}
	if filter.Space.IsZero() {
		n.Unembedded = 0
	}
	return n, parts.Tell(err)
}

// countEach counts one by one.
func (s *Store) countEach(
	ctx context.Context, t loci.Tenant, filter *loci.Filter, parts *page.Parts,
) (n loci.Counts, err error) {
	err = s.read(ctx, t, "count", func(r *reading) error {
		n = loci.Counts{}
		parts.Forget()
		c := about(r.t)
		if c.where(filter, &r.t.names) {
			q, by := c.counting(filter, filter.Each != nil)
			return r.last(stmt{sql: q + c.String() + by, args: c.args, row: func(row row) error {
				kind, status, of := takeCounts(row, filter.Each != nil)
				page.Add(filter, kind, status, of, &n)
				return nil
			}})
		}
		return r.countSelected(filter, &c, &n)
	})
	return n, err
}

// lacking is the condition of what has no vectors in a space.
func (c *conditions) lacking(space loci.Space) string {
	return "r.live AND r.passage_count > 0 AND NOT EXISTS (SELECT 1 FROM loci.vector v WHERE v.tenant = $1" +
		" AND v.record = r.id AND v.space = (SELECT n FROM loci.space WHERE tenant = $1" +
		" AND model = " + c.arg(space.Model) + " AND dims = " + c.arg(space.Dims) + "))"
}

// counting begins a query that counts records r, each kind and status apart or all together, and ends it.
func (c *conditions) counting(filter *loci.Filter, apart bool) (q, by string) {
	q = "SELECT "
	if apart {
		q, by = q+"r.kind, r.status, ", " GROUP BY r.kind, r.status"
	}
	return q + "count(*), coalesce(sum(r.live::int), 0)::bigint, coalesce(sum(r.passage_count), 0)::bigint, " +
		"coalesce(sum(octet_length(r.text)), 0)::bigint, " +
		"coalesce(sum((" + c.lacking(filter.Space) + ")::int), 0)::bigint FROM " + c.from() + " WHERE ", by
}

// takeCounts reads a row of it.
func takeCounts(row row, apart bool) (kind loci.Kind, status string, of loci.Counts) {
	if apart {
		kind, status, row = loci.Kind(row.string(0)), row.string(1), row[2:]
	}
	return kind, status, loci.Counts{
		Records:    row.int(0),
		Live:       row.int(1),
		Passages:   row.int(2),
		Bytes:      row.int(3),
		Unembedded: row.int(4),
	}
}

// Held implements [loci.RecordLister].
func (s *Store) Held(ctx context.Context, t loci.Tenant) (loci.Holding, error) {
	held := &loci.Holding{}
	err := s.read(ctx, t, "measure", func(r *reading) error {
		if err := r.query(); err != nil {
			return err
		}
		if kept := r.state.Held(r.state.Seq); kept != nil || !r.state.There {
			held = cmp.Or(kept, &loci.Holding{})
			return r.last()
		}
		return r.last(r.t.selectHolding(&held))
	})
	return *held, err
}

// countSelected counts where Go has the last word.
func (r *reading) countSelected(filter *loci.Filter, c *conditions, n *loci.Counts) error {
	unembedded := map[loci.ID]bool{}
	count := func(record *loci.Record) {
		if page.Count(filter, record, n); unembedded[record.ID] {
			n.Unembedded++
		}
	}
	if filter.Space.IsZero() { // nobody asks what has no vectors
		return r.each(filter, count)
	}
	q := stmt{
		sql:  "SELECT r.id FROM " + c.from() + " WHERE " + c.String() + " AND " + c.lacking(filter.Space),
		args: c.args,
		row: func(row row) error {
			unembedded[row.id(0)] = true
			return nil
		},
	}
	if err := r.query(q); err != nil {
		return err
	}
	return r.each(filter, count)
}

// each calls do for all that a filter selects.
func (r *reading) each(filter *loci.Filter, do func(*loci.Record)) error {
	return r.records(recordColumns, filter, nil, loci.NewestFirst, 1<<31-1, 1<<31-1, func(record *loci.Record) bool {
		do(record)
		return true
	})
}

// Namespaces implements [loci.RecordLister].
func (s *Store) Namespaces(ctx context.Context, t loci.Tenant, filter loci.Filter) (out []loci.Namespace, err error) {
	err = s.read(ctx, t, "list namespaces", func(r *reading) error {
		out = nil
		c := about(r.t)
		one := filter // of one kind, in a namespace that the query names
		one.Within, one.Exact, one.Kinds = []loci.Namespace{{}}, false, nil
		if len(filter.IDs) == 0 && c.where(&one, &r.t.names) { // those that are named are read
			q := "SELECT s.key_head, s.key_tail FROM loci.namespace s WHERE s.tenant = $1 AND s.key_head IS NOT NULL AND " +
				c.held(filter.Kinds, 0)
			c.parts = nil
			c.within("s.n", filter.Within, filter.Exact, &r.t.names)
			q += " AND " + c.String() + " ORDER BY s.key_head, s.key_tail"
			return r.last(stmt{sql: q, args: c.args, row: func(row row) error {
				out = append(out, loci.NamespaceFromKey(row.string(0)+row.string(1)))
				return nil
			}})
		}
		seen := map[string]bool{}
		if err := r.each(&filter, func(record *loci.Record) { seen[record.Namespace.Key()] = true }); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			out = append(out, loci.NamespaceFromKey(key))
		}
		return nil
	})
	return out, err
}

// Revisions implements [loci.RecordLister].
func (s *Store) Revisions(ctx context.Context, t loci.Tenant, id loci.ID) (out []loci.Revision, err error) {
	err = s.read(ctx, t, "list revisions", func(r *reading) error {
		out = nil
		return r.last(stmt{sql: selectRevisions, args: []any{r.t.key, id}, row: func(row row) error {
			v := loci.Revision{
				Version:    row.int(0),
				UpdatedAt:  row.time(1),
				ReplacedAt: row.time(2),
				Text:       row.string(3),
				Attributes: row.bytes(5),
			}
			var err error
			if len(row[4]) > 0 {
				err = json.Unmarshal(row[4], &v.Tags)
			}
			out = append(out, v)
			return err
		}})
	})
	return out, err
}

const selectRevisions = `SELECT version, updated_at, replaced_at, text, tags, attributes
	FROM loci.revision WHERE tenant = $1 AND record = $2 ORDER BY version DESC`

// Links implements [loci.RecordLister].
func (s *Store) Links(ctx context.Context, t loci.Tenant, ids ...loci.ID) (out []loci.Link, err error) {
	of := make([][]byte, len(ids))
	for i := range ids {
		of[i] = ids[i][:]
	}
	err = s.read(ctx, t, "list links", func(r *reading) error {
		out = nil
		return r.last(stmt{sql: selectLinks, args: []any{r.t.key, of}, row: func(row row) error {
			out = append(
				out,
				loci.Link{From: row.id(0), Type: loci.LinkType(row.string(1)), To: row.id(2), At: row.time(3)},
			)
			return nil
		}})
	})
	return out, err
}

// selectLinks has two halves, each with an index of its own; a link between two of the records is in both. A record has
// more than one link, so that [look] would not do; the offset keeps the database from joining in another order.
const selectLinks = `SELECT from_id, type, to_id, created_at FROM (
	SELECT l.* FROM unnest((SELECT $2::bytea[])) k (v) CROSS JOIN LATERAL (
		SELECT from_id, type, to_id, created_at, seq FROM loci.link WHERE tenant = $1 AND from_id = k.v OFFSET 0) l
	UNION
	SELECT l.* FROM unnest((SELECT $2::bytea[])) k (v) CROSS JOIN LATERAL (
		SELECT from_id, type, to_id, created_at, seq FROM loci.link WHERE tenant = $1 AND to_id = k.v OFFSET 0) l
	) l ORDER BY created_at, seq, from_id, type, to_id`

// Linked implements [loci.RecordLister].
func (s *Store) Linked(ctx context.Context, t loci.Tenant, l loci.Link) (there bool, err error) {
	err = s.read(ctx, t, "look for a link", func(r *reading) error {
		there = false
		return r.last(stmt{sql: selectLink, args: []any{r.t.key, l.From, []byte(l.Type), l.To}, row: func(row) error {
			there = true
			return nil
		}})
	})
	return there, err
}

const selectLink = "SELECT 1 FROM loci.link WHERE tenant = $1 AND from_id = $2 AND type = $3 AND to_id = $4"

// Replied implements [loci.RecordChanger].
func (s *Store) Replied(ctx context.Context, t loci.Tenant, key string) (reply *loci.Reply, err error) {
	err = s.read(ctx, t, "read reply", func(r *reading) error {
		reply = nil
		return r.last(stmt{sql: selectReply, args: []any{r.t.key, batch.HashOf(key)}, row: func(row row) error {
			if !bytes.Equal(row[5], []byte(key)) {
				return nil // another key with its hash
			}
			reply = &loci.Reply{
				Key:         key,
				Fingerprint: row.string(0),
				Value:       row.bytes(1),
				Record:      row.id(2),
				At:          row.time(3),
				ExpiresAt:   row.time(4),
			}
			return nil
		}})
	})
	return reply, err
}

const selectReply = "SELECT fingerprint, value, record, at, expires_at, key FROM loci.reply WHERE tenant = $1 AND key_hash = $2"
