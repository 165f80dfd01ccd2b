package loci

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loci-memory/loci/internal/jsonform"
)

// sessionBody is the part of a session that only its own files read.
type sessionBody struct {
	ID             string          `json:"id"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	MaxMessages    int             `json:"max_messages,omitzero"`
	TimeoutSeconds int64           `json:"timeout_seconds,omitzero"`
	CreatedAt      time.Time       `json:"created_at"`
	Last           int64           `json:"last_seq"` // the number of the newest message ever
	Count          int64           `json:"message_count"`
	Summary        *Summary        `json:"summary,omitempty"`
	Source         Source          `json:"source,omitzero"`

	// What a trim needs to know, so that it does not read the whole session. Before
	// Floor there are only system messages. Coherent: the call of each result of a
	// tool is there, before it, and has no other result.
	Floor    int64 `json:"floor,omitzero"`
	Coherent bool  `json:"coherent,omitzero"`
}

// sessions is the namespace of the sessions' records, messages that of their
// messages: two, so that a list of sessions does not pass by their messages.
func (s *Sessions) sessions() Namespace { return s.m.view.Namespace.inner(placeSessions) }
func (s *Sessions) messages() Namespace { return s.m.view.Namespace.inner(placeMessages) }

// checkSessionID refuses what names no session.
func checkSessionID(id string) error { return checkLabel("session_id", id) }

// messageSlots begins the slots of a session's messages: always as long, whatever
// the id, and different for any two ids, as far as SHA-256 is.
func messageSlots(session string) string {
	sum := sha256.Sum256([]byte(session))
	return string(sum[:16])
}

// messageSlot is the slot of a message. Slots are in the order of the numbers.
func messageSlot(session string, seq int64) string {
	return string(binary.BigEndian.AppendUint64([]byte(messageSlots(session)), uint64(seq)))
}

// span is the range of the slots of the messages from one number to before another; 0: the end.
func span(session string, from, before int64) SlotRange {
	r := SlotRange{From: messageSlot(session, max(1, from)), To: messageSlot(session, before)}
	if before == 0 {
		r.To = SlotsBeginning(messageSlots(session)).To
	}
	return r
}

// within is the filter for messages of a session, by number.
func (s *Sessions) within(session string, from, before int64) Filter {
	return Filter{Within: []Namespace{s.messages()}, Exact: true, Kinds: []Kind{KindMessage}, Slots: span(session, from, before), NotLive: true}
}

// A sessionState is a session as a write finds it, and leaves it.
type sessionState struct {
	record Record
	body   sessionBody
	fresh  bool // it is not there yet
}

// find reads a session; nil: there is none.
func (s *Sessions) find(ctx context.Context, id string) (*sessionState, error) {
	f := Filter{Within: []Namespace{s.sessions()}, Exact: true, Kinds: []Kind{KindSession}, Slot: &id, NotLive: true}
	records, _, err := s.m.engine.store.Records(ctx, s.m.view.Tenant, f, Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	st := &sessionState{record: records[0]}
	st.body, err = readSession(&st.record)
	return st, err
}

// have is find where there must be one.
func (s *Sessions) have(ctx context.Context, id string) (*sessionState, error) {
	if err := checkSessionID(id); err != nil {
		return nil, err
	}
	st, err := s.find(ctx, id)
	if err == nil && st == nil {
		err = noSession(id)
	}
	return st, err
}

func noSession(id string) error {
	return &Error{Code: NotFound, Msg: "no session with id " + strings.ToValidUTF8(id, "\uFFFD"), Recovery: "List the sessions to get an id, or append to create one."}
}

func readSession(r *Record) (body sessionBody, err error) {
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return body, &Error{Code: Internal, Op: "read session", Err: err}
	}
	return body, nil
}

// draftSession checks a new session and makes its state.
func (s *Sessions) draftSession(in NewSession, now time.Time) (*sessionState, error) {
	st := &sessionState{fresh: true, body: sessionBody{ID: in.ID, MaxMessages: in.MaxMessages, TimeoutSeconds: in.TimeoutSeconds,
		CreatedAt: now, Source: s.m.view.Source}}
	err := checkSessionLimits(in.MaxMessages, in.TimeoutSeconds)
	if err != nil {
		return nil, err
	}
	if st.body.ID == "" {
		st.body.ID = uuid.UUID(s.m.engine.opts.NewID()).String()
	}
	if err := checkSessionID(st.body.ID); err != nil {
		return nil, err
	}
	if st.body.Metadata, err = s.m.engine.sessionMetadata(in.Metadata); err != nil {
		return nil, err
	}
	st.body.Coherent = s.most(&st.body) > 0
	st.record = Record{ID: s.m.engine.opts.NewID(), Kind: KindSession, Namespace: s.sessions(), Slot: st.body.ID, Live: true, UpdatedAt: now}
	return st, nil
}

// The largest values of a session's own limits.
const (
	maxMaxMessages    = 1_000_000
	maxTimeoutSeconds = 10 * 366 * 24 * 60 * 60
)

func checkSessionLimits(most int, timeoutSeconds int64) error {
	switch {
	case most < 0 || most > maxMaxMessages:
		return Errorf(Invalid, "max_messages is %d; it must be 0 to %d: 0 keeps as many as the configuration says", most, maxMaxMessages)
	case timeoutSeconds < 0 || timeoutSeconds > maxTimeoutSeconds:
		return Errorf(Invalid, "timeout_seconds is %d; it must be 0 to %d: 0 is as the configuration says", timeoutSeconds, maxTimeoutSeconds)
	}
	return nil
}

// sessionMetadata checks and redacts metadata.
func (e *Engine) sessionMetadata(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if err := checkJSON("metadata", raw); err != nil {
		return nil, err
	}
	v, err := decodeJSON(raw)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, Errorf(Invalid, "metadata must be a JSON object")
	}
	if len(raw) > MaxSessionMetadata {
		return nil, Errorf(TooLarge, "metadata has %d bytes; the limit is %d: shorten it", len(raw), MaxSessionMetadata)
	}
	if object, err = e.redactJSON(object); err != nil {
		return nil, err
	}
	return encodeJSON(object)
}

// most is how many messages a session keeps; 0: all.
func (s *Sessions) most(b *sessionBody) int64 {
	if b.MaxMessages > 0 {
		return int64(b.MaxMessages)
	}
	return int64(s.m.engine.opts.SessionMaxMessages)
}

// put makes the change of a session's record. Its CreatedAt is the last activity,
// since records are listed by it and sessions by their activity; when it was
// created is in the body. What expires is out of the live set by EndsAt. active: this
// is one.
func (s *Sessions) put(st *sessionState, now time.Time, active bool) (Put, error) {
	r := st.record
	r.Version++
	if active {
		r.UpdatedAt = laterOf(r.UpdatedAt, now)
		r.EndsAt = s.m.engine.sessionEnd(&st.body, r.UpdatedAt)
	}
	r.CreatedAt = r.UpdatedAt
	body, err := jsonform.Marshal(st.body)
	if err != nil {
		return Put{}, &Error{Code: Internal, Op: "encode session", Err: err}
	}
	r.Body = body
	st.record = r
	return Put{Record: r, SameText: !st.fresh, Revisions: -1}, nil
}

// sessionEnd is when a session of a last activity is expired; zero: never.
func (e *Engine) sessionEnd(b *sessionBody, activity time.Time) time.Time {
	timeout := e.opts.SessionTimeout
	if b.TimeoutSeconds > 0 {
		timeout = time.Duration(b.TimeoutSeconds) * time.Second
	}
	if timeout == 0 {
		return time.Time{}
	}
	return activity.Add(timeout).Truncate(time.Millisecond)
}

// sessionOf shows a record of kind session as it is at a moment.
func sessionOf(r *Record, at time.Time) (Session, error) {
	b, err := readSession(r)
	if err != nil {
		return Session{}, err
	}
	out := Session{ID: b.ID, Namespace: r.Namespace.Owner(), Metadata: b.Metadata, MaxMessages: b.MaxMessages, TimeoutSeconds: b.TimeoutSeconds,
		Status: SessionActive, CreatedAt: b.CreatedAt, UpdatedAt: r.UpdatedAt, Messages: b.Count, LastSeq: b.Last, Summary: b.Summary}
	if r.Ended(at) {
		out.Status = SessionExpired
	}
	return out, nil
}

// SessionOf decodes a record of kind session, as it is at a moment.
func SessionOf(r *Record, at time.Time) (Session, error) { return sessionOf(r, at) }

// MessageOf decodes a record of kind message.
func MessageOf(r *Record) (StoredMessage, error) { return readMessage(r) }
