package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/loci-memory/loci/store/internal/rowcache"
)

// A keptPage is the rows of a page as they are kept: a byte that says whether there were no more of them, and for each
// its number in eight bytes, its length in four, and its columns.
type keptPage struct {
	data  []byte
	until int64 // when the first of the rows expires or ends
}

// What the first byte of a page says.
const (
	pageCut   = iota // there may be more rows behind the last one
	pageWhole        // there are none
)

func newPage() keptPage { return keptPage{data: []byte{pageCut}, until: math.MaxInt64} }

// end is called behind the last row.
func (p *keptPage) end(whole bool) {
	if whole {
		p.data[0] = pageWhole
	}
}

// add adds a row, with endColumns behind those of the page. room is memory for it, and of the next one.
func (p *keptPage) add(row lentRow, room []byte) []byte {
	ends := len(row.values) - 3
	for column := ends; column < ends+2; column++ {
		if at, ok := row.integer(column); ok {
			p.until = min(p.until, at)
		}
	}
	number, _ := row.integer(ends + 2)
	row.values = row.values[:ends]
	room = appendColumns(room[:0], row, 0)
	p.data = binary.LittleEndian.AppendUint64(p.data, uint64(number))
	p.data = append(binary.LittleEndian.AppendUint32(p.data, uint32(len(room))), room...)
	return room
}

// withoutRows is the page of a key without rows of some numbers, rising, and nil where that is not all there is to it:
// where one of them made room for another that is not known, or where the key may have a name from one of them.
func withoutRows(key string, page []byte, gone []int64) []byte {
	if key[0]&keyAfter != 0 {
		return nil
	}
	out, from, at, left := []byte(nil), 0, 1, 0 // what is copied begins at from
	for r := (keptRow{}); at < len(page); at += len(r.whole) {
		r.next(page[at:])
		if _, is := slices.BinarySearch(gone, r.number); !is {
			left++
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(page)-len(r.whole))
		}
		out, from = append(out, page[from:at]...), at+len(r.whole)
	}
	switch {
	case left == 0 || from > 0 && page[0] == pageCut:
		return nil
	case from == 0:
		return page
	}
	return append(out, page[from:]...)
}

// A keptRow is a row of a page.
type keptRow struct {
	number int64
	data   []byte // its columns
	whole  []byte // the same with what comes before them
}

// next takes the first row from rows.
func (r *keptRow) next(rows []byte) (rest []byte) {
	const head = 8 + 4
	end := head + int(binary.LittleEndian.Uint32(rows[8:]))
	*r = keptRow{int64(binary.LittleEndian.Uint64(rows)), rows[head:end:end], rows[:end:end]}
	return rows[end:]
}

// slot is the column that rows are sorted by.
func (r *keptRow) slot() []byte {
	c := lentColumns{copied: r.data}
	c.bytes()
	for range 4 { // version, live and two times
		c.integer()
	}
	return c.bytes()
}

// A copiedRows copies the rows of a page that it hands on.
type copiedRows struct {
	rows *briefRows
	keptPage
	room []byte
}

func (c *copiedRows) why() error { return c.rows.why() }

// take implements [taker].
func (c *copiedRows) take(row lentRow) bool {
	c.room = c.add(row, c.room)
	row.values = row.values[:len(row.values)-3]
	return c.rows.take(row)
}

// again takes the rows of a page that is kept.
func (b *briefRows) again(p keptPage) error {
	var r keptRow
	for rows := p.data[1:]; len(rows) > 0; {
		rows = r.next(rows)
		if err := b.next(&lentColumns{copied: r.data}); err != nil {
			if errors.Is(err, errFull) {
				return nil
			}
			return err
		}
	}
	return nil
}

// freshRows copies rows that have changed.
type freshRows struct {
	keptPage
	room []byte
}

func (f *freshRows) why() error { return nil }

func (f *freshRows) take(row lentRow) bool {
	f.room = f.add(row, f.room)
	return true
}

// mended is a page in which rows have changed, in the state of the file in which these are the ones: ask is for those
// of them that belong to it. A page without data cannot be mended.
func (f *file) mended(
	ctx context.Context, p keptPage, changed []int64, state rowcache.State,
	ask func(number int64) (string, []any), descending bool,
) (out keptPage, err error) {
	fresh := &freshRows{keptPage: newPage()}
	if err := f.taken(ctx, fresh, ask); err != nil {
		return out, err
	}
	if now, known := f.rows.Look(); !known || now != state {
		return out, nil // the rows may be of a later state
	}
	return p.with(fresh.keptPage, changed, descending), nil
}

// with is a page after rows have changed; fresh are those of them that belong to it now.
func (p keptPage) with(fresh keptPage, changed []int64, descending bool) (out keptPage) {
	var come []keptRow
	for rows := fresh.data[1:]; len(rows) > 0; {
		come = append(come, keptRow{})
		rows = come[len(come)-1].next(rows)
	}
	order := func(a, b keptRow) int {
		if descending {
			return bytes.Compare(b.slot(), a.slot())
		}
		return bytes.Compare(a.slot(), b.slot())
	}
	slices.SortFunc(come, order)
	out = keptPage{data: []byte{p.data[0]}, until: min(p.until, fresh.until)}
	before, after := 0, 0 // rows
	from, at := 1, 1      // what is copied begins here, and the next row
	copied := func(next int) { out.data, from = append(out.data, p.data[from:at]...), next }
	for r := (keptRow{}); at < len(p.data); before++ {
		r.next(p.data[at:])
		end := at + len(r.whole)
		if len(come) > 0 && order(come[0], r) <= 0 {
			copied(at)
			for ; len(come) > 0 && order(come[0], r) <= 0; after++ {
				out.data, come = append(out.data, come[0].whole...), come[1:]
			}
		}
		if _, is := slices.BinarySearch(changed, r.number); is {
			copied(end)
		} else {
			after++
		}
		at = end
	}
	switch whole := p.data[0] == pageWhole; {
	case !whole && after < before:
		return keptPage{} // what comes behind it belongs to it now
	case from == 1 && len(out.data) == 1 && (!whole || len(come) == 0):
		return p // no row of it has changed
	}
	copied(at)
	for i := 0; i < len(come) && p.data[0] == pageWhole; i++ {
		out.data = append(out.data, come[i].whole...)
	}
	return out
}
