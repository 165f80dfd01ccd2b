package jsonform

import "time"

// layouts are the forms in which a time may come: as replies have it, or a day, or a time without
// its zone.
var layouts = []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05", "2006-01-02T15:04"}

// Moments is what a place takes that [ReadTime] reads.
const Moments = "a date such as 2026-01-31, or a time such as 2026-01-31T08:00:00Z"

// ReadTime reads a date or a time that somebody wrote; without a zone it is of UTC. ok is false if
// it is neither.
func ReadTime(text string) (t time.Time, ok bool) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
