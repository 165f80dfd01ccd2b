package sqlite

import (
	"context"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/page"
)

// maxStreams bounds the places whose lists are merged in one query. Beyond, what is
// listed is sorted.
const maxStreams = 64

// A stream is what a list by time is read from in its order: a kind of record in a
// namespace, given by its number.
type stream struct {
	namespace int64
	kind      string
}

// streams lists what a filter reaches, as far as records were ever there; false: they are
// too many.
func (f *file) streams(ctx context.Context, filter *loci.Filter) (all []stream, few bool, err error) {
	rows := &streamRows{kinds: filter.Kinds}
	err = f.taken(ctx, rows, func(number int64) (string, []any) { return streamQuery(filter, number) })
	return rows.all, len(rows.all) <= maxStreams, err
}

// streamQuery gives the places and kinds of tallies to a taker, those of one place one after another. A list of kinds for
// SQLite to look into, or places that it is to list first, would each be a table that it makes.
func streamQuery(filter *loci.Filter, number int64) (query string, args []any) {
	var c conditions
	from := "tally t"
	if len(filter.Within) == 1 {
		c.within("s.n", filter.Within, filter.Exact)
		from = "namespace s CROSS JOIN tally t ON t.namespace = s.n"
		if key := filter.Within[0].Key(); key != "" && !filter.Exact {
			c = conditions{}
			c.add("s.key >= ? AND s.key < ?", []byte(key), []byte(key[:len(key)-1]+"\x01"))
		}
	} else {
		c.within("t.namespace", filter.Within, filter.Exact)
	}
	if len(filter.Kinds) == 1 {
		c.add("t.kind = ?", string(filter.Kinds[0]))
	}
	return "SELECT " + takeFunction + "(?, t.namespace, t.kind) FROM " + from + " WHERE " + c.String(), append([]any{number}, c.args...)
}

// A streamRows takes the rows of a [streamQuery].
type streamRows struct {
	kinds []loci.Kind // none: all
	all   []stream
	ended error
}

func (s *streamRows) why() error { return s.ended }

func (s *streamRows) take(row lentRow) bool {
	namespace, ok := row.integer(0)
	kind, isText := row.bytes(1)
	switch n := len(s.all); {
	case !ok || !isText:
		s.ended = errWhole
	case n > 0 && s.all[n-1].namespace == namespace && s.all[n-1].kind == string(kind): // of another state
	case len(s.kinds) > 0 && !slices.ContainsFunc(s.kinds, func(k loci.Kind) bool { return string(k) == string(kind) }):
	case n > maxStreams:
		s.ended = errFull
	default:
		s.all = append(s.all, stream{namespace, string(kind)})
	}
	return s.ended == nil
}

func namesOf[T ~string](kinds []T) (names []string) {
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return names
}

// mergeable reports whether a list by time is best read in its order: nothing in the
// filter finds its few records sooner.
func mergeable(f *loci.Filter, order loci.Order) bool {
	return !order.BySlot() && len(f.IDs) == 0 && f.Slot == nil && f.Slots.IsZero() && !f.Expired && f.Due.IsZero()
}

// merged is the query for the numbers of what a filter selects, in an order by time: SQLite merges
// streams that are in this order each, and reads of them only what is asked for.
func merged(
	filter *loci.Filter, streams []stream, after *page.Record, order loci.Order,
) (query string, args []any, exact bool) {
	f := *filter
	f.Kinds = nil
	lives := []int{1}
	if f.NotLive {
		lives = []int{0, 1} // also where there is none: one may pass from the one to the other
	}
	if f.Gone {
		lives = []int{0}
	}
	by := "2 DESC, 3"
	if order == loci.OldestFirst {
		by = "2, 3 DESC"
	}
	const arm = "SELECT r.n, r.created_at, r.id FROM record r INDEXED BY record_list WHERE r.namespace = ? AND r.kind = ? AND r.live = ?"
	var c conditions // of each
	exact = c.selecting(&f)
	c.byTime(after, order == loci.OldestFirst)
	rest := ""
	if len(c.parts) > 0 {
		rest = " AND " + c.String()
	}
	n := len(streams) * len(lives)
	args = make([]any, 0, n*(3+len(c.args)))
	for _, s := range streams {
		for _, live := range lives {
			args = append(append(args, s.namespace, s.kind, live), c.args...)
		}
	}
	return arm + rest + strings.Repeat(" UNION ALL "+arm+rest, n-1) + " ORDER BY " + by, args, exact
}

// sorted is merged for more streams than are merged: SQLite sorts the numbers of all that is selected, and not their
// rows, which took it seven times as long.
func sorted(filter *loci.Filter, after *page.Record, order loci.Order) (query string, args []any, exact bool) {
	c, exact := where(filter)
	by := c.byTime(after, order == loci.OldestFirst)
	return "SELECT r.n FROM record r WHERE " + c.String() + " ORDER BY " + by, c.args, exact
}

// keptCount is the query for the counts of what a filter selects, from what is kept: rows
// that add up. What has expired is taken off again, one by one, until it is erased.
func keptCount(filter *loci.Filter) (query string, args []any) {
	var c conditions
	c.within("t.namespace", filter.Within, filter.Exact)
	among[string](&c, "t.kind", namesOf(filter.Kinds))
	embedded := c
	among[string](&c, "t.status", filter.Statuses)
	if !filter.NotLive {
		c.add("t.live")
	}
	if filter.Gone {
		c.add("NOT t.live")
	}
	of, by := countOf(filter, "t")
	query = "SELECT " + of + `coalesce(sum(t.records), 0), coalesce(sum(t.records * t.live), 0), coalesce(sum(t.passages), 0),
		coalesce(sum(t.bytes), 0), coalesce(sum(t.searched), 0) FROM tally t WHERE ` + c.String() + by
	args = c.args
	if !filter.Space.IsZero() && !filter.Gone { // what is not live is not searched, and lacks no vectors
		of := ""
		if filter.Each != nil {
			of = "'', '', "
		}
		query += " UNION ALL SELECT " + of + `0, 0, 0, 0, -coalesce(sum(t.embedded), 0) FROM tally_vector t
			WHERE t.space = (SELECT n FROM space WHERE model = ? AND dims = ?) AND ` + embedded.String()
		args = slices.Concat(args, []any{filter.Space.Model, filter.Space.Dims}, embedded.args)
	}
	if !filter.At.IsZero() {
		expired := *filter
		expired.Expired = true
		off, _ := where(&expired)
		of, by := countOf(filter, "r")
		query += " UNION ALL SELECT " + of + "-count(*), -coalesce(sum(r.live), 0), -coalesce(sum(r.passage_count), 0), -coalesce(sum(octet_length(r.text)), 0), -coalesce(sum(" +
			unembedded + "), 0) FROM record r INDEXED BY record_expiry WHERE " + off.String() + by
		args = slices.Concat(args, []any{filter.Space.Model, filter.Space.Dims}, off.args)
	}
	return query, args
}

// An uncounting is what many records that are erased count for.
type uncounting struct {
	rows    map[tallied]*amounts
	vectors map[embedded]int64
	of      map[int64]tallied // searched records by their numbers
	held    loci.Holding
}

// A tallied names a row of the kept counts, and embedded one of those of vectors.
type (
	tallied struct {
		namespace    int64
		kind, status string
		live         bool
	}
	embedded struct {
		namespace int64
		kind      string
		space     int64
	}
)

// amounts are what a row of the kept counts says.
type amounts struct{ records, searched, passages, bytes int64 }

// record adds a record, given by its number, with the bytes of its text and those of all
// that a quota counts beside it.
func (u *uncounting) record(n int64, at tallied, passages, text, beside int64) {
	if u.rows == nil {
		u.rows, u.vectors, u.of = map[tallied]*amounts{}, map[embedded]int64{}, map[int64]tallied{}
	}
	row := u.rows[at]
	if row == nil {
		row = &amounts{}
		u.rows[at] = row
	}
	row.records++
	row.passages += passages
	row.bytes += text
	if at.live && passages > 0 {
		row.searched++
		u.of[n] = at
	}
	u.held.Records++
	u.held.Bytes += text + beside
}

// vector adds the vectors that a record has in a space.
func (u *uncounting) vector(record, space int64) {
	if at, searched := u.of[record]; searched {
		u.vectors[embedded{at.namespace, at.kind, space}]++
	}
}

// uncount takes what records count for off the kept counts. Its caller keeps the triggers
// from it.
func (t *tx) uncount(u *uncounting) error {
	for at, n := range u.rows {
		if err := t.exec(`UPDATE tally SET records = records - ?, searched = searched - ?, passages = passages - ?, bytes = bytes - ?
			WHERE namespace = ? AND kind = ? AND live = ? AND status = ?`,
			n.records, n.searched, n.passages, n.bytes, at.namespace, at.kind, at.live, at.status); err != nil {
			return err
		}
		if err := t.exec("DELETE FROM tally WHERE namespace = ? AND kind = ? AND live = ? AND status = ? AND records = 0",
			at.namespace, at.kind, at.live, at.status); err != nil {
			return err
		}
	}
	for at, n := range u.vectors {
		if err := t.exec("UPDATE tally_vector SET embedded = embedded - ? WHERE namespace = ? AND kind = ? AND space = ?",
			n, at.namespace, at.kind, at.space); err != nil {
			return err
		}
	}
	return t.exec("UPDATE holding SET records = records - ?, bytes = bytes - ?", u.held.Records, u.held.Bytes)
}

// The kept counts and what they are of, for a check.
const (
	tallyOf = `SELECT namespace, kind, live, coalesce(status, ''), count(*), sum(live AND passage_count > 0),
		sum(passage_count), sum(octet_length(text)) FROM record GROUP BY 1, 2, 3, 4`
	tallyVectorOf = `SELECT r.namespace, r.kind, v.space, count(*) FROM vector v JOIN record r ON r.n = v.record
		WHERE r.live AND r.passage_count > 0 GROUP BY 1, 2, 3`
	tallyKept       = "SELECT * FROM tally"
	tallyVectorKept = "SELECT * FROM tally_vector WHERE embedded <> 0"
)

// wrongTallies counts kept counts that are wrong, missing or too many. What keeps them from
// being kept counts, too.
const wrongTallies = "SELECT (SELECT count(*) FROM erasing) + (SELECT count(*) FROM (" + tallyOf + " EXCEPT " + tallyKept + ")) + (SELECT count(*) FROM (" + tallyKept + " EXCEPT " + tallyOf + "))" +
	" + (SELECT count(*) FROM (" + tallyVectorOf + " EXCEPT " + tallyVectorKept + ")) + (SELECT count(*) FROM (" + tallyVectorKept + " EXCEPT " + tallyVectorOf + "))"

// checkTallies counts again where the kept counts are wrong: they follow from the records.
func (f *file) checkTallies(ctx context.Context, findings []string) ([]string, error) {
	var wrong int64
	if err := f.readRow(ctx, wrongTallies, nil, &wrong); err != nil || wrong == 0 {
		return findings, err
	}
	findings = append(findings, form.TallyFault(int(wrong)))
	return findings, f.write(ctx, func(t *tx) error {
		for _, query := range []string{
			"DELETE FROM erasing", "DELETE FROM tally", "DELETE FROM tally_vector",
			"INSERT INTO tally " + tallyOf, "INSERT INTO tally_vector " + tallyVectorOf,
		} {
			if err := t.exec(query); err != nil {
				return err
			}
		}
		return nil
	})
}
