package sqlite

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"strconv"
	"sync"
	"unsafe"

	"github.com/loci-memory/loci"
	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

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
		if !mayRange(attributes, key, least != 0, number, bound, text) {
			may = 0
		}
	}
	sqlite3.Xsqlite3_result_int(tls, call, may)
}

// mayRange reports whether a value of a quoted key may be in a range, with a bound that is a number or a text. It is sure
// of what it denies alone: the key is there once, not as JSON could write it otherwise, with a value of the bound's kind
// that is beyond it.
func mayRange(attributes, key []byte, least, number bool, bound float64, text []byte) bool {
	at := bytes.Index(attributes, key)
	if at < 0 {
		return bytes.IndexByte(attributes, '\\') >= 0
	}
	const space = " \t\r\n"
	rest, colon := bytes.CutPrefix(bytes.TrimLeft(attributes[at+len(key):], space), []byte(":"))
	if rest = bytes.TrimLeft(rest, space); !colon || len(rest) == 0 {
		return true
	}
	beyond := !number && beyondText(rest, least, text) || number && beyondNumber(rest, least, bound)
	return !beyond || bytes.Contains(attributes[at+len(key):], key) || bytes.IndexByte(attributes, '\\') >= 0
}

// beyondNumber reports whether the JSON of a value, with more behind it, is that of a number beyond a bound.
func beyondNumber(rest []byte, least bool, bound float64) bool {
	if rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
		return false
	}
	end := bytes.IndexAny(rest, ",}] \t\r\n")
	if end < 0 {
		return false
	}
	value, err := strconv.ParseFloat(string(rest[:end]), 64)
	return err == nil && (least && value < bound || !least && value > bound)
}

// beyondText is beyondNumber for a text.
func beyondText(rest []byte, least bool, bound []byte) bool {
	if rest[0] != '"' {
		return false
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 {
		return false
	}
	order := bytes.Compare(rest[1:1+end], bound)
	return least && order < 0 || !least && order > 0
}
