package postgres

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// headBytes are how much of a long key an index holds: a row of a B-tree ends at 2,704
// bytes. What lies behind is compared after it.
const headBytes = 1024

// split cuts a key into what an index holds and the rest.
func split(key string) (head, tail string) {
	if len(key) <= headBytes {
		return key, ""
	}
	return key[:headBytes], key[headBytes:]
}

// conditions builds the WHERE of a query from fixed pieces; values are always parameters.
type conditions struct {
	parts []string
	args  []any

	ids  string // the parameter with the ids of the records, where they are named
	each bool   // the namespace of each record is looked at, rather than records by their namespaces
}

// about begins the conditions of a query about a tenant, which is $1.
func about(t *tenant) conditions { return conditions{args: []any{t.key}} }

// arg adds a parameter and returns its name.
func (c *conditions) arg(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

func (c *conditions) add(part string) { c.parts = append(c.parts, part) }

func (c *conditions) String() string { return strings.Join(c.parts, " AND ") }

// within restricts a column of namespaces to places and, unless exact, below them. A place
// whose number the process knows is asked for by that, so that the query is about one table.
func (c *conditions) within(column string, places []loci.Namespace, exact bool, names *batch.Names) {
	if !exact && slices.ContainsFunc(places, func(n loci.Namespace) bool { return len(n) == 0 }) {
		c.add("TRUE")
		return
	}
	var numbers []int64
	var either []string
	for _, n := range places {
		key := n.Key()
		head, tail := split(key)
		switch {
		case exact:
			if number, ok := names.Number(key); ok {
				numbers = append(numbers, number)
				continue
			}
			either = append(either, "key_head = "+c.arg(head)+" AND key_tail = "+c.arg(tail))
		default:
			either = append(either, "("+c.below(key)+")")
		}
	}
	switch {
	case len(numbers) == 1 && len(either) == 0: // one value, so that an index is in order behind it
		c.add(column + " = " + c.arg(numbers[0]))
	case len(numbers) == 0 && len(either) == 1 && exact:
		c.add(column + " = (SELECT n FROM loci.namespace WHERE tenant = $1 AND " + either[0] + ")")
	case len(numbers)+len(either) == 0:
		c.add("FALSE")
	default:
		var all []string
		if len(numbers) > 0 {
			all = append(all, column+" = ANY("+c.arg(numbers)+")")
		}
		switch {
		case len(either) > 0 && c.each:
			all = append(all, "(SELECT key_head IS NOT NULL AND ("+strings.Join(either, " OR ")+
				") FROM loci.namespace WHERE tenant = $1 AND n = "+column+")")
		case len(either) > 0:
			all = append(
				all,
				column+" IN (SELECT n FROM loci.namespace WHERE tenant = $1 AND key_head IS NOT NULL AND ("+strings.Join(
					either,
					" OR ",
				)+"))",
			)
		}
		c.add("(" + strings.Join(all, " OR ") + ")")
	}
}

// below is the condition of a namespace at a key or below it: no label holds a zero byte,
// so all of them sort before the key with its last one raised.
func (c *conditions) below(key string) string {
	head, tail := split(key)
	end := key[:len(key)-1] + "\x01"
	endHead, endTail := split(end)
	from, to := c.arg(head), c.arg(endHead)
	part := "key_head >= " + from + " AND key_head <= " + to
	part += " AND (key_head > " + from + " OR key_tail >= " + c.arg(tail) + ")"
	return part + " AND (key_head < " + to + " OR key_tail < " + c.arg(endTail) + ")"
}

// among restricts a column in which NULL is the empty text.
func (c *conditions) among(column string, values []string) {
	if len(values) == 0 {
		return
	}
	part := column + " = ANY(" + c.arg(list(values)) + ")"
	if slices.Contains(values, "") {
		part = "(" + column + " IS NULL OR " + part + ")"
	}
	c.add(part)
}

// list is texts as an argument.
func list[T ~string](values []T) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = []byte(v)
	}
	return out
}

// idList is ids as an argument.
func idList(ids []loci.ID) [][]byte {
	out := make([][]byte, len(ids))
	for i := range ids {
		out[i] = ids[i][:]
	}
	return out
}

// from are the records r that conditions are about. Those that are named are each looked up by its id, as a [look] does:
// else the database may read all records of the namespaces and kinds in question, to find the named ones among them.
func (c *conditions) from() string {
	if c.ids == "" {
		return "loci.record r"
	}
	return "unnest((SELECT " + c.ids + "::bytea[])) k (v) CROSS JOIN LATERAL " +
		"(SELECT * FROM loci.record WHERE tenant = $1 AND id >= k.v ORDER BY id LIMIT 1) r"
}

// where adds what a filter says of a record r. exact reports that this is all of it; else
// [loci.Filter.Selects] has the last word.
func (c *conditions) where(f *loci.Filter, names *batch.Names) (exact bool) {
	c.add("r.tenant = $1")
	if len(f.IDs) > 0 {
		c.each = true
		c.ids = c.arg(slices.CompactFunc(slices.SortedFunc(slices.Values(idList(f.IDs)), bytes.Compare), bytes.Equal))
		c.add("r.id = k.v")
	}
	c.within("r.namespace", f.Within, f.Exact, names)
	if len(f.Kinds) == 1 {
		c.add("r.kind = " + c.arg(string(f.Kinds[0])))
	} else if len(f.Kinds) > 1 {
		c.add("r.kind = ANY(" + c.arg(list(f.Kinds)) + ")")
	}
	if f.Slot != nil && *f.Slot == "" {
		c.add("r.slot_head IS NULL")
	} else if f.Slot != nil {
		head, tail := split(*f.Slot)
		c.add("r.slot_head = " + c.arg(head) + " AND r.slot_tail = " + c.arg(tail))
	}
	c.slots(f.Slots, true)
	c.among("r.scope", f.Scopes)
	c.among("r.status", f.Statuses)
	c.among("r.sequence", f.Sequences)
	if !f.Since.IsZero() {
		c.add("r.created_at >= " + c.arg(batch.FirstMilli(f.Since)))
	}
	if !f.Until.IsZero() {
		c.add("r.created_at < " + c.arg(batch.FirstMilli(f.Until)))
	}
	c.moment(f)
	t := f.Trace() // leaves out what need not be sent; the rest is decided here
	for _, tag := range t.Tags {
		c.add("(position(" + c.arg([]byte(tag)) + "::bytea in r.tags) > 0 OR position('\\x5c'::bytea in r.tags) > 0)")
	}
	for _, text := range t.Texts {
		c.add("(position(" + c.arg([]byte(text)) + "::bytea in r.attributes) > 0 OR position('\\x5c'::bytea in r.attributes) > 0)")
	}
	if t.Member != "" {
		c.add("position(" + c.arg([]byte(`"`+t.Member+`"`)) + "::bytea in r.body) > 0")
	}
	return len(f.Tags) == 0 && f.Where.IsZero() && f.MinConfidence == 0
}

// slots restricts to a range of slots; inclusive says whether its beginning is in it.
func (c *conditions) slots(s loci.SlotRange, inclusive bool) {
	if s.IsZero() {
		return
	}
	c.add("r.slot_head IS NOT NULL")
	if s.From != "" {
		head, tail := split(s.From)
		from, more := c.arg(head), " > "
		if inclusive {
			more = " >= "
		}
		c.add("r.slot_head >= " + from + " AND (r.slot_head > " + from + " OR r.slot_tail" + more + c.arg(tail) + ")")
	}
	if s.To != "" {
		head, tail := split(s.To)
		to := c.arg(head)
		c.add("r.slot_head <= " + to + " AND (r.slot_head < " + to + " OR r.slot_tail < " + c.arg(tail) + ")")
	}
}

// moment adds what depends on the time. How sure a memory is remains for Go, whose numbers
// all stores share.
func (c *conditions) moment(f *loci.Filter) {
	if !f.NotLive {
		c.add("r.live")
		if !f.At.IsZero() {
			c.add("(r.ends_at IS NULL OR r.ends_at > " + c.arg(f.At.UnixMilli()) + ")")
		}
	}
	if f.Gone {
		c.add("NOT r.live")
	}
	if f.Waning {
		c.add("r.live AND (r.due_at <= " + c.arg(f.At.UnixMilli()) +
			" OR (r.due_at IS NULL OR r.due_at = r.ends_at) AND (r.ends_at IS NOT NULL OR r.confidence < 0.2))")
	}
	if f.Ended {
		c.add("r.live AND r.ends_at <= " + c.arg(f.At.UnixMilli()))
	}
	if !f.Due.IsZero() {
		c.add("r.due_at <= " + c.arg(f.Due.UnixMilli()))
	}
	switch {
	case f.At.IsZero():
	case f.Expired:
		c.add("r.expires_at <= " + c.arg(f.At.UnixMilli()))
	default:
		c.add("(r.expires_at IS NULL OR r.expires_at > " + c.arg(f.At.UnixMilli()) + ")")
	}
}

// A place is where a list goes on: behind a record that was read, given out or not.
type place = page.Record

// listing is the query for up to limit records that a filter selects and that come after a
// place, in an order. Its rows come in the order of an index, so that a page costs no more
// than its rows.
func listing(
	t *tenant,
	columns string,
	filter *loci.Filter,
	after *place,
	order loci.Order,
	limit int,
) (q stmt, exact bool) {
	f := *filter
	c := about(t)
	var by string
	if order.BySlot() {
		by = c.bySlot(after, order == loci.SlotDescending)
	} else {
		by = c.byTime(after, order == loci.OldestFirst)
	}
	exact = c.where(&f, &t.names)
	q.sql = "SELECT " + columns + " FROM " + c.from() + " WHERE " + c.String()
	end := " ORDER BY " + by + " LIMIT " + c.arg(limit)
	if order.BySlot() { // an index has their heads in order, and so they are not all read to be sorted
		head, _, _ := strings.Cut(by, ",")
		q.sql = "SELECT * FROM (" + q.sql + " ORDER BY " + head + " FETCH FIRST $" + strconv.Itoa(len(c.args)) +
			" ROWS WITH TIES) r"
	}
	q.sql += end
	q.args = c.args
	return q, exact
}

// byTime goes on after a place and returns the order.
func (c *conditions) byTime(after *place, oldestFirst bool) string {
	order, near, far, id := "r.created_at DESC, r.id", " <= ", " < ", " > "
	if oldestFirst {
		order, near, far, id = "r.created_at, r.id DESC", " >= ", " > ", " < "
	}
	if after != nil {
		at := c.arg(after.CreatedAt.UnixMilli())
		c.add("r.created_at" + near + at + " AND (r.created_at" + far + at + " OR r.id" + id + c.arg(after.ID) + ")")
	}
	return order
}

// bySlot goes on after a place and returns the order. A slot is held once in a namespace and
// kind; beyond one of those the id decides.
func (c *conditions) bySlot(after *place, descending bool) string {
	order, near, far := "r.slot_head, r.slot_tail, r.id", " >= ", " > "
	if descending {
		order, near, far = "r.slot_head DESC, r.slot_tail DESC, r.id DESC", " <= ", " < "
	}
	c.add("r.slot_head IS NOT NULL")
	if after != nil {
		head, tail := split(after.Slot)
		h, t := c.arg(head), c.arg(tail)
		c.add("r.slot_head" + near + h + " AND (r.slot_head" + far + h + " OR r.slot_tail" + far + t +
			" OR r.slot_tail = " + t + " AND r.id" + far + c.arg(after.ID) + ")")
	}
	return order
}
