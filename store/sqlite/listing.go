package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// records calls yield for what a filter selects, in an order, until it returns false. The record
// is yield's until it returns.
func (f *file) records(
	ctx context.Context, filter *loci.Filter, after *page.Record, order loci.Order, yield func(*loci.Record) bool,
) error {
	return f.recordsWith(ctx, recordColumns, filter, after, order, yield)
}

// recordsWith is records with columns of the form of recordColumns.
func (f *file) recordsWith(
	ctx context.Context, columns string, filter *loci.Filter,
	after *page.Record, order loci.Order, yield func(*loci.Record) bool,
) error {
	placed := onePlace(filter)
	rows := &wholeRows{yield: yield, core: columns == coreColumns, pieces: pieces{most: 4 << 10}}
	if order == unordered {
		taken := takes(columns)
		if !placed && len(filter.IDs) > 0 {
			rest := *filter
			rest.IDs = nil
			query, args := byIDs(taken, filter.IDs)
			return f.wholes(ctx, &rest, rows, query, args)
		}
		query, args, exact := listing(taken, filter, nil, unordered)
		return f.wholes(ctx, undecided(filter, exact), rows.at(placed, filter), query, args)
	}
	var query string
	var args []any
	var exact bool
	if mergeable(filter, order) {
		streams, few, err := f.streams(ctx, filter)
		switch {
		case err != nil || few && len(streams) == 0:
			return err
		case few && filter.Waning:
			query, args, exact = waning(columns, filter, streams, after, order)
			placed = false
		case few:
			query, args, exact = merged(filter, streams, after, order)
			return f.wholes(ctx, undecided(filter, exact), rows, takenMerged(columns, query), args)
		case !filter.Waning:
			query, args, exact = sorted(filter, after, order)
			return f.wholes(ctx, undecided(filter, exact), rows, takenMerged(columns, query), args)
		}
	}
	if query == "" {
		query, args, exact = listing(columns, filter, after, order)
	}
	if placed {
		columns = strings.Replace(columns, placeColumns, "", 1)
	}
	return f.wholes(ctx, undecided(filter, exact), rows.at(placed, filter), takenInOrder(columns, query), args)
}

// takenInOrder is the query that takes the rows of another one with some columns. With a limit, the rows of a query
// within another one come one by one and stay in their order. SQLite does so without one, too, but does not say so.
func takenInOrder(columns, query string) string {
	return takenFrom[columns] + "(" + query + " LIMIT -1)"
}

// takes gives columns of a row to a taker.
func takes(columns string) string {
	return takeFunction + "(?, " + strings.Replace(columns, noText, "''", 1) + ")"
}

// takenMerged is the query that takes some columns of the rows that a query of [merged] names, in its order. They are
// read behind the merge: it would carry each column of each row through two programs of SQLite's.
func takenMerged(columns, query string) string {
	return "SELECT " + takes(columns) + " FROM (" + query + " LIMIT -1) v" +
		" CROSS JOIN record r ON r.n = v.n CROSS JOIN namespace s ON s.n = r.namespace"
}

// byIDs is the query for the records of some ids. Whoever names ids mostly knows that the rest of a filter selects
// them: to ask SQLite about each costs more than to look at it here. A list that it walks through takes a fraction
// of one for IN, which it would sort into a table first; but each id must be in it once.
func byIDs(columns string, ids []loci.ID) (query string, args []any) {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	args = make([]any, 0, 2*len(ids))
	for i := range ids {
		args = append(args, ids[i][:])
	}
	return walking(columns, "id", paddedList(&args)), args
}

// paddedList adds nothing to a list until there are as many as a power of two, so that there are few prepared
// statements, and returns how many there are.
func paddedList(args *[]any) int {
	for n := len(*args); n&(n-1) != 0; n++ {
		*args = append(*args, nil)
	}
	return len(*args)
}

// walking is the query for the records that have one of n values in a column, in the order of these.
func walking(columns, column string, n int) string {
	return "SELECT " + columns + " FROM (VALUES (?)" + strings.Repeat(", (?)", n-1) + ") v" +
		" CROSS JOIN record r ON r." + column + " = v.column1 CROSS JOIN namespace s ON s.n = r.namespace"
}

// takenFrom begins a query that takes the rows of another one with some columns.
var takenFrom = func() map[string]string {
	within := strings.NewReplacer("r.", "", "s.", "", noText, "text")
	begins := map[string]string{}
	for _, columns := range []string{recordColumns, headColumns} {
		for _, columns := range []string{columns, strings.Replace(columns, placeColumns, "", 1)} {
			begins[columns] = "SELECT " + takeFunction + "(?, " + within.Replace(columns) + ") FROM "
		}
	}
	return begins
}()

// undecided is what of a filter is left to decide in Go; nil: the query is exact and says all of it.
func undecided(filter *loci.Filter, exact bool) *loci.Filter {
	if exact {
		return nil
	}
	return filter
}

// wholes takes the rows of a query, of which a filter selects some in Go.
func (f *file) wholes(ctx context.Context, filter *loci.Filter, rows *wholeRows, query string, args []any) error {
	rows.filter = filter
	return f.taken(ctx, rows, func(number int64) (string, []any) { return query, append([]any{number}, args...) })
}

// listing is the query for the records a filter selects that come after a place, in
// an order, without placeColumns if all are of [onePlace]; exact is that of [where]. Its
// rows come one by one where an index is in that order, so that a page costs no more than
// its rows.
func listing(
	columns string, filter *loci.Filter, after *page.Record, order loci.Order,
) (query string, args []any, exact bool) {
	f := *filter
	if order.BySlot() {
		f.Slots = loci.SlotRange{} // bySlot says it
	}
	c, exact := where(&f)
	var by string
	if order.BySlot() {
		by = c.bySlot(filter, after, order == loci.SlotDescending)
	} else {
		by = c.byTime(after, order == loci.OldestFirst)
	}
	from := " FROM record r JOIN namespace s ON s.n = r.namespace WHERE "
	if onePlace(filter) { // then each row needs no look at its namespace
		columns, from = strings.Replace(columns, placeColumns, "", 1), " FROM record r WHERE "
	}
	if order != unordered {
		by = " ORDER BY " + by
	} else {
		by = ""
	}
	return "SELECT " + columns + from + c.String() + by, c.args, exact
}

// onePlace reports whether a filter selects one kind in one namespace.
func onePlace(f *loci.Filter) bool { return f.Exact && len(f.Within) == 1 && len(f.Kinds) == 1 }

// wanes says of a record r that is live that nothing is left for upkeep to write down but
// its end, if that; it is the condition of the index record_waning.
const wanes = "(r.due_at IS NULL OR r.due_at = r.ends_at) AND (r.ends_at IS NOT NULL OR r.confidence < 0.2)"

// waning is merged for a filter with Waning: a stream for what upkeep has written down of
// each kind in each namespace, and one, sorted, for what is due. That is little, unless
// nobody does the upkeep.
func waning(
	columns string, filter *loci.Filter, streams []stream, after *page.Record, order loci.Order,
) (query string, args []any, exact bool) {
	f := *filter
	f.Waning = false
	due, _ := where(&f)
	due.add("r.live AND r.due_at <= ?", filter.At.UnixMilli())
	by := due.byTime(after, order == loci.OldestFirst)
	by = strings.NewReplacer("r.created_at", "7", "r.id", "1").Replace(by)
	const from = " FROM record r INDEXED BY %s CROSS JOIN namespace s ON s.n = r.namespace WHERE "
	arms := []string{"SELECT " + columns + fmt.Sprintf(from, "record_due") + due.String()}
	args = due.args
	f.Kinds = nil
	for _, s := range streams {
		var c conditions
		c.add("r.namespace = ? AND r.kind = ?", s.namespace, s.kind)
		c.add("r.live AND "+wanes+" AND (r.due_at IS NULL OR r.due_at > ?)", filter.At.UnixMilli())
		exact = c.selecting(&f)
		c.byTime(after, order == loci.OldestFirst)
		arms = append(arms, "SELECT "+columns+fmt.Sprintf(from, "record_waning")+c.String())
		args = append(args, c.args...)
	}
	return strings.Join(arms, " UNION ALL ") + " ORDER BY " + by, args, exact
}

// traced leaves out rows that cannot meet the conditions on tags, attributes and the body, which is
// decided in Go: to bring a row there costs ten times what looking at it here does.
func (c *conditions) traced(f *loci.Filter) {
	t := f.Trace()
	for _, tag := range t.Tags {
		c.add(`(instr(r.tags, ?) OR instr(r.tags, '\'))`, tag)
	}
	told := map[string]bool{} // by ranges
	for _, r := range t.Ranges {
		told[`"`+r.Key+`"`] = true
	}
	for _, text := range t.Texts {
		if told[text] {
			continue
		}
		c.add("(instr(r.attributes, ?) OR instr(r.attributes, x'5c'))", []byte(text))
	}
	for _, number := range t.Numbers {
		c.add("(instr(r.attributes, ?) OR CAST(r.attributes AS TEXT) GLOB '*[0-9][eE]*')", []byte(number))
	}
	for _, r := range t.Ranges {
		c.ranged(r.Key, r.Least, r.Value)
	}
	if t.Member != "" {
		c.add("instr(r.body, ?)", []byte(`"`+t.Member+`"`))
	}
}

// ranged leaves out rows whose value of a key is outside of a range.
func (c *conditions) ranged(key string, least bool, bound any) {
	c.add(rangedFunction+"(r.attributes, ?, ?, ?)", []byte(`"`+key+`"`), least, bound)
}

// byTime goes on after a place and returns the order.
func (c *conditions) byTime(after *page.Record, oldestFirst bool) string {
	following, order := "r.created_at <= ? AND (r.created_at < ? OR r.id > ?)", "r.created_at DESC, r.id"
	if oldestFirst {
		following, order = "r.created_at >= ? AND (r.created_at > ? OR r.id < ?)", "r.created_at, r.id DESC"
	}
	if after != nil {
		c.add(following, after.CreatedAt.UnixMilli(), after.CreatedAt.UnixMilli(), after.ID[:])
	}
	return order
}

// bySlot restricts to the filter's range of slots, goes on after a place and returns
// the order. The index takes one bound at each end, so the nearer one alone is given.
func (c *conditions) bySlot(f *loci.Filter, after *page.Record, descending bool) string {
	order, tie := "r.slot, r.id", "(r.slot > ? OR r.id > ?)"
	if descending {
		order, tie = "r.slot DESC, r.id DESC", "(r.slot < ? OR r.id < ?)"
	}
	alone := onePlace(f) // then a slot is held once
	if alone {
		order = "r.slot"
		if descending {
			order = "r.slot DESC"
		}
	}
	lower, upper := f.Slots.From, f.Slots.To
	from, to := "r.slot >= ?", "r.slot < ?"
	switch {
	case after == nil:
	case !descending && after.Slot >= lower:
		lower = after.Slot
		if alone {
			from = "r.slot > ?"
		}
	case descending && (upper == "" || after.Slot < upper):
		upper = after.Slot
		if !alone {
			to = "r.slot <= ?"
		}
	}
	c.add("r.slot IS NOT NULL")
	if lower != "" {
		c.add(from, []byte(lower))
	}
	if upper != "" {
		c.add(to, []byte(upper))
	}
	if after != nil && !alone {
		c.add(tie, []byte(after.Slot), after.ID[:])
	}
	return order
}
