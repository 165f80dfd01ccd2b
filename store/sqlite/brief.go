package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"reflect"
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
	endColumns   = ", r.expires_at, r.ends_at, r.n" // behind them, of a page that is kept
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
	key, lasts := listKey(columns, filter, after, order, limit)
	if !lasts {
		return f.taken(ctx, rows, func(number int64) (string, []any) {
			return briefQuery(columns, filter, after, order, limit, number)
		})
	}
	moment := filter.At.UnixMilli()
	kept, state, known := f.rows.FindList(key, moment)
	page := keptPage{data: kept.Data, until: kept.Until}
	if page.data != nil && len(kept.Changed) > 0 {
		var err error
		if page, err = f.mended(ctx, page, kept.Changed, state, func(number int64) (string, []any) {
			return rowsQuery(columns+endColumns, filter, after, order, kept.Changed, number)
		}, rows.descending); err != nil {
			return err
		}
		if page.data != nil {
			f.rows.KeepList(state, key, page.data, moment, page.until)
		}
	}
	if page.data != nil {
		return rows.again(page)
	}
	copied := &copiedRows{rows: rows, keptPage: newPage()}
	err := f.taken(ctx, copied, func(number int64) (string, []any) {
		return briefQuery(columns+endColumns, filter, after, order, limit, number)
	})
	if err == nil && known {
		copied.end(rows.ended == nil)
		f.rows.KeepList(state, key, bytes.Clone(copied.data), moment, copied.until)
	}
	return err
}

// keyAfter is in the first byte of a key that has the slot behind which its page begins.
const keyAfter = 1 << 2

// listKey is all that a page of briefs depends on but the state of the file, and the moment, if it asks for one: with
// time, such a page loses records and gets none. lasts: there is no more to it.
func listKey(
	columns string, filter *loci.Filter, after *page.Record, order loci.Order, limit int,
) (key []byte, lasts bool) {
	if columns == bodyColumns { // of a delete, after which it is no longer there
		return nil, false
	}
	plain := loci.Filter{Within: filter.Within, Exact: true, Kinds: filter.Kinds, Slots: filter.Slots,
		Statuses: filter.Statuses, At: filter.At, NotLive: filter.NotLive}
	if !reflect.DeepEqual(*filter, plain) {
		return nil, false
	}
	add := func(text string) { key = append(binary.AppendUvarint(key, uint64(len(text))), text...) }
	flags := byte(0)
	for i, set := range []bool{filter.NotLive, filter.At.IsZero(), after != nil} {
		if set {
			flags |= 1 << i
		}
	}
	key = binary.AppendVarint(binary.AppendUvarint(append(key, flags), uint64(limit)), int64(order))
	add(filter.Within[0].Key())
	add(string(filter.Kinds[0]))
	add(filter.Slots.From)
	add(filter.Slots.To)
	if after != nil {
		add(after.Slot)
	}
	for _, status := range filter.Statuses {
		add(status)
	}
	return key, true
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

// rowsQuery is briefQuery for rows of some numbers, in no order.
func rowsQuery(
	columns string, filter *loci.Filter, after *page.Record, order loci.Order, numbers []int64, number int64,
) (query string, args []any) {
	selected := *filter
	selected.Slots = loci.SlotRange{}
	c, _ := where(&selected)
	c.bySlot(filter, after, order == loci.SlotDescending)
	of := padded(values(numbers))
	return "SELECT " + takeFunction + "(?, " + columns + ") FROM record r NOT INDEXED WHERE r.n" + in(len(of)) + " AND " +
		c.String(), append(append([]any{number}, of...), c.args...)
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
	if b.lent {
		r.Slot = unsafe.String(unsafe.SliceData(slot), len(slot))
	} else {
		r.Slot = b.text(slot)
	}
	r.ID, r.Version, r.Live = loci.ID(id), version.n, live.n != 0
	r.CreatedAt, r.UpdatedAt, r.Attributes = milli(created.n), milli(updated.n), b.document(attributes)
	if string(status) != r.Status { // mostly it is that of the row before
		r.Status = string(status)
	}
	if b.bodies {
		r.Body = b.document(c.bytes())
	}
	if !b.yield(r) {
		return errFull
	}
	return nil
}
