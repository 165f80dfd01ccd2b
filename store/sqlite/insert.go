package sqlite

import (
	"math/bits"
	"strings"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// manyInserted is how many records one statement inserts where there are as many.
const manyInserted = 32

const insertedColumns = 28

var (
	insertRow = `INSERT INTO record (id, kind, namespace, slot, version, seq, live, created_at, updated_at, expires_at, uses, used_at, text, passages, passage_count, tags, attributes, body,
		scope, status, confidence, decay_rate, decay_from, ends_at, due_at, sequence, position, heading)
		VALUES (?` + strings.Repeat(", ?", insertedColumns-1) + ")"
	insertRows              = insertRow + strings.Repeat(", (?"+strings.Repeat(", ?", insertedColumns-1)+")", manyInserted-1)
	countedRow, countedRows = insertRow + countedHere, insertRows + countedHere
)

// A plain record has none of these, as most notes: to bind nothing to a column takes as long as to bind a number.
var (
	insertPlain = `INSERT INTO record (id, kind, namespace, slot, version, seq, live, created_at, updated_at, text, passages, passage_count, body,
		scope, status, confidence, decay_rate, decay_from) VALUES (?` + strings.Repeat(", ?", plainColumns-1) + ")"
	countedPlain = insertPlain + countedHere
)

const plainColumns = 18

// insertOne inserts a record and returns its number.
func (t *tx) insertOne(r *loci.Record, namespace, seq int64) (int64, error) {
	c := columnsOf(r)
	if c.expiresAt == nil && r.Uses == 0 && c.usedAt == nil &&
		c.tags == nil && c.attributes == nil && c.endsAt == nil &&
		c.dueAt == nil && c.sequence == nil && c.heading == nil {
		insert := insertPlain
		if t.counted != nil {
			insert = countedPlain
		}
		return t.insertRow(insert, r.ID[:], string(r.Kind), namespace, c.slot, r.Version, seq, r.Live,
			r.CreatedAt.UnixMilli(), r.UpdatedAt.UnixMilli(), []byte(r.Text), form.EncodeSpans(r.Passages),
			len(r.Passages), c.body, c.scope, c.status, c.confidence, c.rate, c.from)
	}
	insert := insertRow
	if t.counted != nil {
		insert = countedRow
	}
	return t.insertRow(insert, c.appendRow(nil, r, namespace, seq)...)
}

// isNew reports whether a record is inserted: an imported one may come with earlier states.
func isNew(p *loci.Put) bool { return p.Record.Version == 1 || p.History != nil }

// insertMany inserts the first records of puts, if as many as a statement takes are new, and returns how many.
func (t *tx) insertMany(puts []loci.Put) (n int, err error) {
	if len(puts) < manyInserted {
		return 0, nil
	}
	puts = puts[:manyInserted]
	for i := range puts {
		if !isNew(&puts[i]) {
			return 0, nil
		}
	}
	args := make([]any, 0, manyInserted*insertedColumns)
	for i := range puts {
		r := &puts[i].Record
		at, err := t.place(r.Namespace, true)
		if err != nil {
			return 0, err
		}
		if err := t.putShard(r, at.n); err != nil {
			return 0, err
		}
		seq, err := t.nextSeq()
		if err != nil {
			return 0, err
		}
		c := columnsOf(r)
		args = c.appendRow(args, r, at.n, seq)
	}
	insert := insertRows
	if t.counted != nil {
		insert = countedRows
	}
	last, err := t.insertRow(insert, args...)
	if err != nil {
		return 0, conflictOr(err)
	}
	for i := range puts {
		at, err := t.place(puts[i].Record.Namespace, true)
		if err == nil {
			err = t.beside(last-int64(len(puts)-1-i), at.n, &puts[i])
		}
		if err != nil {
			return 0, err
		}
	}
	return len(puts), nil
}

// beside stores what comes with a new record.
func (t *tx) beside(n, namespace int64, p *loci.Put) error {
	if p.History != nil {
		if err := t.putHistory(n, p.History); err != nil {
			return err
		}
	}
	spaces, err := t.putCoded(n, p)
	if err == nil && t.counted != nil {
		if p.Record.Kind == listedKind && p.Record.Slot != "" {
			t.counted.files = append(t.counted.files, listed(&p.Record, n, namespace)...)
		}
		t.counted.put(&p.Record, namespace, spaces)
	}
	return err
}

// appendRow adds the values of a record's row.
func (c *columns) appendRow(args []any, r *loci.Record, namespace, seq int64) []any {
	return append(args,
		r.ID[:], string(r.Kind), namespace, c.slot, r.Version, seq, r.Live, r.CreatedAt.UnixMilli(),
		r.UpdatedAt.UnixMilli(), c.expiresAt, r.Uses, c.usedAt, []byte(r.Text),
		form.EncodeSpans(r.Passages), len(r.Passages), c.tags, c.attributes, c.body, c.scope, c.status,
		c.confidence, c.rate, c.from, c.endsAt, c.dueAt, c.sequence, c.position, c.heading)
}

// mostRows is how many rows one statement inserts where there are as many: each of its own takes twice as long.
const mostRows = 32

// rowsAtOnce is for how many of some rows there is one statement.
func rowsAtOnce(rows int) int { return 1 << (bits.Len(uint(min(rows, mostRows))) - 1) }

// An insertOf has the statements that insert 1, 2, 4 and more rows. A statement of several rows that fails leaves those
// before the one that fails, as who inserts them takes all back that the job or the transaction did: else SQLite would
// copy each page that the statement changes.
type insertOf struct {
	head, row, tail string
	once            sync.Once
	made            []string
}

// of is the statement for as many rows as [rowsAtOnce] says.
func (i *insertOf) of(rows int) string {
	i.once.Do(func() {
		for n := 1; n <= mostRows; n *= 2 {
			i.made = append(i.made, i.head+i.row+strings.Repeat(", "+i.row, n-1)+i.tail)
		}
	})
	return i.made[bits.TrailingZeros(uint(rows))]
}
