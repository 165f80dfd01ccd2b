package sqlite

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// briefColumns are those of [loci.Record.Brief] in a list of one place by slot, and bodyColumns the body, too.
const (
	briefColumns = "r.id, r.version, r.live, r.created_at, r.updated_at, r.slot, r.attributes, r.status"
	bodyColumns  = briefColumns + ", r.body"
)

// briefs is records for a page of brief records of one place by slot. The query says all that such a
// filter does: shownColumns chooses them for no other.
func (f *file) briefs(
	ctx context.Context, columns string, filter *loci.Filter,
	after *page.Record, order loci.Order, limit int, lent bool, yield func(*loci.Record) bool,
) error {
	rows := &briefRows{descending: order == loci.SlotDescending, lent: lent, yield: yield,
		bodies: columns == bodyColumns}
	rows.record.Kind, rows.record.Namespace = filter.Kinds[0], slices.Clip(slices.Clone(filter.Within[0]))
	if listsFiles(columns, filter, order) {
		return f.files(ctx, filter, after, *rows)
	}
	return f.taken(ctx, rows, func(number int64) (string, []any) {
		return briefQuery(columns, filter, after, order, limit, number)
	})
}

// briefQuery gives the rows of a page to a taker.
func briefQuery(
	columns string, filter *loci.Filter, after *page.Record, order loci.Order, limit int, number int64,
) (query string, args []any) {
	selected := *filter
	selected.Slots = loci.SlotRange{} // bySlot says it
	c, _ := where(&selected)
	by := c.bySlot(filter, after, order == loci.SlotDescending)
	args = append([]any{number}, c.args...)
	query = "SELECT " + takeFunction + "(?, " + columns + ") FROM record r INDEXED BY record_slot WHERE " + c.String()
	if order == loci.SlotAscending && len(filter.IDs) == 0 && !filter.Expired && filter.Due.IsZero() {
		return query, args // as the index has them: to be asked for an order, SQLite would copy each row first
	}
	query = "SELECT " + takeFunction + "(?, " + strings.ReplaceAll(columns, "r.", "") + ") FROM (SELECT " + columns +
		" FROM record r WHERE " + c.String() + " ORDER BY " + by + " LIMIT +?)" // with a limit they stay in their order
	return query, append(args, limit)
}

var errBrief = errors.New("a row is not what it should be")

// A briefRows takes the rows of one page.
type briefRows struct {
	descending bool
	lent       bool // slot and documents are SQLite's: no record is kept
	bodies     bool // rows are of bodyColumns
	yield      func(*loci.Record) bool
	ended      error // why no more rows are taken

	record loci.Record // one for all rows, which are of one place
	last   []byte      // the slot of the row before; none is empty
	pieces             // of slots and documents
}

// document copies JSON, unless it is lent; nothing for NULL.
func (b *briefRows) document(column []byte) []byte {
	if b.lent && len(column) > 0 {
		return slices.Clip(column)
	}
	return b.pieces.document(column)
}

// take takes a row of briefColumns or bodyColumns.
func (b *briefRows) take(row lentRow) bool {
	b.ended = b.next(&lentColumns{row: row})
	return b.ended == nil
}

func (b *briefRows) why() error { return b.ended }

func (b *briefRows) next(c *lentColumns) error {
	r := &b.record
	id, version, live, created, updated := c.bytes(), c.integer(), c.integer(), c.integer(), c.integer()
	slot := c.bytes()
	attributes, status := c.bytes(), c.bytes()
	if c.damaged || len(id) != len(r.ID) || len(slot) == 0 ||
		!(version.valid && live.valid && created.valid && updated.valid) {
		return errBrief
	}
	if len(b.last) > 0 && (bytes.Compare(slot, b.last) > 0) == b.descending {
		return errBrief
	}
	b.last = append(b.last[:0], slot...)
	b.describe(slot, status, attributes)
	r.ID, r.Version, r.Live = loci.ID(id), version.n, live.n != 0
	r.CreatedAt, r.UpdatedAt = milli(created.n), milli(updated.n)
	if b.bodies {
		r.Body = b.document(c.bytes())
	}
	if !b.yield(r) {
		return errFull
	}
	return nil
}

// describe writes into the record what a row has beside numbers.
func (b *briefRows) describe(slot, status, attributes []byte) {
	r := &b.record
	if b.lent {
		r.Slot = unsafe.String(unsafe.SliceData(slot), len(slot))
	} else {
		r.Slot = b.text(slot)
	}
	r.Attributes = b.document(attributes)
	if string(status) != r.Status { // mostly it is that of the row before
		r.Status = string(status)
	}
}
