package sqlite

import (
	"database/sql/driver"
	"fmt"
	"sync"

	"github.com/loci-memory/loci"
	"modernc.org/sqlite"
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
