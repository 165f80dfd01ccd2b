//go:build race

package sqlite

import (
	"flag"

	_ "pgregory.net/rapid" // whose flag must be there first
)

// Models are drawn less often than without the detector, which makes everything some
// twenty times as slow: `make test` runs them at their full length without it.
func init() {
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
}

// eraseSeeds is how many times a random file is erased from and scanned.
const eraseSeeds = 1

// Comparisons is how many random histories SQLite and the memory store both play.
const Comparisons = "4"

// diskRounds is how many times a small disk is filled and emptied.
const diskRounds = 2

// erasesInARow is how many erases one after the other wait for the wiping.
const erasesInARow = 40

// manyRecords are the records of a large change.
const manyRecords = 1500

// markSeeds and markSteps are how often a file is written to by several, and how many steps each time has.
const markSeeds, markSteps = 2, 60

// keptSteps is how many changes are made to a file whose records are kept.
const keptSteps = 120
