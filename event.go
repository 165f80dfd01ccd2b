package loci

import (
	"encoding/json"
	"fmt"
	"slices"
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
	EventRefused    EventType = "refused"  // a caller was refused what it may not do

	EventFaded     EventType = "faded"     // confidence fell below 0.2
	EventExpired   EventType = "expired"   // confidence fell below 0.05, or an episode's time ran out
	EventRetracted EventType = "retracted" // a fact was forgotten
	EventForgotten EventType = "forgotten" // a rule or an episode was forgotten
	EventRestored  EventType = "restored"  // what was forgotten is back
	EventLinked    EventType = "linked"    // a link from the record to another was made

	EventHelpful  EventType = "marked_helpful"
	EventHarmful  EventType = "marked_harmful"
	EventPromoted EventType = "promoted" // a rule rose in maturity
	EventDemoted  EventType = "demoted"  // a rule fell in maturity
	EventInverted EventType = "inverted" // a rule became a warning against itself

	EventAppended EventType = "appended" // messages were added to a session
	EventTrimmed  EventType = "trimmed"  // the oldest messages of a session were erased

	EventConsolidated EventType = "consolidated"  // an episode was digested
	EventFailed       EventType = "failed"        // an attempt to digest an episode failed
	EventDeadLettered EventType = "dead_lettered" // no attempt will follow
	EventClaimed      EventType = "claimed"       // an attempt to digest an episode began
	EventReleased     EventType = "released"      // the attempt ended before it was one

	EventReserved EventType = "tokens_reserved" // for a call of a language model; see [Engine.Consolidate]
	EventSpent    EventType = "tokens_spent"    // what the call took
)

// EventTypes lists every type.
var EventTypes = []EventType{
	EventCreated, EventUpdated, EventConfirmed, EventSuperseded, EventErased, EventImported, EventElevated,
	EventRefused, EventFaded, EventExpired, EventRetracted, EventForgotten, EventRestored, EventLinked, EventHelpful,
	EventHarmful, EventPromoted, EventDemoted, EventInverted, EventAppended, EventTrimmed, EventConsolidated,
	EventFailed, EventDeadLettered, EventClaimed, EventReleased, EventReserved, EventSpent,
}

// An Event is one line of the audit log. It holds ids, times, sizes and actors, never the text of a memory. An erase
// takes the payloads of earlier events about the record; the lines themselves stay, and with them the chain.
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

	// Of the chain; see [Event.Seal].
	Nonce  []byte `json:"payload_nonce,omitempty"` // random; goes with the payload
	Digest Hash   `json:"payload_digest,omitzero"` // of nonce and payload; stays
	Hash   Hash   `json:"hash,omitzero"`           // of this event and the hash before; zero: older than the chain

	Mark    Mark `json:"-"` // of the namespace, set by the store; stays
	Unnamed bool `json:"-"` // the namespace holds no record and its name is gone; see [NameKey.Shown]
	Former  Hash `json:"-"` // the hash of an event from before namespaces had marks; else zero
}

// Quiet returns the records that the change erases and that no erased event of its own names.
func (c *Change) Quiet() (quiet []ID) {
	if len(c.Erase) == 0 {
		return nil
	}
	told := make(map[ID]bool, len(c.Events))
	for i := range c.Events {
		if c.Events[i].Type == EventErased {
			told[c.Events[i].Entity] = true
		}
	}
	for _, e := range c.Erase {
		if !told[e.ID] {
			quiet = append(quiet, e.ID)
		}
	}
	return quiet
}

// An UntoldError is the cause of the Conflict with which a store refuses a change that would take the details of events
// about a record and leave no event that says why: afterwards nobody could tell the erase from a change of the log. The
// engine adds the events and applies the change again.
type UntoldError struct{ IDs []ID }

// Error says how many records it is about.
func (u *UntoldError) Error() string {
	return fmt.Sprintf("the log tells of %d records that the change erases without an event", len(u.IDs))
}

// RefuseUntold is the error for a change with these untold erases, or nil for none.
func RefuseUntold(ids []ID) error {
	if len(ids) == 0 {
		return nil
	}
	u := &UntoldError{ids}
	return &Error{Code: Conflict, Op: "apply", Msg: u.Error(), Err: u}
}

// An EventFilter selects events; the zero value of a condition selects all, except Within, as with [Filter].
type EventFilter struct {
	Within []Namespace
	Entity ID
	Types  []EventType
	Since  time.Time // at or after
	Until  time.Time // before
}

// About returns the entity that all the events are about, by which a store finds them without a look at others; one is
// false if there may be several. What budgets are charged for is about none: the zero ID.
func (f *EventFilter) About() (entity ID, one bool) {
	other := func(t EventType) bool { return t != EventReserved && t != EventSpent }
	ofNone := len(f.Types) > 0 && !slices.ContainsFunc(f.Types, other)
	return f.Entity, ofNone || !f.Entity.IsZero()
}

// Selects reports whether the filter selects an event.
func (f *EventFilter) Selects(e *Event) bool {
	reach := Filter{Within: f.Within}
	if entity, one := f.About(); !reach.Covers(e.Namespace) || one && entity != e.Entity {
		return false
	}
	if !f.Since.IsZero() && e.At.Before(f.Since) || !f.Until.IsZero() && !e.At.Before(f.Until) {
		return false
	}
	return len(f.Types) == 0 || slices.Contains(f.Types, e.Type)
}
