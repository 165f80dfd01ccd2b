package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/page"
)

// conditions builds the WHERE of a query from fixed pieces; values are always
// parameters.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

func (c *conditions) String() string { return strings.Join(c.parts, " AND ") }

// within restricts a namespace column to places and, unless exact, below them.
func (c *conditions) within(column string, places []loci.Namespace, exact bool) {
	var either []string
	var args []any
	for _, n := range places {
		key := n.Key()
		switch {
		case exact && len(places) == 1: // one value, so that an index is in order behind it
			c.add(column+" = (SELECT n FROM namespace WHERE key = ?)", []byte(key))
			return
		case exact:
			either = append(either, "key = ?")
			args = append(args, []byte(key))
		case key == "":
			c.add("TRUE")
			return
		default: // no label holds a zero byte, so everything below key sorts before this
			either = append(either, "key >= ? AND key < ?")
			args = append(args, []byte(key), []byte(key[:len(key)-1]+"\x01"))
		}
	}
	if len(either) == 0 {
		c.add("FALSE")
		return
	}
	c.add(column+" IN (SELECT n FROM namespace WHERE "+strings.Join(either, " OR ")+")", args...)
}

// among restricts a column of T, in which NULL is the empty text.
func among[T string | []byte](c *conditions, column string, values []string) {
	if len(values) == 0 {
		return
	}
	var args []any
	for _, v := range values {
		args = append(args, T(v))
	}
	if slices.Contains(values, "") {
		c.add("("+column+" IS NULL OR "+inList(column, len(values))+")", args...)
		return
	}
	c.add(inList(column, len(values)), args...)
}

func inList(column string, n int) string {
	return column + " IN (?" + strings.Repeat(", ?", n-1) + ")"
}

// firstMilli is the first whole millisecond at a time or after: times are kept in these.
func firstMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// where translates a filter. exact reports that the SQL says all of it; else tags
// and attributes remain to be checked in Go.
func where(f *loci.Filter) (c conditions, exact bool) {
	namespace := "r.namespace"
	if len(f.IDs) > 0 || f.Expired || !f.Due.IsZero() {
		namespace = "+r.namespace" // ids and what is past find few records: no index on places instead
	}
	c.within(namespace, f.Within, f.Exact)
	exact = c.selecting(f)
	return c, exact
}

// selecting adds what a filter says beside its places.
func (c *conditions) selecting(f *loci.Filter) (exact bool) {
	among[string](c, "r.kind", namesOf(f.Kinds))
	if len(f.IDs) > 0 {
		ids := make([]any, 0, 2*len(f.IDs)) // there is room to pad them
		for i := range f.IDs {
			ids = append(ids, f.IDs[i][:])
		}
		ids = padded(ids)
		c.add(inList("r.id", len(ids)), ids...)
	}
	if f.Slot != nil {
		if *f.Slot == "" {
			c.add("r.slot IS NULL")
		} else {
			c.add("r.slot = ?", []byte(*f.Slot))
		}
	}
	if f.Slots.From != "" {
		c.add("r.slot >= ?", []byte(f.Slots.From))
	}
	if f.Slots.To != "" {
		c.add("r.slot < ?", []byte(f.Slots.To))
	}
	among[string](c, "r.scope", f.Scopes)
	among[string](c, "r.status", f.Statuses)
	among[[]byte](c, "r.sequence", f.Sequences)
	if !f.Since.IsZero() {
		c.add("r.created_at >= ?", firstMilli(f.Since))
	}
	if !f.Until.IsZero() {
		c.add("r.created_at < ?", firstMilli(f.Until))
	}
	if !f.NotLive {
		c.add("r.live")
		if !f.At.IsZero() {
			c.add("(r.ends_at IS NULL OR r.ends_at > ?)", f.At.UnixMilli())
		}
	}
	if f.Gone {
		c.add("NOT r.live")
	}
	if f.Waning {
		c.add("r.live AND (r.due_at <= ? OR "+wanes+")", f.At.UnixMilli())
	}
	if f.Ended {
		c.add("r.live AND r.ends_at <= ?", f.At.UnixMilli())
	}
	if f.MinConfidence > 0 {
		// What has no curve counts as 1.0.
		c.add("CASE WHEN r.confidence IS NULL THEN 1.0 ELSE "+confidenceFunction+"(r.confidence, r.decay_rate, ? - r.decay_from) END >= ?", f.At.UnixMilli(), f.MinConfidence)
	}
	if !f.Due.IsZero() {
		c.add("r.due_at <= ?", f.Due.UnixMilli())
	}
	if !f.At.IsZero() {
		if f.Expired {
			c.add("r.expires_at <= ?", f.At.UnixMilli())
		} else {
			c.add("(r.expires_at IS NULL OR r.expires_at > ?)", f.At.UnixMilli())
		}
	}
	c.traced(f)
	return len(f.Tags) == 0 && f.Where.IsZero()
}

// maxParameters bounds the ids of one query; SQLite takes 32,766 parameters.
const maxParameters = 10_000

// shownColumns are the columns that a page shows or its filter asks for.
func shownColumns(p *loci.Page, filter *loci.Filter, order loci.Order) string {
	switch {
	case p.Brief && p.Order.BySlot() && onePlace(filter) && len(filter.Tags) == 0 && filter.Where.IsZero():
		if p.Bodies {
			return bodyColumns
		}
		return briefColumns
	case p.Core && order == unordered && hasCore(filter):
		return coreColumns
	case (p.NoText || p.Brief) && filter.Where.IsZero(): // a condition may ask for the text of a fact
		return headColumns
	}
	return recordColumns
}

// hasCore reports whether a filter asks for nothing that [loci.Record.Core] leaves out.
func hasCore(f *loci.Filter) bool {
	return f.Slot == nil && f.Slots == (loci.SlotRange{}) && len(f.Tags)+len(f.Scopes)+len(f.Sequences) == 0 &&
		f.Due.IsZero() && !f.Waning && f.Where.IsZero()
}

// Records implements [loci.RecordLister].
func (s *Store) Records(
	ctx context.Context, t loci.Tenant, filter loci.Filter, p loci.Page,
) (out []loci.Record, next string, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, "", err
	}
	defer s.release(f)
	limit, after, err := page.Records(p)
	if err != nil {
		return nil, "", err
	}
	if len(filter.IDs) > maxParameters {
		return nil, "", loci.Errorf(loci.TooLarge, "%d ids at once; the limit is %d", len(filter.IDs), maxParameters)
	}
	order := p.Order
	if n := len(filter.IDs); n > 0 && n <= limit && after == nil && !order.BySlot() && p.MaxBytes == 0 {
		order = unordered // all of them fit: SQLite would carry whole rows through its sorter
	}
	columns := shownColumns(&p, &filter, order)
	brief := columns == briefColumns || columns == bodyColumns
	shown := brief || columns == coreColumns || !p.Brief && !p.Core && !p.NoText // records have no more
	taken, last := page.Room{Limit: limit, Bytes: p.MaxBytes}, loci.Record{}     // last: the place of the last of a full page
	yield := func(r *loci.Record) bool {
		of := r
		if p.MaxBytes > 0 && !shown {
			some := p.Shown(r)
			of = &some
		}
		if !taken.Takes(of) {
			next = page.RecordCursor(&last, p.Order)
			return false
		}
		if p.MaxBytes > 0 || taken.Full() {
			last = loci.Record{ID: r.ID, Slot: strings.Clone(r.Slot), CreatedAt: r.CreatedAt}
		}
		switch {
		case brief && p.Each != nil:
			p.Each(r)
			return true
		case out == nil && order == unordered:
			out = make([]loci.Record, 0, len(filter.IDs)) // most of them are there
		case out == nil && !brief:
			out = make([]loci.Record, 0, min(limit, usualPage))
		case len(out) == fullFrom: // the page is likely full: append would copy them several times
			out = slices.Grow(out, limit-len(out))
		}
		if shown {
			out = append(out, *r)
		} else {
			out = append(out, p.Shown(r))
		}
		return true
	}
	switch {
	case order == unordered && (columns == coreColumns || columns == recordColumns):
		err = f.known(ctx, columns, &filter, yield)
	case brief:
		err = f.briefs(ctx, columns, &filter, after, order, limit+1, p.Each != nil, yield)
	default:
		err = f.recordsWith(ctx, columns, &filter, after, order, yield)
	}
	if err != nil {
		return nil, "", f.translate("list records", err)
	}
	if order == unordered && !p.Core {
		sortByTime(out, p.Order)
	}
	return out, next, nil
}

// usualPage is for how many a list has room at first.
const usualPage = 20

// fullFrom is from how many on a list has room for the whole page.
const fullFrom = 64

// unordered is the order of rows as they are found.
const unordered loci.Order = -1

// sortByTime sorts numbers in place of records, which are large.
func sortByTime(records []loci.Record, order loci.Order) {
	places := make([]int, len(records))
	for i := range places {
		places[i] = i
	}
	slices.SortFunc(places, func(i, j int) int { return byTime(&records[i], &records[j], order) })
	index.Arrange(records, places)
}

// byTime compares records in an order by time.
func byTime(a, b *loci.Record, order loci.Order) int {
	newer := cmp.Or(b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	if order == loci.OldestFirst {
		return -newer
	}
	return newer
}

// unembedded says that a record r has no vectors in a space, and should.
const unembedded = "r.live AND r.passage_count > 0 AND NOT EXISTS (SELECT 1 FROM vector v JOIN space p ON p.n = v.space WHERE v.record = r.n AND p.model = ? AND p.dims = ?)"

// Count implements [loci.RecordLister].
func (s *Store) Count(ctx context.Context, t loci.Tenant, filter loci.Filter) (n loci.Counts, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return n, err
	}
	defer s.release(f)
	space := []any{filter.Space.Model, filter.Space.Dims}
	c, exact := where(&filter)
	switch {
	case page.Kept(&filter):
		query, args := keptCount(&filter)
		err = f.counting(ctx, &filter, query, args, &n)
	case exact:
		of, by := countOf(&filter, "r")
		query := "SELECT " + of + "count(*), coalesce(sum(r.live), 0), coalesce(sum(r.passage_count), 0), coalesce(sum(octet_length(r.text)), 0), coalesce(sum(" + unembedded + "), 0) FROM record r WHERE " + c.String() + by
		err = f.counting(ctx, &filter, query, append(space, c.args...), &n)
	case filter.Space.IsZero():
		err = f.recordsWith(ctx, recordColumns, &filter, nil, unordered, func(r *loci.Record) bool {
			page.Count(&filter, r, &n)
			return true
		})
	default:
		query := "SELECT " + recordColumns + ", " + unembedded + " FROM record r JOIN namespace s ON s.n = r.namespace WHERE " + c.String()
		var lacking bool
		scan := newRecordScan(&lacking)
		err = f.readRows(ctx, query, append(space, c.args...), func(rows *sql.Rows) (bool, error) {
			r, err := scan.record(rows)
			if err == nil && filter.Selects(&r) {
				if page.Count(&filter, &r, &n); lacking {
					n.Unembedded++
				}
			}
			return true, err
		})
	}
	if filter.Space.IsZero() {
		n.Unembedded = 0
	}
	return n, f.translate("count", err)
}

// countOf begins the columns of a count of table t, and ends the query, by what a filter wants to know.
func countOf(filter *loci.Filter, t string) (columns, end string) {
	if filter.Each == nil {
		return "", ""
	}
	return t + ".kind, coalesce(" + t + ".status, ''), ", " GROUP BY " + t + ".kind, " + t + ".status"
}

// counting adds up the rows of a count.
func (f *file) counting(
	ctx context.Context, filter *loci.Filter, query string, args []any, n *loci.Counts,
) error {
	var part loci.Counts
	var kind, status string
	dest := []any{&kind, &status, &part.Records, &part.Live, &part.Passages, &part.Bytes, &part.Unembedded}
	if filter.Each == nil {
		dest = dest[2:]
	}
	return f.readRows(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		if err := rows.Scan(dest...); err != nil {
			return false, err
		}
		page.Add(filter, loci.Kind(kind), status, part, n)
		return true, nil
	})
}

// Namespaces implements [loci.RecordLister].
func (s *Store) Namespaces(ctx context.Context, t loci.Tenant, filter loci.Filter) (out []loci.Namespace, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	c, exact := where(&filter)
	if exact {
		query := "SELECT s.key FROM namespace s WHERE EXISTS (SELECT 1 FROM record r WHERE r.namespace = s.n AND " + c.String() + ") ORDER BY s.key"
		err = f.readRows(ctx, query, c.args, func(rows *sql.Rows) (bool, error) {
			var key []byte
			err := rows.Scan(&key)
			out = append(out, loci.NamespaceFromKey(string(key)))
			return true, err
		})
		return out, f.translate("list namespaces", err)
	}
	seen := map[string]bool{}
	query := "SELECT " + recordColumns + " FROM record r JOIN namespace s ON s.n = r.namespace WHERE " + c.String() + " ORDER BY s.key"
	scan := newRecordScan()
	err = f.readRows(ctx, query, c.args, func(rows *sql.Rows) (bool, error) {
		r, err := scan.record(rows)
		if key := r.Namespace.Key(); err == nil && !seen[key] && filter.Selects(&r) {
			seen[key] = true
			out = append(out, r.Namespace)
		}
		return true, err
	})
	return out, f.translate("list namespaces", err)
}

// Revisions implements [loci.RecordLister].
func (s *Store) Revisions(ctx context.Context, t loci.Tenant, id loci.ID) (out []loci.Revision, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	const query = `SELECT v.version, v.updated_at, v.replaced_at, v.text, v.tags, v.attributes
		FROM revision v JOIN record r ON r.n = v.record WHERE r.id = ? ORDER BY v.version DESC`
	err = f.readRows(ctx, query, []any{id[:]}, func(rows *sql.Rows) (bool, error) {
		var v loci.Revision
		var updated, replaced int64
		var text, tags, attributes sql.RawBytes
		if err := rows.Scan(&v.Version, &updated, &replaced, &text, &tags, &attributes); err != nil {
			return false, err
		}
		v.UpdatedAt, v.ReplacedAt = milli(updated), milli(replaced)
		v.Text, v.Attributes = string(text), copyJSON(attributes)
		if len(tags) > 0 {
			if err := json.Unmarshal(tags, &v.Tags); err != nil {
				return false, err
			}
		}
		out = append(out, v)
		return true, nil
	})
	return out, f.translate("list revisions", err)
}

// Links implements [loci.RecordLister].
func (s *Store) Links(ctx context.Context, t loci.Tenant, ids ...loci.ID) (out []loci.Link, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	if len(ids) > page.MaxLimit {
		return nil, loci.Errorf(loci.TooLarge, "%d ids at once; the limit is %d", len(ids), page.MaxLimit)
	}
	query := "SELECT from_id, type, to_id, created_at FROM link WHERE from_id = ?1 OR to_id = ?1 ORDER BY created_at, n"
	args := make([]any, 0, 2*len(ids))
	for i := range ids {
		args = append(args, ids[i][:])
	}
	if len(ids) != 1 {
		for len(args) == 0 || len(args)&(len(args)-1) != 0 { // few prepared statements
			args = append(args, nil)
		}
		query = "WITH v (id) AS (VALUES (?)" + strings.Repeat(", (?)", len(args)-1) + ") " +
			"SELECT l.from_id, l.type, l.to_id, l.created_at, l.n FROM v CROSS JOIN link l ON l.from_id = v.id " +
			"UNION SELECT l.from_id, l.type, l.to_id, l.created_at, l.n FROM v CROSS JOIN link l ON l.to_id = v.id " +
			"ORDER BY 4, 5"
	}
	var number int64
	err = f.readRows(ctx, query, args, func(rows *sql.Rows) (bool, error) {
		var l loci.Link
		var from, to sql.RawBytes
		var typ string
		var at int64
		into := []any{&from, &typ, &to, &at, &number}
		if len(ids) == 1 {
			into = into[:4]
		}
		if err := rows.Scan(into...); err != nil {
			return false, err
		}
		copy(l.From[:], from)
		copy(l.To[:], to)
		l.Type, l.At = loci.LinkType(typ), milli(at)
		out = append(out, l)
		return true, nil
	})
	return out, f.translate("list links", err)
}

// Linked implements [loci.RecordLister].
func (s *Store) Linked(ctx context.Context, t loci.Tenant, l loci.Link) (there bool, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return false, err
	}
	defer s.release(f)
	const query = "SELECT EXISTS (SELECT 1 FROM link WHERE from_id = ? AND type = ? AND to_id = ?)"
	err = f.readRow(ctx, query, []any{l.From[:], string(l.Type), l.To[:]}, &there)
	return there, f.translate("look for a link", err)
}

// Replied implements [loci.RecordChanger].
func (s *Store) Replied(ctx context.Context, t loci.Tenant, key string) (*loci.Reply, error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	var fingerprint, value, record []byte
	var at, expires int64
	err = f.readRow(ctx, "SELECT fingerprint, value, record, at, expires_at FROM reply WHERE key = ?", []any{[]byte(key)}, &fingerprint, &value, &record, &at, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, f.translate("read reply", err)
	}
	reply := &loci.Reply{
		Key: key, Fingerprint: string(fingerprint), Value: value, At: milli(at), ExpiresAt: milli(expires),
	}
	copy(reply.Record[:], record)
	return reply, nil
}
