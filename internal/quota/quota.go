// Package quota says what a tenant holds and what it has used up.
package quota

import (
	"fmt"
	"time"
)

// Holding is what a tenant holds, as a quota counts it: every record, also those that are
// not live, and the bytes of its text, heading, attributes and body. Earlier states,
// vectors and events are not counted: the first follow from limits of their own.
type Holding struct {
	Records int64
	Bytes   int64
}

// Add takes in a record.
func (u *Holding) Add(text, data int64) { u.Records, u.Bytes = u.Records+1, u.Bytes+text+data }

// Remove takes a record off.
func (u *Holding) Remove(text, data int64) { u.Records, u.Bytes = u.Records-1, u.Bytes-text-data }

// An Error says which quota of a tenant is used up.
type Error struct {
	Of          string // records or bytes
	Limit, Used int64
}

// Error says which quota it is.
func (e *Error) Error() string {
	return fmt.Sprintf("the quota of %d %s is used up: %d", e.Limit, e.Of, e.Used)
}

// A TokensError says that a tenant has used its tokens of the day.
type TokensError struct {
	Limit, Used, Wanted int64
	In                  time.Duration // until the next day (UTC) begins
}

// Error says how much of the limit is used.
func (e *TokensError) Error() string {
	return fmt.Sprintf("the limit of %d tokens a day is used up: %d", e.Limit, e.Used)
}

// Tomorrow is how long it is until the next day (UTC) begins.
func Tomorrow(now time.Time) time.Duration {
	return now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
}
