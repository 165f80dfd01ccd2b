package sqlite

import (
	"database/sql/driver"
	"fmt"
	"sync"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/condition"
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
		if !condition.MayRange(attributes, key, least != 0, number, bound, text) {
			may = 0
		}
	}
	sqlite3.Xsqlite3_result_int(tls, call, may)
}
