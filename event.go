package loci

import (
	"encoding/json"
	"time"
)

// An EventType says what happened to a record.
type EventType string

// The event types there are.
const (
	EventCreated    EventType = "created"
	EventUpdated    EventType = "updated"
	EventConfirmed  EventType = "confirmed"  // said again; nothing else changed
	EventSuperseded EventType = "superseded" // a newer fact took its place
	EventErased     EventType = "erased"
	EventImported   EventType = "imported"
	EventElevated   EventType = "elevated" // a principal of one tenant acted in another
)

// An Event is one line of the audit log. It holds ids, times, sizes and actors,
// never the text of a memory, so that an erase leaves the log intact.
type Event struct {
	ID        ID              `json:"id"`
	Seq       int64           `json:"seq"` // position in the tenant's log, set by the store
	Type      EventType       `json:"event_type"`
	Kind      Kind            `json:"entity_type"`
	Entity    ID              `json:"entity_id"`
	Namespace Namespace       `json:"namespace"`
	At        time.Time       `json:"occurred_at"`
	Actor     string          `json:"actor"`
	RequestID string          `json:"request_id,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// An EventFilter selects events; the zero value of a condition selects all,
// except Within, as with [Filter].
type EventFilter struct {
	Within []Namespace
	Entity ID
	Types  []EventType
	Since  time.Time // at or after
	Until  time.Time // before
}

// Selects reports whether the filter selects an event.
func (f *EventFilter) Selects(e *Event) bool {
	reach := Filter{Within: f.Within}
	if !reach.Covers(e.Namespace) || !f.Entity.IsZero() && f.Entity != e.Entity {
		return false
	}
	if !f.Since.IsZero() && e.At.Before(f.Since) || !f.Until.IsZero() && !e.At.Before(f.Until) {
		return false
	}
	for _, t := range f.Types {
		if t == e.Type {
			return true
		}
	}
	return len(f.Types) == 0
}
