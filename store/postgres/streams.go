package postgres

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

const (
	// maxStreams bounds the namespaces of a list that is merged. Beyond, all of it is sorted.
	maxStreams = 64

	// streamFrom is how many records of a namespace a list leaves in the order of their index
	// rather than sorts: to plan and begin a stream costs about as much as sorting these.
	streamFrom = 256

	// maxPreparedStreams bounds the streams of a statement that is prepared, as the database keeps its plan.
	maxPreparedStreams = 8
)

// Streams are the namespaces that a list by time reaches: an index has the records of each one in
// the list's order, and another those of each kind in it, so that a page need not read and sort those of all.
type streams struct {
	large []int64 // each is read by itself, in its order, as far as the page goes
	small []int64 // with few records each, which are sorted together
	walk  bool    // they are too many: all records of the tenant are walked in the list's order, those of a kind by themselves
}

// mergeable reports whether a page by time is read in streams: it spans namespaces or kinds, and nothing in
// the filter finds its few records sooner.
func mergeable(f *loci.Filter, order loci.Order, limit int) bool {
	sought := len(f.IDs) > 0 || f.Slot != nil || !f.Slots.IsZero() || f.Expired || !f.Due.IsZero() ||
		f.Waning || f.Ended
	return !order.BySlot() && limit <= page.MostRows && !sought && (!f.Exact || len(f.Within) > 1 || len(f.Kinds) > 1)
}

// streams looks for the namespaces of a list; nil: it is sorted. Where the tenant is known to
// have few records nothing is asked, as sorting them takes no longer than the question. Of too many namespaces it says whether
// to walk the tenant instead.
func (r *reading) streams(
	filter *loci.Filter, after *place, order loci.Order, limit int,
) (out *streams, err error) {
	from := cmp.Or(r.s.opts.streamFrom, streamFrom)
	if !mergeable(filter, order, limit) {
		return nil, nil
	}
	if made := r.t.names.Past().Events; made > 0 && made < int64(4*from) {
		return nil, nil
	}
	found, many := &streams{}, false
	q := selectStreams(r.t, filter, from, after, order)
	q.row = func(row row) error {
		number := row.int(0)
		switch {
		case row.int(1) > maxStreams:
			many, found.walk = true, row.bool(2)
		case row.bool(2):
			found.large = append(found.large, number)
		default:
			found.small = append(found.small, number)
		}
		return nil
	}
	if err := r.query(q); err != nil || many && !found.walk {
		return nil, err
	}
	return found, nil
}

const (
	// Of so many records of the tenant that come next in a list, one in sparse has to be in the namespaces of the list,
	// for all of the tenant to be walked. Else what the list reaches is sorted.
	walkSample = 64
	sparse     = 8
)

// kindsOf are the kinds that a filter names, each once.
func kindsOf(f *loci.Filter) []loci.Kind {
	return slices.Compact(slices.Sorted(slices.Values(f.Kinds)))
}

// walkable is a question: whether to walk all records of the tenant beats to sort what the filter reaches. It looks at
// those that come next.
func walkable(c *conditions, filter *loci.Filter, after *place, order loci.Order, t *tenant) string {
	kinds := kindsOf(filter)
	if len(kinds) == 0 || len(kinds) > maxPreparedStreams || filter.Exact || filter.Gone { // which has an index of its own
		return "FALSE"
	}
	d := conditions{args: c.args}
	by := d.byTime(after, order == loci.OldestFirst)
	d.add("r.tenant = $1")
	end := " ORDER BY " + by + " LIMIT " + strconv.Itoa(walkSample)
	var arms []string
	for _, kind := range kinds {
		arms = append(arms, "(SELECT r.namespace, r.created_at, r.id FROM loci.record r WHERE "+d.String()+
			" AND r.kind = "+d.arg(string(kind))+end+")")
	}
	in := conditions{args: d.args, each: true}
	in.within("r.namespace", filter.Within, false, &t.names)
	c.args = in.args
	return "(SELECT count(*) FILTER (WHERE " + in.String() + ") * " + strconv.Itoa(sparse) + " >= count(*) FROM (SELECT * FROM (" +
		strings.Join(arms, " UNION ALL ") + ") r" + end + ") r)"
}

// walked is [listing] for a list by time over more namespaces than are merged: the database walks the records of each kind
// from the newest, or the oldest, and looks for each at its namespace.
func walked(
	t *tenant, columns string, filter *loci.Filter, after *place, order loci.Order, limit int,
) (q stmt, exact bool) {
	c := about(t)
	c.each = true
	by := c.byTime(after, order == loci.OldestFirst)
	f := *filter
	f.Kinds = nil
	exact = c.where(&f, &t.names)
	end := " ORDER BY " + by + " LIMIT " + c.arg(limit)
	var arms []string
	for _, kind := range kindsOf(filter) {
		arms = append(arms, "(SELECT "+columns+" FROM loci.record r WHERE "+c.String()+
			" AND r.kind = "+c.arg(string(kind))+end+")")
	}
	q.sql = "SELECT * FROM (" + strings.Join(arms, " UNION ALL ") + ") r" + end
	q.args = c.args
	return q, exact
}

// selectStreams asks for the namespaces that a filter reaches, how many they are, and whether each has
// more than so many records of one of its kinds. Of too many namespaces nothing is counted.
func selectStreams(t *tenant, filter *loci.Filter, from int, after *place, order loci.Order) stmt {
	c := about(t)
	c.add("tenant = $1 AND key_head IS NOT NULL")
	everywhere := slices.ContainsFunc(filter.Within, func(n loci.Namespace) bool { return len(n) == 0 })
	switch {
	case filter.Exact:
		c.within("n", filter.Within, true, &t.names)
	case !everywhere:
		either := []string{"FALSE"}
		for _, n := range filter.Within {
			either = append(either, c.below(n.Key()))
		}
		c.add("(" + strings.Join(either, " OR ") + ")")
	}
	where := c.String()
	walk := walkable(&c, filter, after, order, t)
	c.parts = []string{"r.tenant = $1"}
	return stmt{
		sql: "SELECT n, many, CASE WHEN many > " + strconv.Itoa(maxStreams) + " THEN " + walk + " ELSE " +
			c.held(filter.Kinds, from) + " END FROM (SELECT n, count(*) OVER () AS many FROM (SELECT n FROM loci.namespace WHERE " +
			where + " ORDER BY key_head LIMIT " + strconv.Itoa(maxStreams+1) + ") p) s",
		args: c.args,
	}
}

// held says of a namespace s that of one of some kinds, or of all together, it has more than so many records r that meet the
// conditions. They are counted in an order: else the database may read records of all namespaces until enough fit. The
// offset, which may be 0, keeps it from joining with all.
func (c *conditions) held(kinds []loci.Kind, more int) string {
	of := "EXISTS (SELECT 1 FROM loci.record r WHERE r.namespace = s.n AND " + c.String()
	end := " ORDER BY r.created_at DESC, r.id OFFSET " + c.arg(more) + ")"
	if len(kinds) == 0 {
		return of + end
	}
	var either []string
	for _, kind := range kinds {
		either = append(either, of+" AND r.kind = "+c.arg(string(kind))+end)
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// merged is [listing] for a list by time over streams: the database reads of each no more than the
// page takes. Few streams are rounded up, so that there are few statements to prepare.
func merged(
	t *tenant, columns string, filter *loci.Filter, in *streams, after *place, order loci.Order, limit int,
) (q stmt, exact bool) {
	c := about(t)
	by := c.byTime(after, order == loci.OldestFirst)
	f := *filter
	f.Within, f.Exact = []loci.Namespace{{}}, false
	each := kindsOf(&f)
	// A stream has one kind, unless they are too many.
	apart := len(each) > 1 && len(in.large) > 0 && len(in.large)*len(each) <= maxStreams
	if apart {
		f.Kinds = nil
	}
	exact = c.where(&f, &t.names)
	of := "SELECT " + columns + " FROM loci.record r WHERE " + c.String() + " AND r.namespace = "
	end := " ORDER BY " + by + " LIMIT " + c.arg(limit)
	kinds := []string{""} // each as a condition
	if apart {
		kinds = nil
		for _, kind := range each {
			kinds = append(kinds, " AND r.kind = "+c.arg(string(kind)))
		}
	}
	var small string
	if len(in.small) > 0 || len(in.large) != 1 || apart {
		small = of + "ANY(" + c.arg(append([]int64{}, in.small...)) + ")"
		if apart {
			small += " AND r.kind = ANY(" + c.arg(list(each)) + ")"
		}
	}
	switch {
	case len(in.large) == 0:
		q.sql = small + end
	case small == "":
		q.sql = of + c.arg(in.large[0]) + end
	default:
		large := slices.Clone(in.large)
		if q.once = len(large)*len(kinds) > maxPreparedStreams; !q.once {
			for len(large) < 1<<bits.Len(uint(len(large)-1)) {
				large = append(large, 0) // none has this number
			}
		}
		arms := []string{"(" + small + end + ")"}
		for _, number := range large {
			in := c.arg(number)
			for _, kind := range kinds {
				arms = append(arms, "("+of+in+kind+end+")")
			}
		}
		q.sql = "SELECT * FROM (" + strings.Join(arms, " UNION ALL ") + ") r" + end
	}
	q.args = c.args
	return q, exact
}
