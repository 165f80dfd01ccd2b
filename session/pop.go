package session

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
)

// removeAll is the id by which LangGraph removes every message before it.
const removeAll = "__remove_all__"

// Popped says what [Handle.Pop] took.
type Popped struct {
	Session  string         `json:"session_id"`
	Message  *StoredMessage `json:"message"`       // nil: there was none
	Messages int64          `json:"message_count"` // that are left
}

// Pop takes the newest message out of a session and returns it, in one change: several
// callers at once each get another one. It ignores messages of the type remove, and those
// that they name. The number of a message that was taken is never used again. A summary
// that covers the message goes with it.
//
// The message is erased. With an idempotency key the reply holds it, for a caller whose
// answer was lost, and stays as long as any reply. NotFound: there is no such session.
func (s *Handle) Pop(ctx context.Context, id string) (Popped, error) {
	if err := checkSessionID(id); err != nil {
		return Popped{}, err
	}
	unlock, err := s.lock(ctx, id)
	if err != nil {
		return Popped{}, err
	}
	defer unlock()
	request := map[string]any{"session_id": id}
	return loci.Commit(ctx, s.m, "pop message", request, func(now time.Time) (d loci.Decision[Popped], err error) {
		st, err := s.have(ctx, id)
		if err != nil {
			return d, err
		}
		d.Record = st.record.ID
		newest, m, err := s.newest(ctx, id)
		d.Reply = Popped{Session: id, Message: m, Messages: st.body.Count}
		if err != nil || m == nil {
			return d, err
		}
		d.Change, err = s.eraseMessage(ctx, st, newest, now)
		d.Reply.Messages = st.body.Count
		return d, err
	})
}

// newest reads the newest message that no later one removes, or nil.
func (s *Handle) newest(ctx context.Context, id string) (*loci.Record, *StoredMessage, error) {
	removed := map[string]bool{}
	page := loci.Page{Limit: 10, Order: loci.SlotDescending, NoText: true} // it is nearly always the first
	for {
		records, next, err := s.m.Records(ctx, s.within(id, 1, 0), page)
		if err != nil {
			return nil, nil, err
		}
		for i := range records {
			m, err := readMessage(&records[i])
			if err != nil {
				return nil, nil, err
			}
			named, _ := m.data().text("", "id", false)
			switch {
			case m.Type.base() == MessageRemove && named == removeAll:
				return nil, nil, nil
			case m.Type.base() == MessageRemove:
				removed[named] = true
			case named == "" || !removed[named]:
				return &records[i], &m, nil
			}
		}
		if next == "" {
			return nil, nil, nil
		}
		page.Cursor, page.Limit = next, 1000
	}
}

// eraseMessage is the change that erases one message of a session. A summary that
// covers it goes with it.
func (s *Handle) eraseMessage(ctx context.Context, st *state, r *loci.Record, now time.Time) (loci.Change, error) {
	st.body.Count--
	st.body.Coherent = false // it may have been a call
	if st.body.Summary != nil && st.body.Summary.Through >= r.Position {
		st.body.Summary = nil
	}
	c, err := s.eraseMessages(ctx, st, []header{{id: r.ID, version: r.Version, seq: r.Position}}, now)
	c.Events = append(c.Events, s.m.Event(loci.EventErased, r, now, nil))
	return c, err
}
