//go:build race

package locitest

import (
	"flag"

	_ "pgregory.net/rapid" // whose flag is set
)

// Raced is set where the race detector makes everything some twenty times as slow.
const Raced = true

// Models are drawn less often than without the detector, which looks for something
// else: `make test` runs them at their full length without it.
func init() {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
}
