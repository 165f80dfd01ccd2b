package sqlite

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
)

// Records that were made together lie together: their numbers follow one another, and so do their ids in the index
// by id, those of their events, and the events. Of a directory that is nearly all. So what goes is asked for by
// ranges where these hold little else. A list of values costs more than what is found by it: SQLite makes a table of
// them for each statement.

// longRun is from how many numbers in a row on a statement for them alone costs less than their part in a list.
const longRun = 16

// eraseMany is eraseRows for many records. What the file's triggers and foreign keys would do for each of them, twice
// the work of the rest, is done here: counts are taken off once, and what belongs to a record goes before it. Both
// stay in the file, for whoever does not know of this.
func (t *tx) eraseMany(g *going) error {
	var linked, revised bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM link) OR EXISTS (SELECT 1 FROM reply), EXISTS (SELECT 1 FROM revision)",
		nil, &linked, &revised); err != nil {
		return err
	}
	vectors := &vectorRows{counts: &g.counts}
	if err := byRuns(g.numbers, func(where string, args []any) error {
		return t.taken(vectors, "SELECT "+takeFunction+"(?, v.record, v.space) FROM vector v WHERE v.record"+where, args...)
	}); err != nil {
		return err
	}
	if err := t.unlistFiles(&g.files); err != nil {
		return err
	}
	for _, step := range []struct {
		query   string
		first   []any
		numbers []int64
		left    bool // out
	}{
		{query: listErased + "n", first: []any{t.seq}, numbers: g.searched},
		{query: "DELETE FROM vector WHERE record", numbers: g.numbers, left: !vectors.any},
		{query: "DELETE FROM revision WHERE record", numbers: g.numbers, left: !revised},
		{query: "DELETE FROM record WHERE n", numbers: g.numbers},
	} {
		if step.left {
			continue
		}
		if err := byRuns(step.numbers, func(where string, args []any) error {
			return t.f.resting(func() error {
				return t.exec(step.query+where+countedHere, slices.Concat(step.first, args)...)
			})
		}); err != nil {
			return err
		}
	}
	if linked {
		ids := padded(values(g.ids))
		for _, column := range []string{"link WHERE from_id", "link WHERE to_id", "reply WHERE record"} {
			if err := t.exec("DELETE FROM "+column+in(len(ids)), ids...); err != nil {
				return err
			}
		}
	}
	if err := t.forgetMany(g.told); err != nil {
		return err
	}
	return t.uncount(&g.counts)
}

// forgetMany takes their details from events about records.
func (t *tx) forgetMany(told []loci.ID) error {
	if len(told) == 0 {
		return nil
	}
	rows, all, err := t.eventsOf(told)
	if err != nil {
		return err
	}
	if !all {
		ids := padded(values(told))
		return t.exec(forgetDetails+inList("entity", len(ids)), ids...)
	}
	slices.Sort(rows)
	return byRuns(rows, func(where string, args []any) error { return t.exec(forgetDetails+"seq"+where, args...) })
}

// in is the end of a condition for a value of a list.
func in(n int) string { return inList("", n) }

// byRuns calls run with conditions that hold for some numbers, rising, which each is in one of them: a range for each
// long run, and lists of the others.
func byRuns(numbers []int64, run func(where string, args []any) error) error {
	var others []any
	for len(numbers) > 0 {
		n := 1
		for n < len(numbers) && numbers[n] == numbers[0]+int64(n) {
			n++
		}
		if n < longRun {
			for _, number := range numbers[:n] {
				others = append(others, number)
			}
		} else if err := run(" BETWEEN ? AND ?", []any{numbers[0], numbers[n-1]}); err != nil {
			return err
		}
		numbers = numbers[n:]
	}
	if others = padded(others); len(others) == 0 {
		return nil
	}
	return run(in(len(others)), others)
}

// values are arguments of a statement.
func values[V loci.ID | int64](all []V) (args []any) {
	for i := range all {
		switch v := any(&all[i]).(type) {
		case *loci.ID:
			args = append(args, v[:])
		case *int64:
			args = append(args, *v)
		}
	}
	return args
}

// around are the least and the greatest of some ids.
func around(ids []loci.ID) []any {
	least, greatest := &ids[0], &ids[0]
	for i := range ids {
		if bytes.Compare(ids[i][:], least[:]) < 0 {
			least = &ids[i]
		}
		if bytes.Compare(ids[i][:], greatest[:]) > 0 {
			greatest = &ids[i]
		}
	}
	return []any{least[:], greatest[:]}
}

// few is how many rows of a range may be looked at for some ids: more cost as much as a list.
func few(ids int) int { return ids + ids/2 }

// taken gives the rows of a query of the writer's to a taker, whose number comes before the other arguments.
func (t *tx) taken(to taker, query string, args ...any) error {
	return lendTo(to, func(number int64) error {
		return t.rows(query, append([]any{number}, args...), 1, func([]driver.Value) error { return nil })
	})
}

// An erasable is what the file says of a record that is to go.
type erasable struct {
	n, version, namespace int64 // n is 0 where there is none
	shard                 shard
}

const erasableColumns = `id, n, version, namespace, kind, live, coalesce(status, ''), passage_count, octet_length(text),
	coalesce(octet_length(heading), 0) + coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0), slot`

// find looks up records, their numbers, and what they count for.
func (t *tx) find(g *going) error {
	const query = "SELECT " + takeFunction + "(?, " + erasableColumns + ") FROM record WHERE id"
	if len(g.ids) >= manyErased {
		rows := &erasableRows{g: g, left: few(len(g.ids))}
		g.found = make([]erasable, len(g.ids))
		err := t.taken(rows, query+" BETWEEN ? AND ?", around(g.ids)...)
		if !errors.Is(err, errFull) {
			return err
		}
	}
	g.found, g.numbers, g.counts = make([]erasable, len(g.ids)), nil, uncounting{}
	ids := padded(values(g.ids))
	return t.taken(&erasableRows{g: g, left: len(ids)}, query+in(len(ids)), ids...)
}

// An erasableRows takes rows of erasableColumns.
type erasableRows struct {
	g     *going
	left  int // how many more are taken
	at    tallied
	ended error
}

func (e *erasableRows) why() error { return e.ended }

func (e *erasableRows) take(row lentRow) bool {
	if e.left--; e.left < 0 {
		e.ended = errFull
		return false
	}
	c := lentColumns{row: row}
	id := c.bytes()
	if len(id) != len(loci.ID{}) {
		e.ended = errWhole
		return false
	}
	i, wanted := e.g.wanted[loci.ID(id)]
	if !wanted {
		return true
	}
	n, version, namespace := c.integer(), c.integer(), c.integer()
	kind, live, status := c.bytes(), c.integer(), c.bytes()
	passages, text, beside, slot := c.integer(), c.integer(), c.integer(), c.bytes()
	numbers := n.valid && version.valid && namespace.valid && live.valid && passages.valid && text.valid && beside.valid
	if c.damaged || !numbers {
		e.ended = errWhole
		return false
	}
	e.at.namespace, e.at.live = namespace.n, live.n != 0
	if e.at.kind != string(kind) { // mostly it is that of the row before
		e.at.kind = string(kind)
	}
	if e.at.status != string(status) {
		e.at.status = string(status)
	}
	e.g.counts.record(n.n, e.at, passages.n, text.n, beside.n)
	e.g.numbers = append(e.g.numbers, n.n)
	if len(slot) > 0 && string(kind) == string(listedKind) {
		e.g.files.add(n.n, namespace.n, slot)
	}
	e.g.found[i] = erasable{n.n, version.n, namespace.n, shard{namespace: namespace.n, kind: loci.Kind(e.at.kind)}}
	return true
}

// choose sorts what was found, and chooses what an index may hold: a kind that never had anything to search in a
// namespace is in none.
func (t *tx) choose(g *going) error {
	known := map[shard]bool{}
	for i := range g.found {
		r := &g.found[i]
		is, asked := known[r.shard]
		if !asked {
			var err error
			if is, err = t.isShard(r.shard); err != nil {
				return err
			}
			known[r.shard] = is
		}
		if is {
			g.searched = append(g.searched, r.n)
		}
	}
	slices.Sort(g.numbers)
	slices.Sort(g.searched)
	return nil
}

// isShard reports whether records of a shard ever had anything to search.
func (t *tx) isShard(s shard) (is bool, err error) {
	if t.shards[s] {
		return true, nil
	}
	err = t.row("SELECT EXISTS (SELECT 1 FROM shard WHERE namespace = ? AND kind = ?)",
		[]any{s.namespace, string(s.kind)}, &is)
	return is, err
}

// A vectorRows counts vectors of records that go.
type vectorRows struct {
	counts *uncounting
	any    bool
	ended  error
}

func (v *vectorRows) why() error { return v.ended }

func (v *vectorRows) take(row lentRow) bool {
	record, valid := row.integer(0)
	space, also := row.integer(1)
	if !valid || !also {
		v.ended = errWhole
		return false
	}
	v.any = true
	v.counts.vector(record, space)
	return true
}

// eventsOf lists the events about many records by their numbers; all is false where too much else lies between.
func (t *tx) eventsOf(ids []loci.ID) (numbers []int64, all bool, err error) {
	if len(ids) < manyErased {
		return nil, false, nil
	}
	rows := &eventRows{wanted: make(map[loci.ID]bool, len(ids)), left: 4 * few(len(ids))}
	for _, id := range ids {
		rows.wanted[id] = true
	}
	const query = "SELECT " + takeFunction + "(?, entity, seq) FROM event INDEXED BY event_entity WHERE entity"
	err = t.taken(rows, query+" BETWEEN ? AND ?", around(ids)...)
	if errors.Is(err, errFull) {
		return nil, false, nil
	}
	return rows.numbers, err == nil, err
}

// An eventRows takes the events about records.
type eventRows struct {
	wanted  map[loci.ID]bool
	left    int // how many more are taken
	numbers []int64
	ended   error
}

func (e *eventRows) why() error { return e.ended }

func (e *eventRows) take(row lentRow) bool {
	if e.left--; e.left < 0 {
		e.ended = errFull
		return false
	}
	entity, valid := row.bytes(0)
	number, also := row.integer(1)
	if !valid || !also || len(entity) != len(loci.ID{}) {
		e.ended = errWhole
		return false
	}
	if e.wanted[loci.ID(entity)] {
		e.numbers = append(e.numbers, number)
	}
	return true
}
