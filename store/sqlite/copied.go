package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// A copied row is its columns one after the other, as SQLite had them: a byte that says what is there, and the value.
const (
	copiedNull    = iota
	copiedByte    // a whole number below 256
	copiedInteger // eight bytes
	copiedNumber  // eight bytes
	copiedBytes   // the length, and so many bytes; of a text, too
)

// appendColumns copies columns from one on.
func appendColumns(data []byte, row lentRow, from int) []byte {
	for column := from; column < len(row.values); column++ {
		switch sqlite3.Xsqlite3_value_type(row.tls, row.values[column]) {
		case sqlite3.SQLITE_INTEGER:
			n := sqlite3.Xsqlite3_value_int64(row.tls, row.values[column])
			if n >= 0 && n < 256 {
				data = append(data, copiedByte, byte(n))
			} else {
				data = binary.LittleEndian.AppendUint64(append(data, copiedInteger), uint64(n))
			}
		case sqlite3.SQLITE_FLOAT:
			x := sqlite3.Xsqlite3_value_double(row.tls, row.values[column])
			data = binary.LittleEndian.AppendUint64(append(data, copiedNumber), math.Float64bits(x))
		case sqlite3.SQLITE_NULL:
			data = append(data, copiedNull)
		default:
			b, _ := row.bytes(column)
			data = append(binary.AppendUvarint(append(data, copiedBytes), uint64(len(b))), b...)
		}
	}
	return data
}

// next is the next column of a copied row.
func (c *lentColumns) next() (what byte, n uint64, b []byte) {
	data := c.copied
	if len(data) == 0 {
		c.damaged = true
		return copiedNull, 0, nil
	}
	what, data = data[0], data[1:]
	switch what {
	case copiedByte:
		n, data = uint64(data[0]), data[1:]
	case copiedInteger, copiedNumber:
		n, data = binary.LittleEndian.Uint64(data), data[8:]
	case copiedBytes:
		size := 1
		if n = uint64(data[0]); n >= 0x80 {
			n, size = binary.Uvarint(data)
		}
		b, data = data[size:size+int(n):size+int(n)], data[size+int(n):]
	}
	c.copied = data
	return what, n, b
}

func (c *lentColumns) copiedBytes() []byte {
	what, _, b := c.next()
	c.damaged = c.damaged || what != copiedBytes && what != copiedNull
	return b
}

func (c *lentColumns) copiedInteger() intColumn {
	what, n, _ := c.next()
	valid := what == copiedByte || what == copiedInteger
	if !valid {
		c.damaged = c.damaged || what != copiedNull
		return intColumn{}
	}
	return intColumn{int64(n), true}
}

func (c *lentColumns) copiedNumber() float64 {
	switch what, n, _ := c.next(); what {
	case copiedNumber:
		return math.Float64frombits(n)
	case copiedByte, copiedInteger:
		return float64(int64(n))
	case copiedBytes:
		c.damaged = true
	}
	return 0
}

// What the first byte of a kept row says.
const (
	keptCore  = iota // columns of coreColumns
	keptWhole        // columns of recordColumns
)

// known is recordsWith for records that are named by ids, in the order of these, which reads only those that are not
// kept. All of them are of one state of the file, as if one statement had read them.
func (f *file) known(ctx context.Context, columns string, filter *loci.Filter, yield func(*loci.Record) bool) error {
	ids := make([]rowcache.ID, len(filter.IDs))
	for i, id := range filter.IDs {
		ids[i] = rowcache.ID(id)
	}
	slices.SortFunc(ids, func(a, b rowcache.ID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	found := make([][]byte, len(ids))
	state, stands := f.rows.Find(ids, found)
	if stands {
		var err error
		if stands, err = f.lacking(ctx, columns, state, ids, found); err != nil {
			return err
		}
	}
	if !stands { // the file changes just now
		return f.recordsWith(ctx, columns, filter, nil, unordered, yield)
	}
	rest := *filter
	rest.IDs = nil
	rows := &wholeRows{filter: &rest, pieces: pieces{most: 4 << 10}}
	asCore := func(r *loci.Record) bool {
		*r = r.Core()
		return yield(r)
	}
	for _, data := range found {
		if data == nil {
			continue // there is no such record
		}
		rows.core, rows.yield = data[0] == keptCore, yield
		if columns == coreColumns && !rows.core {
			rows.yield = asCore // it was read as a whole for somebody else
		}
		if err := rows.give(lentColumns{copied: data[1:]}); errors.Is(err, errFull) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// lacking reads the rows that are not kept, and keeps them. It reports whether the file stayed as it was.
func (f *file) lacking(
	ctx context.Context, columns string, state rowcache.State, ids []rowcache.ID, found [][]byte,
) (stands bool, err error) {
	l := lackingRows{found: found, whole: columns == recordColumns}
	var missing []loci.ID
	for i, data := range found {
		if data == nil || l.whole && data[0] == keptCore {
			found[i] = nil
			missing, l.places = append(missing, loci.ID(ids[i])), append(l.places, i)
		}
	}
	if len(missing) == 0 {
		return true, nil
	}
	l.ids = missing
	query, args := byIDs(takeFunction+"(?, r.n, "+columns+")", missing)
	if err := f.taken(ctx, &l, func(number int64) (string, []any) { return query, append([]any{number}, args...) }); err != nil {
		return false, err
	}
	return f.rows.Keep(state, l.rows), nil
}

// A lackingRows takes rows to keep, of a number and a record.
type lackingRows struct {
	whole  bool
	ids    []loci.ID // that are looked for, in their order
	places []int     // where each belongs
	found  [][]byte
	rows   []rowcache.Row
	room   []byte
	ended  error
}

func (l *lackingRows) why() error { return l.ended }

// take implements [taker].
func (l *lackingRows) take(row lentRow) bool {
	number, okNumber := row.integer(0)
	id, _ := row.bytes(1)
	if !okNumber || len(id) != len(loci.ID{}) {
		l.ended = errWhole
		return false
	}
	at, asked := slices.BinarySearchFunc(l.ids, id, func(a loci.ID, b []byte) int { return bytes.Compare(a[:], b) })
	if !asked {
		l.ended = errWhole
		return false
	}
	l.room = append(l.room[:0], keptCore)
	if l.whole {
		l.room[0] = keptWhole
	}
	l.room = appendColumns(l.room, row, 1)
	data := bytes.Clone(l.room)
	l.found[l.places[at]] = data
	l.rows = append(l.rows, rowcache.Row{ID: rowcache.ID(id), Number: number, Data: data})
	return true
}
