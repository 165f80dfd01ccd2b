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
// its number, its length and its columns.
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
	p.data = append(binary.AppendUvarint(binary.AppendUvarint(p.data, uint64(number)), uint64(len(room))), room...)
	return room
}

// A keptRow is a row of a page.
type keptRow struct {
	number int64
	data   []byte // its columns
	whole  []byte // the same with what comes before them
}

// next takes the first row from rows.
func (r *keptRow) next(rows []byte) (rest []byte) {
	number, a := binary.Uvarint(rows)
	size, b := binary.Uvarint(rows[a:])
	end := a + b + int(size)
	*r = keptRow{int64(number), rows[a+b : end : end], rows[:end:end]}
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
		if err := b.next(&lentColumns{copied: r.data}); errors.Is(err, errFull) {
			return nil
		} else if err != nil {
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
	out = keptPage{data: append(make([]byte, 0, len(p.data)+len(fresh.data)), p.data[0]), until: min(p.until, fresh.until)}
	before, after := 0, 0 // rows
	var r keptRow
	for rows := p.data[1:]; len(rows) > 0; before++ {
		rows = r.next(rows)
		for len(come) > 0 && order(come[0], r) <= 0 {
			out.data = append(out.data, come[0].whole...)
			come = come[1:]
			after++
		}
		if _, is := slices.BinarySearch(changed, r.number); !is {
			out.data = append(out.data, r.whole...)
			after++
		}
	}
	if p.data[0] == pageWhole {
		for i := range come {
			out.data = append(out.data, come[i].whole...)
		}
	} else if after < before {
		return keptPage{} // what comes behind it belongs to it now
	}
	return out
}
