package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/condition"
	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// takeFunction gives rows to a taker of ours where SQLite has them. It is an aggregate: to step out of
// SQLite with each row costs more than to read it. The driver's own way to add a function makes a value of
// each column, which costs as much as the row, so this one speaks to SQLite itself.
const takeFunction = "loci_take"

// A taker takes the rows of one query, each with the columns behind the taker's number.
type taker interface {
	// take takes a row, which is SQLite's again when it returns. false ends the query, with an error of
	// SQLite: the taker knows why.
	take(row lentRow) bool

	// why is the error for which the last row was not taken.
	why() error
}

// A guarded taker lets no panic through SQLite, whose locks would stay taken.
type guarded struct {
	taker
	panicked any // nil: it has not
}

func (g *guarded) take(row lentRow) (more bool) {
	defer func() {
		if p := recover(); p != nil {
			g.panicked, more = p, false
		}
	}()
	return g.taker.take(row)
}

// errFull is that of a taker that wants no more rows.
var errFull = errors.New("the page is full")

// taken gives the rows of a query to a taker, whose number is the first argument.
func (f *file) taken(ctx context.Context, t taker, query func(number int64) (string, []any)) error {
	err := lendTo(t, func(number int64) error {
		text, args := query(number)
		return f.readRows(ctx, text, args, func(*sql.Rows) (bool, error) { return false, nil })
	})
	if errors.Is(err, errFull) {
		return nil // SQLite ended the query with an error
	}
	return err
}

// lendTo runs a query whose rows a taker gets, by the number that ask is called with.
func lendTo(t taker, ask func(number int64) error) error {
	g := &guarded{taker: t}
	number := takers.enter(g)
	defer takers.leave(number)
	err := ask(number)
	if g.panicked != nil {
		panic(g.panicked)
	}
	if why := t.why(); why != nil {
		return why
	}
	return err
}

// A lentRow is the columns of a row as SQLite has them.
type lentRow struct {
	tls    *libc.TLS
	values []uintptr
}

// integer is a column that holds a whole number; false: it holds something else, or nothing.
func (r lentRow) integer(column int) (n int64, ok bool) {
	v := r.values[column]
	if sqlite3.Xsqlite3_value_type(r.tls, v) != sqlite3.SQLITE_INTEGER {
		return 0, false
	}
	return sqlite3.Xsqlite3_value_int64(r.tls, v), true
}

// number is a column that holds a number; false as for integer.
func (r lentRow) number(column int) (x float64, ok bool) {
	v := r.values[column]
	switch sqlite3.Xsqlite3_value_type(r.tls, v) {
	case sqlite3.SQLITE_FLOAT, sqlite3.SQLITE_INTEGER:
		return sqlite3.Xsqlite3_value_double(r.tls, v), true
	}
	return 0, false
}

// null reports whether a column holds nothing.
func (r lentRow) null(column int) bool {
	return sqlite3.Xsqlite3_value_type(r.tls, r.values[column]) == sqlite3.SQLITE_NULL
}

// bytes are those of a column that holds a text or bytes; false: it holds something else, or nothing. They
// are SQLite's: whoever keeps them copies them.
func (r lentRow) bytes(column int) (b []byte, ok bool) {
	v := r.values[column]
	switch sqlite3.Xsqlite3_value_type(r.tls, v) {
	case sqlite3.SQLITE_BLOB, sqlite3.SQLITE_TEXT:
	default:
		return nil, false
	}
	// Asked as bytes, a text is not copied for a zero byte behind it.
	at, size := sqlite3.Xsqlite3_value_blob(r.tls, v), sqlite3.Xsqlite3_value_bytes(r.tls, v)
	if at == 0 { // it is empty
		return nil, true
	}
	return unsafe.Slice((*byte)(foreign(at)), size), true
}

// foreign is an address outside of Go's memory.
func foreign(at uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&at)) }

// takers are those whose queries run. A query names its own by a number.
var takers numbered[taker]

// numbered are what SQLite's calls name by a number, since it cannot hold what is Go's.
type numbered[T comparable] struct {
	sync.Mutex
	at atomic.Pointer[[]T] // the zero value where a number is free; whoever changes it makes another one
}

// enter gives something the least number that is free.
func (o *numbered[T]) enter(t T) (number int64) {
	o.Lock()
	defer o.Unlock()
	var now []T
	if before := o.at.Load(); before != nil {
		now = append(now, *before...)
	}
	var none T
	for number < int64(len(now)) && now[number] != none {
		number++
	}
	if number == int64(len(now)) {
		now = append(now, t)
	}
	now[number] = t
	o.at.Store(&now)
	return number
}

// find is what has a number; the zero value: nothing.
func (o *numbered[T]) find(number int64) (t T) {
	if now := o.at.Load(); now != nil && number >= 0 && number < int64(len(*now)) {
		t = (*now)[number]
	}
	return t
}

func (o *numbered[T]) leave(number int64) {
	var none T
	o.Lock()
	defer o.Unlock()
	now := append([]T(nil), *o.at.Load()...)
	now[number] = none
	o.at.Store(&now)
}

// registerTaker makes takeFunction and what watches known to all connections opened from then on.
func registerTaker() int32 {
	tls := libc.NewTLS()
	defer tls.Close()
	return sqlite3.Xsqlite3_auto_extension(tls, address(func(tls *libc.TLS, db, _, _ uintptr) int32 {
		code := addFunction(tls, db, takeFunction, -1, 0, address(takeStep), address(takeFinal))
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, placeFunction, 2, address(placeStep), 0, 0)
		}
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, watchFunction, 1, address(watchStep), 0, 0)
		}
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, handleFunction, 0, address(handleStep), 0, 0)
		}
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, regionFunction, 1, address(regionStep), 0, 0)
		}
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, unwipedFunction, 2, address(unwipedStep), 0, 0)
		}
		if code == sqlite3.SQLITE_OK {
			code = addFunction(tls, db, rangedFunction, 4, address(rangedStep), 0, 0)
		}
		return code
	}))
}

// addFunction adds a function of so many arguments to a connection.
func addFunction(tls *libc.TLS, db uintptr, name string, arguments int32, function, step, final uintptr) int32 {
	text, err := libc.CString(name)
	if err != nil {
		return sqlite3.SQLITE_NOMEM
	}
	defer libc.Xfree(tls, text)
	return sqlite3.Xsqlite3_create_function_v2(tls, db, text, arguments,
		sqlite3.SQLITE_UTF8|sqlite3.SQLITE_DIRECTONLY, 0,
		function, step, final, 0)
}

// address is what SQLite calls a function by. It must be one that captures nothing: that is there as long as
// the process, and nobody but Go's own tables refers to it.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

// takeStep is called by SQLite with each row. Connections of others in the process know the function, too: what
// names no taker is an error.
func takeStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	if t := takerOf(row); t == nil || !t.take(lentRow{tls, row.values[1:]}) {
		sqlite3.Xsqlite3_result_error_code(tls, call, sqlite3.SQLITE_ABORT)
	}
}

// takerOf is the taker that a row names in its first column; nil: it names none.
func takerOf(row lentRow) taker {
	if len(row.values) == 0 {
		return nil
	}
	number, ok := row.integer(0)
	if !ok {
		return nil
	}
	return takers.find(number)
}

// placeFunction tells the taker of a number the number of the place whose rows come, which it returns.
const placeFunction = "loci_place"

// A placed taker sees by the rows which of them are of its place.
type placed interface{ placed(number int64) }

// placeStep is called by SQLite for placeFunction.
func placeStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	g, _ := takerOf(row).(*guarded)
	number, known := row.integer(1)
	if g != nil && known {
		if p, ok := g.taker.(placed); ok {
			p.placed(number)
			sqlite3.Xsqlite3_result_int64(tls, call, number)
			return
		}
	}
	sqlite3.Xsqlite3_result_error_code(tls, call, sqlite3.SQLITE_ABORT)
}

func takeFinal(*libc.TLS, uintptr) {}

// confidenceFunction computes an effective confidence from a confidence, a decay
// rate a day and the milliseconds since. It is the engine's own function, so that
// SQL and Go agree in the last bit.
const confidenceFunction = "loci_confidence"

// registerFunctions makes our functions known to the driver, for all connections
// opened from then on.
var registerFunctions = sync.OnceValue(func() error {
	if code := registerTaker(); code != 0 {
		return fmt.Errorf("SQLite does not take our functions: %d", code)
	}
	return sqlite.RegisterDeterministicScalarFunction(confidenceFunction, 3,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			confidence, okConfidence := args[0].(float64)
			rate, okRate := args[1].(float64)
			ms, okMs := args[2].(int64)
			if !okConfidence || !okRate || !okMs {
				return nil, fmt.Errorf("%s wants a number, a number and an integer", confidenceFunction)
			}
			return loci.EffectiveConfidence(confidence, rate, ms), nil
		})
})

// rangedFunction reports whether attributes may have a value of a key that is at least, or at most, a bound: 0 leaves
// a row out that cannot be selected. Its arguments are the attributes, the key in quotation marks, whether the bound is
// the least, and the bound. SQLite would read all of the JSON for that, two times.
const rangedFunction = "loci_ranged"

// rangedStep is called by SQLite for rangedFunction.
func rangedStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	attributes, known := row.bytes(0)
	key, named := row.bytes(1)
	least, _ := row.integer(2)
	may := int32(1)
	if known && named {
		text, _ := row.bytes(3)
		bound, number := row.number(3)
		if !condition.MayRange(attributes, key, least != 0, number, bound, text) {
			may = 0
		}
	}
	sqlite3.Xsqlite3_result_int(tls, call, may)
}
