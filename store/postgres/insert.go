package postgres

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/loci-memory/loci"
)

const (
	// maxRows and maxParameters bound an INSERT; the protocol ends at 65,535 parameters.
	maxRows       = 500
	maxParameters = 60_000

	// maxPreparedRows bounds the rows of an INSERT that is prepared, as the database keeps its plan. From
	// maxShared rows on they are those of a large change, whose statements come once.
	maxPreparedRows = 32
	maxShared       = 256

	// maxRoom bounds the bytes for a row that room is made for before its size is known.
	maxRoom = 1024
)

// An insertion is how rows are added to a table, of which the first column is the tenant. Each
// parameter of a row costs the database time: to take it in, and to make an expression of it for its row.
type insertion struct {
	table   string
	columns []string // without the tenant
	then    string   // what follows the rows

	// same is a column in which all rows of a transaction agree, so that they share a parameter; below 0: none.
	same int

	// spare are sets of columns, larger ones first. A statement leaves out the first set that is NULL in
	// all of its rows. They are few, since the database reads and plans a statement for each of them.
	spare [][]int

	size  atomic.Int64 // bytes of a row, about as the last ones were
	mu    sync.RWMutex
	texts map[shape]string // of the statements that are prepared
}

// A shape is what the text of an INSERT depends on.
type shape struct{ rows, spare int }

// insertInto is an insertion by the names of its columns without the tenant, as SQL lists them.
func insertInto(table, columns string) *insertion {
	return &insertion{table: table, columns: listed(columns), same: -1, texts: map[shape]string{}}
}

// following is an insertion with something behind its rows.
func (in *insertion) following(then string) *insertion {
	return &insertion{
		table: in.table, columns: in.columns, then: then, same: in.same, spare: in.spare, texts: map[shape]string{},
	}
}

// sharing is the insertion where all rows of a transaction agree in a column.
func (in *insertion) sharing(column string) *insertion {
	in.same = slices.Index(in.columns, column)
	return in
}

// sparing is the insertion with sets of columns that may be left out, the larger ones first.
func (in *insertion) sparing(sets ...string) *insertion {
	for _, columns := range sets {
		var set []int
		for _, column := range listed(columns) {
			set = append(set, slices.Index(in.columns, column))
		}
		in.spare = append(in.spare, set)
	}
	return in
}

func listed(columns string) []string {
	return strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// rows are rows of a table as they are sent, one value behind the other. The first value of each is not empty.
type rows struct {
	of   *insertion
	data []byte
	ends []int // of each value in data; below 0: NULL, and the complement is where it would end
	err  error // an argument has a type that no column has
}

// rowsOf makes a row of each.
func rowsOf[T any](of *insertion, list []T, row func(*rows, *T)) *rows {
	w := &rows{of: of}
	if len(list) == 0 {
		return w
	}
	w.ends = make([]int, 0, len(list)*len(of.columns))
	w.data = make([]byte, 0, len(list)*int(of.size.Load()))
	for i := range list {
		row(w, &list[i])
	}
	of.size.Store(int64(min(len(w.data)/len(list)*9/8, maxRoom)))
	return w
}

// row makes a row of arguments.
func (w *rows) row(args ...any) {
	for _, arg := range args {
		value, _, err := encode(arg)
		w.err = errors.Join(w.err, err)
		if w.bytes(value); value == nil {
			w.ends[len(w.ends)-1] = ^len(w.data)
		}
	}
}

func (w *rows) len() int { return len(w.ends) / len(w.of.columns) }

// done ends a value.
func (w *rows) done() { w.ends = append(w.ends, len(w.data)) }

func (w *rows) null() { w.ends = append(w.ends, ^len(w.data)) }

func (w *rows) int(v int64) {
	w.data = binary.BigEndian.AppendUint64(w.data, uint64(v))
	w.done()
}

func (w *rows) bool(v bool) {
	w.data = append(w.data, 0)
	if v {
		w.data[len(w.data)-1] = 1
	}
	w.done()
}

func (w *rows) float(v float64) {
	w.data = binary.BigEndian.AppendUint64(w.data, math.Float64bits(v))
	w.done()
}

func (w *rows) bytes(v []byte) {
	w.data = append(w.data, v...)
	w.done()
}

func (w *rows) string(v string) {
	w.data = append(w.data, v...)
	w.done()
}

func (w *rows) id(v loci.ID) { w.bytes(v[:]) }

// time is in milliseconds; NULL for the zero time.
func (w *rows) time(t time.Time) {
	if t.IsZero() {
		w.null()
		return
	}
	w.int(t.UnixMilli())
}

// orNull adds a value; NULL for none.
func orNull[T ~string | ~[]byte](w *rows, v T) {
	if len(v) == 0 {
		w.null()
		return
	}
	w.data = append(w.data, v...)
	w.done()
}

// value is the value at a row and a column.
func (w *rows) value(row, column int) []byte {
	i := row*len(w.of.columns) + column
	end, begin := w.ends[i], 0
	if end < 0 {
		return nil
	}
	if i > 0 {
		if begin = w.ends[i-1]; begin < 0 {
			begin = ^begin
		}
	}
	return w.data[begin:end:end]
}

// lacks reports whether a column is NULL in n rows from one on.
func (w *rows) lacks(column, from, n int) bool {
	for row := range n {
		if w.ends[(from+row)*len(w.of.columns)+column] >= 0 {
			return false
		}
	}
	return true
}

// insert stages rows of a table, many in one statement.
func (x *tx) insert(w *rows) {
	x.broken = errors.Join(x.broken, w.err)
	shared := w.len() < maxShared && !x.s.opts.Unprepared
	for from := 0; from < w.len(); {
		n, once := together(w.len()-from, len(w.of.columns)+1, shared)
		x.written = append(x.written, w.insert(x.t.key, from, n, once))
		from += n
	}
}

// together says how many of some rows go into one statement, and whether it is not worth to be
// prepared. Writes that share a commit are of any number. To read and plan a statement for so many
// rows takes the database as long as to insert them, so prepared are those of 1, 2, 4 … rows.
func together(rows, columns int, shared bool) (n int, once bool) {
	if shared {
		return min(1<<(bits.Len(uint(rows))-1), maxPreparedRows), false
	}
	return min(rows, maxRows, maxParameters/columns), rows > 1
}

// insert is the statement for n rows from one on.
func (w *rows) insert(tenant []byte, from, n int, once bool) stmt {
	of := w.of
	f := shape{rows: n, spare: slices.IndexFunc(of.spare, func(set []int) bool {
		return !slices.ContainsFunc(set, func(column int) bool { return !w.lacks(column, from, n) })
	})}
	kept := of.kept(f)
	s := stmt{once: once, values: make([][]byte, 0, 2+n*len(kept))}
	if s.values = append(s.values, tenant); of.same >= 0 {
		s.values = append(s.values, w.value(from, of.same))
	}
	for row := from; row < from+n; row++ {
		for _, column := range kept {
			if column != of.same {
				s.values = append(s.values, w.value(row, column))
			}
		}
	}
	if once {
		s.sql = of.text(f)
	} else {
		s.sql = of.prepared(f)
	}
	if observe != nil {
		for _, value := range s.values {
			s.args = append(s.args, wire(value))
		}
	}
	return s
}

// prepared is the text of a shape whose statement is prepared.
func (in *insertion) prepared(f shape) string {
	in.mu.RLock()
	sql, ok := in.texts[f]
	in.mu.RUnlock()
	if !ok {
		sql = in.text(f)
		in.mu.Lock()
		in.texts[f] = sql
		in.mu.Unlock()
	}
	return sql
}

// kept are the columns of a shape.
func (in *insertion) kept(f shape) (columns []int) {
	for column := range in.columns {
		if f.spare < 0 || !slices.Contains(in.spare[f.spare], column) {
			columns = append(columns, column)
		}
	}
	return columns
}

// text is the text of a shape.
func (in *insertion) text(f shape) string {
	kept := in.kept(f)
	var b strings.Builder
	b.WriteString("INSERT INTO loci." + in.table + " (tenant")
	for _, column := range kept {
		b.WriteString(", " + in.columns[column])
	}
	b.WriteString(") VALUES ")
	args := 1
	if in.same >= 0 {
		args++
	}
	for row := range f.rows {
		if row > 0 {
			b.WriteString(", ")
		}
		b.WriteString("($1")
		for _, column := range kept {
			n := 2
			if column != in.same {
				args++
				n = args
			}
			b.WriteString(", $" + strconv.Itoa(n))
		}
		b.WriteByte(')')
	}
	b.WriteString(in.then)
	return b.String()
}
