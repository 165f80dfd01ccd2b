// Package session keeps conversations: messages in the order they were appended, their
// search, summaries, limits and documents. Name [Feature] in loci.Options.Features.
package session

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Limits of sessions.
const (
	MaxID             = 256      // bytes of a session's id
	MaxMetadata       = 16 << 10 // bytes of a session's metadata as JSON
	MaxAppend         = 1000     // messages of one append
	MaxAppendBytes    = 64 << 20 // bytes of the messages of one append, as JSON
	MaxAppendParts    = 10_000   // blocks and calls of tools of the messages of one append, or of one change of an import
	MaxImportMessages = 100_000  // messages of one import
)

// A Status says whether a session goes on.
type Status string

// The statuses of a session.
const (
	Active  Status = "active"
	Expired Status = "expired" // inactive for longer than its timeout; the next message revives it
)

// A Session is a conversation: messages in the order they were appended, each with
// its number, consecutive from 1.
type Session struct {
	ID        string          `json:"id"`
	Namespace loci.Namespace  `json:"namespace"` // of the handle it belongs to
	Metadata  json.RawMessage `json:"metadata,omitempty"`

	// MaxMessages and TimeoutSeconds are the session's own; 0: those of [Feature].
	MaxMessages    int   `json:"max_messages,omitzero"`
	TimeoutSeconds int64 `json:"timeout_seconds,omitzero"`

	Status    Status    `json:"status"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"` // of the last activity: an append, or the creation
	Messages  int64     `json:"message_count"`
	LastSeq   int64     `json:"last_seq"` // of the newest message ever appended; 0: there was none
	Summary   *Summary  `json:"summary,omitempty"`
}

// A Handle reaches the conversations of a namespace, that of a [loci.Memory].
type Handle struct{ m *loci.Memory }

// Of returns the conversations of a handle's own namespace. Those of the
// namespaces below it, and of others it may read, are not among them.
func Of(m *loci.Memory) *Handle { return &Handle{m} }

// New is what [Handle.Create] makes.
type New struct {
	ID       string          `json:"id,omitempty"`       // 1 to 256 bytes; empty: a new UUID
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object of up to 16 KiB

	// MaxMessages is how many messages the session keeps, up to 1,000,000: see
	// [Handle.Trim]. 0: as [Feature].MaxMessages says.
	MaxMessages int `json:"max_messages,omitzero"`

	// TimeoutSeconds is the inactivity after which the session expires, up to ten years.
	// 0: as [Feature].Timeout says.
	TimeoutSeconds int64 `json:"timeout_seconds,omitzero"`
}

// Appended says what [Handle.Append] did.
type Appended struct {
	Session   string    `json:"session_id"`
	Created   bool      `json:"created"` // the session, by this append
	First     int64     `json:"first_seq"`
	Last      int64     `json:"last_seq"`
	CreatedAt time.Time `json:"created_at"` // of the messages
	Messages  int64     `json:"message_count"`
	Trimmed   int64     `json:"trimmed"` // messages erased, since the session keeps no more
}

// A Query selects sessions for [Handle.List].
type Query struct {
	Expired bool // also expired ones
}

// A HistoryQuery selects messages for [Handle.History].
type HistoryQuery struct {
	After  int64 // only messages with a greater number
	Before int64 // only messages with a smaller number; 0: no bound
	Last   int   // only the newest so many of them, 1 to 1000; 0: all

	Limit       int  // of one page, 1 to 1000; default 100. With Last: that
	NewestFirst bool // default: oldest first. The last ones come oldest first, too
}

// A History is a page of a session's messages.
type History struct {
	Session  string          `json:"session_id"`
	Messages []StoredMessage `json:"messages"`

	// More: others follow. To go on, ask for those after the last message, or before
	// it if the newest come first. With HistoryQuery.Last it says that they are less
	// than asked for, since a page holds about 32 MiB: ask for those before the first.
	More bool `json:"has_more"`
}

// Session reads one session, also an expired one. NotFound: there is none.
func (s *Handle) Session(ctx context.Context, id string) (Session, error) {
	st, err := s.have(ctx, id)
	if err != nil {
		return Session{}, err
	}
	return ofRecord(&st.record, s.m.Now())
}

// List lists sessions, the one with the latest activity first; only active ones
// unless the query says otherwise. next continues the list; "" is its end.
func (s *Handle) List(ctx context.Context, q Query, page loci.Page) (sessions []Session, next string, err error) {
	now := s.m.Now()
	f := loci.Filter{
		Within: []loci.Namespace{s.sessions()}, Exact: true, Kinds: []loci.Kind{Kind}, At: now, NotLive: q.Expired,
	}
	page.Order, page.Brief, page.MaxBytes = loci.NewestFirst, false, mostRead
	records, next, err := s.m.Records(ctx, f, page)
	if err != nil {
		return nil, "", err
	}
	sessions = make([]Session, len(records))
	for i := range records {
		if sessions[i], err = ofRecord(&records[i], now); err != nil {
			return nil, "", err
		}
	}
	return sessions, next, nil
}

// History reads messages of a session, also of an expired one, oldest first unless
// the query says otherwise. NotFound: there is no such session.
func (s *Handle) History(ctx context.Context, id string, q HistoryQuery) (History, error) {
	q.Limit = cmp.Or(q.Limit, 100)
	switch {
	case q.Last < 0 || q.Last > 1000:
		return History{}, loci.Errorf(loci.Invalid, "last is %d; it must be 0 to 1000: for more, read page by page", q.Last)
	case q.Limit < 1 || q.Limit > 1000:
		return History{}, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to 1000: for more, read page by page", q.Limit)
	case q.After < 0 || q.Before < 0:
		return History{}, loci.Errorf(loci.Invalid, "after and before must be at least 0")
	}
	if _, err := s.have(ctx, id); err != nil {
		return History{}, err
	}
	page := loci.Page{Limit: q.Limit, Order: loci.SlotAscending, NoText: true} // the body has the words
	if page.MaxBytes = mostRead; q.Last > 0 {
		page.Limit = q.Last
	}
	if q.Last > 0 || q.NewestFirst {
		page.Order = loci.SlotDescending
	}
	records, next, err := s.m.Records(ctx, s.within(id, q.After+1, q.Before), page)
	if err != nil {
		return History{}, err
	}
	out := History{Session: id, Messages: make([]StoredMessage, len(records))}
	out.More = next != "" && len(records) != q.Last
	for i := range records {
		if out.Messages[i], err = readMessage(&records[i]); err != nil {
			return History{}, err
		}
	}
	if q.Last > 0 && !q.NewestFirst {
		slices.Reverse(out.Messages)
	}
	return out, nil
}

// mostRead is how many bytes a page of messages or of sessions may hold, about: it ends early then, and says so. A search
// whose messages hold more is refused.
var mostRead = 32 << 20

// The kinds of records that conversations are made of.
const (
	Kind        loci.Kind = "session"
	KindMessage loci.Kind = "message"
)

// Feature makes an engine keep conversations, and holds their options.
type Feature struct {
	// MaxMessages is how many messages a session keeps unless it has a limit of its own,
	// up to 1,000,000; 0: all. A change applies to a session with its next message.
	MaxMessages int

	// Timeout is the inactivity after which a session expires unless it has a timeout of
	// its own, up to ten years; 0: never. A change applies to a session with its next
	// message.
	Timeout time.Duration
}

// Kinds are sessions and their messages; a session goes before its messages.
func (Feature) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{
		{Kind: Kind, Counted: true, Shown: string(Kind),
			Change: "Append to the session, trim or summarise it, or delete it."},
		{Kind: KindMessage, Counted: true, Shown: string(KindMessage), Part: true, Of: Kind, Whole: sessionOf,
			Change: "Append a message to its session, pop the newest one, or delete it."},
	}
}

// sessionOf selects the session of a message, which lies in the place beside it.
func sessionOf(message *loci.Record) (loci.Filter, error) {
	place := message.Namespace.Owner().Inner(placeSessions)
	return loci.Filter{Within: []loci.Namespace{place}, Exact: true, Slot: &message.Sequence}, nil
}

// PlaceOf returns where a session, or a message, lies that an export has in a namespace.
func (Feature) PlaceOf(kind loci.Kind, n loci.Namespace) (loci.Namespace, bool) {
	k, label := len(n)-1, placeSessions
	if kind == KindMessage {
		label = placeMessages
	}
	if k < 0 || n[k] != label {
		return n, false
	}
	return n[:k].Inner(label), true
}

// Family is that of the sessions of a namespace with their messages: trimming and
// clearing took messages along.
func (Feature) Family(e *loci.Event) (name string, part, ends bool) {
	if len(e.Mark) < loci.MarkBytes {
		return "", false, false
	}
	above := e.Mark[:len(e.Mark)-loci.MarkBytes] // they lie beside each other
	return "sessions " + string(above), e.Kind == KindMessage, e.Type == loci.EventErased || e.Type == loci.EventTrimmed
}

// Check refuses options out of range.
func (f Feature) Check() error {
	switch {
	case f.MaxMessages < 0 || f.MaxMessages > maxMaxMessages:
		return loci.Errorf(loci.Invalid, "session max messages is %d; it must be 0 to %d", f.MaxMessages, maxMaxMessages)
	case f.Timeout < 0 || f.Timeout > maxTimeoutSeconds*time.Second:
		return loci.Errorf(loci.Invalid, "session timeout is %v; it must be 0 to ten years", f.Timeout)
	}
	return nil
}

// options are those of the engine.
func (s *Handle) options() Feature {
	f, _ := loci.FeatureOf[Feature](s.m)
	return f
}
