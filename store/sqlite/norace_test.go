//go:build !race

package sqlite

// eraseSeeds is how many times a random file is erased from and scanned.
const eraseSeeds = 12
