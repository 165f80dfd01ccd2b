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
	rows := &briefRows{descending: order == loci.SlotDescending, lent: lent, yield: yield}
	rows.record.Kind, rows.record.Namespace = filter.Kinds[0], slices.Clip(slices.Clone(filter.Within[0]))
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
	yield      func(*loci.Record) bool
	ended      error // why no more rows are taken

	record loci.Record // one for all rows, which are of one place
	last   []byte      // the slot of the row before; none is empty
	pieces             // of slots and documents
}

// document copies JSON, unless it is lent; nothing for NULL.
func (b *briefRows) document(row lentRow, at int) []byte {
	column, _ := row.bytes(at)
	if b.lent && len(column) > 0 {
		return slices.Clip(column)
	}
	return b.pieces.document(column)
}

// take takes a row of briefColumns or bodyColumns.
func (b *briefRows) take(row lentRow) bool {
	b.ended = b.next(row)
	return b.ended == nil
}

func (b *briefRows) why() error { return b.ended }

func (b *briefRows) next(row lentRow) error {
	var numbers [4]int64
	for i := range numbers {
		n, ok := row.integer(1 + i)
		if !ok {
			return errBrief
		}
		numbers[i] = n
	}
	id, okID := row.bytes(0)
	slot, okSlot := row.bytes(5)
	if !okID || len(id) != len(loci.ID{}) || !okSlot {
		return errBrief
	}
	r := &b.record
	if len(b.last) > 0 && (bytes.Compare(slot, b.last) > 0) == b.descending {
		return errBrief
	}
	b.last = append(b.last[:0], slot...)
	if b.lent {
		r.Slot = unsafe.String(unsafe.SliceData(slot), len(slot))
	} else {
		r.Slot = b.text(slot)
	}
	r.ID, r.Version, r.Live = loci.ID(id), numbers[0], numbers[1] != 0
	r.CreatedAt, r.UpdatedAt, r.Attributes = milli(numbers[2]), milli(numbers[3]), b.document(row, 6)
	if status, _ := row.bytes(7); string(status) != r.Status { // mostly it is that of the row before
		r.Status = string(status)
	}
	if len(row.values) > 8 {
		r.Body = b.document(row, 8)
	}
	if !b.yield(r) {
		return errFull
	}
	return nil
}
