//go:build !race

package sqlite

// eraseSeeds is how many times a random file is erased from and scanned.
const eraseSeeds = 12

// Comparisons is how many random histories SQLite and the memory store both play.
const Comparisons = "20"
