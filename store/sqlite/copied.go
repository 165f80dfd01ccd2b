package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"

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

// copiedBytes is bytes of a copied row where they are many, or something else.
func (c *lentColumns) copiedBytes() []byte {
	data := c.copied
	if c.damaged = c.damaged || len(data) == 0 || data[0] != copiedBytes; c.damaged {
		return nil
	}
	n, size := binary.Uvarint(data[1:])
	begin, end := 1+size, 1+size+int(n)
	c.copied = data[end:]
	return data[begin:end:end]
}

func (c *lentColumns) copiedNumber() float64 {
	if data := c.copied; len(data) > 8 && data[0] == copiedNumber {
		c.copied = data[9:]
		return math.Float64frombits(binary.LittleEndian.Uint64(data[1:]))
	}
	return float64(c.integer().n)
}

// What the first byte of a kept row says.
const (
	keptCore  = iota // columns of coreColumns
	keptWhole        // columns of recordColumns
)

// known is recordsWith for records that are named by ids, in any order, which reads only those that are not kept. All of them are of one state of the file, as if one statement had read them.
func (f *file) known(ctx context.Context, columns string, filter *loci.Filter, yield func(*loci.Record) bool) error {
	ids := make([]rowcache.ID, len(filter.IDs))
	for i, id := range filter.IDs {
		ids[i] = rowcache.ID(id)
	}
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
	rows := &wholeRows{filter: &rest, many: columns == coreColumns, pieces: pieces{most: 4 << 10}}
	asCore := func(r *loci.Record) bool {
		*r = r.Core()
		return yield(r)
	}
	for _, data := range found {
		if len(data) == 0 {
			continue // there is no such record, or it is named a second time
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
	var places []int
	for i, data := range found {
		if data == nil || l.whole && len(data) > 0 && data[0] == keptCore {
			found[i] = nil
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return true, nil
	}
	l.rows = make([]rowcache.Row, 0, len(places))
	places, err = f.byNumbers(ctx, columns, &l, ids, places)
	if err == nil && len(places) > 0 {
		err = f.byTheirIDs(ctx, columns, &l, ids, places)
	}
	if err != nil {
		return false, err
	}
	return f.rows.Keep(state, l.rows), nil
}

// byNumbers reads the rows at some places whose numbers are known, in the order of these, and returns the places of
// the others, and of those that have another number by now.
func (f *file) byNumbers(
	ctx context.Context, columns string, l *lackingRows, ids []rowcache.ID, places []int,
) (left []int, err error) {
	numbers := make([]uint32, len(ids))
	f.numbers.find(ids, places, numbers)
	var known []int
	for _, at := range places {
		if numbers[at] != 0 {
			known = append(known, at)
		} else {
			left = append(left, at)
		}
	}
	if len(known) == 0 {
		return places, nil
	}
	slices.SortFunc(known, func(i, j int) int {
		if numbers[i] != numbers[j] { // as nearly always
			return cmp.Compare(numbers[i], numbers[j])
		}
		return bytes.Compare(ids[i][:], ids[j][:])
	})
	known = slices.CompactFunc(known, func(i, j int) bool { return ids[i] == ids[j] })
	args := make([]any, 0, 2*len(known)+1)
	for i, at := range known {
		if i == 0 || numbers[at] != numbers[known[i-1]] {
			args = append(args, int64(numbers[at]))
		}
	}
	next := 0
	l.place = func(number int64, id []byte) (at int, taken, asked bool) {
		for ; next < len(known) && int64(numbers[known[next]]) < number; next++ {
		}
		for i := next; i < len(known) && int64(numbers[known[i]]) == number; i++ {
			if at = known[i]; bytes.Equal(ids[at][:], id) {
				return at, true, true
			}
			asked = true
		}
		return 0, false, asked // the row of a number may be another one
	}
	query := walking(takeFunction+"(?, r.n, "+columns+")", "n", paddedList(&args))
	ask := func(number int64) (string, []any) { return query, append([]any{number}, args...) }
	if err := f.taken(ctx, l, ask); err != nil {
		return nil, err
	}
	for _, at := range known {
		if l.found[at] == nil {
			left = append(left, at)
		}
	}
	return left, nil
}

// byTheirIDs reads the rows at some places.
func (f *file) byTheirIDs(
	ctx context.Context, columns string, l *lackingRows, ids []rowcache.ID, places []int,
) error {
	slices.SortFunc(places, func(i, j int) int { return bytes.Compare(ids[i][:], ids[j][:]) })
	places = slices.CompactFunc(places, func(i, j int) bool { return ids[i] == ids[j] })
	args := make([]any, 0, 2*len(places)+1)
	for _, at := range places {
		args = append(args, ids[at][:])
	}
	next := 0
	l.place = func(_ int64, id []byte) (at int, taken, asked bool) {
		for ; next < len(places); next++ {
			if at = places[next]; bytes.Equal(ids[at][:], id) {
				return at, true, true
			}
		}
		return 0, false, false
	}
	query := walking(takeFunction+"(?, r.n, "+columns+")", "id", paddedList(&args))
	return f.taken(ctx, l, func(number int64) (string, []any) { return query, append([]any{number}, args...) })
}

// A lackingRows takes rows to keep, of a number and a record, in the order in which they are asked for.
type lackingRows struct {
	whole bool
	place func(number int64, id []byte) (at int, taken, asked bool) // where a row belongs, and whether anywhere
	found [][]byte
	rows  []rowcache.Row
	room  []byte
	ended error
}

func (l *lackingRows) why() error { return l.ended }

// take implements [taker].
func (l *lackingRows) take(row lentRow) bool {
	number, okNumber := row.integer(0)
	id, _ := row.bytes(1)
	at, taken, asked := 0, false, okNumber && len(id) == len(loci.ID{})
	if asked {
		at, taken, asked = l.place(number, id)
	}
	if !taken {
		if !asked {
			l.ended = errWhole
		}
		return asked
	}
	l.room = append(l.room[:0], keptCore)
	if l.whole {
		l.room[0] = keptWhole
	}
	l.room = appendColumns(l.room, row, 1)
	data := bytes.Clone(l.room)
	l.found[at] = data
	l.rows = append(l.rows, rowcache.Row{ID: rowcache.ID(id), Number: number, Data: data})
	return true
}

// To find a row by its id, SQLite walks through an index first, which takes a quarter of what reading the row takes. A
// search knows the number of each row that it finds: who reads what it found asks by that. Ids are random, so that one
// table does for all files of a store. What it says is not trusted: a row of another id is not taken (docs/adr/0183).

// keptNumbers is how many numbers are kept, those of some searches.
const keptNumbers = 4096

// numbers are those of the rows that searches have found lately.
type numbers struct {
	mu   sync.Mutex
	kept []numberedRow // by a part of the id; nil until there is one
}

// A numberedRow is an id and the number of its row.
type numberedRow struct {
	id     loci.ID
	number uint32 // 0: there is none
}

// numberPlace is where the number of an id is kept: its last bytes are random.
func numberPlace(id loci.ID) int {
	return int(binary.LittleEndian.Uint16(id[len(id)-2:])) % keptNumbers
}

// note keeps the numbers of what a search has found.
func (n *numbers) note(hits []loci.Hit, of func(i int) uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		n.kept = make([]numberedRow, keptNumbers)
	}
	for i := range hits {
		id := hits[i].ID
		n.kept[numberPlace(id)] = numberedRow{id, of(i)}
	}
}

// find puts the numbers of ids at some places into a list; 0: not known.
func (n *numbers) find(ids []rowcache.ID, places []int, found []uint32) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		return
	}
	for _, at := range places {
		if row := &n.kept[numberPlace(loci.ID(ids[at]))]; row.id == loci.ID(ids[at]) {
			found[at] = row.number
		}
	}
}
