//go:build race

package loci_test

import "flag"

// raced is set where the race detector makes everything some twenty times as slow.
const raced = true

// Models are drawn less often than without the detector, which looks for something
// else: `make test` runs them at their full length without it.
func init() {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
}
