//go:build !race

package sqlite

// eraseSeeds is how many times a random file is erased from and scanned.
const eraseSeeds = 6

// Comparisons is how many random histories SQLite and the memory store both play.
const Comparisons = "10"

// diskRounds is how many times a small disk is filled and emptied.
const diskRounds = 4

// erasesInARow is how many erases one after the other wait for the wiping.
const erasesInARow = 200

// manyRecords are the records of a large change.
const manyRecords = 4000

// markSeeds and markSteps are how often a file is written to by several, and how many steps each time has.
const markSeeds, markSteps = 2, 60

// keptSteps is how many changes are made to a file whose records are kept.
const keptSteps = 600
