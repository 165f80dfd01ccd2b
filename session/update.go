package session

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/loci-memory/loci"
)

// A Change is what [Handle.Update] changes; a nil field stays as it is.
type Change struct {
	// Metadata is a JSON object of up to 16 KiB in place of the old one; null removes it.
	Metadata *json.RawMessage `json:"metadata,omitempty"`

	MaxMessages    *int   `json:"max_messages,omitempty"`    // see [New]; the next append trims
	TimeoutSeconds *int64 `json:"timeout_seconds,omitempty"` // see [New]; it counts from the last activity
}

// Update changes what a session is kept with. An update is no activity: the session keeps
// its place in the list, and a shorter timeout may expire it at once. Invalid: there is
// no change. NotFound: there is no such session.
func (s *Handle) Update(ctx context.Context, id string, in Change) (Session, error) {
	if in.Metadata == nil && in.MaxMessages == nil && in.TimeoutSeconds == nil {
		return Session{}, loci.Errorf(loci.Invalid, "there is nothing to change: give metadata, max_messages or timeout_seconds")
	}
	if err := s.apply(&body{}, in); err != nil { // before anything is read
		return Session{}, err
	}
	request := map[string]any{"session_id": id, "change": in}
	return loci.Commit(ctx, s.m, "update session", request, func(now time.Time) (d loci.Decision[Session], err error) {
		st, err := s.have(ctx, id)
		if err != nil {
			return d, err
		}
		before := st.body
		if err := s.apply(&st.body, in); err != nil {
			return d, err
		}
		d.Record = st.record.ID
		same := before.MaxMessages == st.body.MaxMessages && before.TimeoutSeconds == st.body.TimeoutSeconds &&
			bytes.Equal(before.Metadata, st.body.Metadata)
		if !same {
			if in.TimeoutSeconds != nil {
				st.record.EndsAt = s.options().end(&st.body, st.record.UpdatedAt)
			}
			if d.Change, err = s.change(ctx, st, now, loci.EventUpdated, nil); err != nil {
				return d, err
			}
		}
		d.Reply, err = ofRecord(&st.record, now)
		return d, err
	})
}

// apply checks a change and makes it.
func (s *Handle) apply(b *body, in Change) (err error) {
	if in.MaxMessages != nil {
		b.MaxMessages = *in.MaxMessages
	}
	if in.TimeoutSeconds != nil {
		b.TimeoutSeconds = *in.TimeoutSeconds
	}
	if in.Metadata != nil {
		if b.Metadata, err = cleanMetadata(s.m, *in.Metadata); err != nil {
			return err
		}
	}
	return checkSessionLimits(b.MaxMessages, b.TimeoutSeconds)
}
