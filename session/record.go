package session

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loci-memory/loci"
)

// body is the part of a session that only its own files read.
type body struct {
	ID             string          `json:"id"`
	Metadata       json.RawMessage `json:"metadata,omitempty"`
	MaxMessages    int             `json:"max_messages,omitzero"`
	TimeoutSeconds int64           `json:"timeout_seconds,omitzero"`
	CreatedAt      time.Time       `json:"created_at"`
	Last           int64           `json:"last_seq"` // the number of the newest message ever
	Count          int64           `json:"message_count"`
	Summary        *Summary        `json:"summary,omitempty"`
	Source         loci.Source     `json:"source,omitzero"`

	// What a trim needs to know, so that it does not read the whole session. Before
	// Floor there are only system messages. Coherent: the call of each result of a
	// tool is there, before it, and has no other result.
	Floor    int64 `json:"floor,omitzero"`
	Coherent bool  `json:"coherent,omitzero"`
}

// The places of sessions inside a namespace: two, so that a list of sessions does not
// read past their messages.
const (
	placeSessions = "sessions"
	placeMessages = "messages"
)

// sessions is the namespace of the sessions' records, messages that of their messages.
func (s *Handle) sessions() loci.Namespace { return s.m.Namespace().Inner(placeSessions) }
func (s *Handle) messages() loci.Namespace { return s.m.Namespace().Inner(placeMessages) }

// checkSessionID refuses what names no session.
func checkSessionID(id string) error { return loci.CheckLabel("session_id", id) }

// checkNewSessionID also refuses what does not stay in an address: by the standard of URLs
// /v1/sessions/.. is /v1, and so is /v1/sessions/%2E%2E.
func checkNewSessionID(id string) error {
	if id == "." || id == ".." {
		return loci.Errorf(loci.Invalid, "session_id is %q, which does not stay in the address of a request: choose another", id)
	}
	return checkSessionID(id)
}

// messageSlots begins the slots of a session's messages: equally long for every id, and
// different for any two ids, as far as SHA-256 is.
func messageSlots(session string) string {
	sum := sha256.Sum256([]byte(session))
	return string(sum[:16])
}

// messageSlot is the slot of a message. Slots are in the order of the numbers.
func messageSlot(session string, seq int64) string {
	return string(binary.BigEndian.AppendUint64([]byte(messageSlots(session)), uint64(seq)))
}

// seqOf is the number of the message that holds a slot.
func seqOf(slot string) int64 { return int64(binary.BigEndian.Uint64([]byte(slot[len(slot)-8:]))) }

// span is the range of the slots of the messages from one number to before another; 0: the end.
func span(session string, from, before int64) loci.SlotRange {
	r := loci.SlotRange{From: messageSlot(session, max(1, from)), To: messageSlot(session, before)}
	if before == 0 {
		r.To = loci.SlotsBeginning(messageSlots(session)).To
	}
	return r
}

// within is the filter for messages of a session, by number.
func (s *Handle) within(session string, from, before int64) loci.Filter {
	return loci.Filter{
		Within: []loci.Namespace{s.messages()}, Exact: true,
		Kinds: []loci.Kind{KindMessage}, Slots: span(session, from, before), NotLive: true,
	}
}

// A state is a session as a write finds it and leaves it.
type state struct {
	record loci.Record
	body   body
	fresh  bool // it is not there yet
}

// find reads a session, or nil.
func (s *Handle) find(ctx context.Context, id string) (*state, error) {
	f := loci.Filter{
		Within: []loci.Namespace{s.sessions()}, Exact: true, Kinds: []loci.Kind{Kind}, Slot: &id, NotLive: true,
	}
	records, _, err := s.m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	st := &state{record: records[0]}
	st.body, err = readSession(&st.record)
	return st, err
}

// have is find, and NotFound if there is no session.
func (s *Handle) have(ctx context.Context, id string) (*state, error) {
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
	return &loci.Error{Code: loci.NotFound, Msg: "no session with id " + strings.ToValidUTF8(id, "\uFFFD"), Recovery: "List the sessions to get an id, or append to create one."}
}

func readSession(r *loci.Record) (body body, err error) {
	return body, loci.ReadBody(r, &body)
}

// draftSession checks a new session and makes its state.
func (s *Handle) draftSession(in New, now time.Time) (*state, error) {
	st := &state{fresh: true, body: body{ID: in.ID, MaxMessages: in.MaxMessages, TimeoutSeconds: in.TimeoutSeconds,
		CreatedAt: now, Source: s.m.View().Source}}
	err := checkSessionLimits(in.MaxMessages, in.TimeoutSeconds)
	if err != nil {
		return nil, err
	}
	if st.body.ID == "" {
		st.body.ID = uuid.UUID(s.m.NewID()).String()
	}
	if err := checkNewSessionID(st.body.ID); err != nil {
		return nil, err
	}
	if st.body.Metadata, err = cleanMetadata(s.m, in.Metadata); err != nil {
		return nil, err
	}
	st.body.Coherent = s.most(&st.body) > 0
	st.record = loci.Record{
		ID: s.m.NewID(), Kind: Kind, Namespace: s.sessions(), Slot: st.body.ID, Live: true, UpdatedAt: now,
	}
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
		return loci.Errorf(loci.Invalid, "max_messages is %d; it must be 0 to %d: 0 keeps as many as the configuration says", most, maxMaxMessages)
	case timeoutSeconds < 0 || timeoutSeconds > maxTimeoutSeconds:
		return loci.Errorf(loci.Invalid, "timeout_seconds is %d; it must be 0 to %d: 0 is as the configuration says", timeoutSeconds, maxTimeoutSeconds)
	}
	return nil
}

// cleanMetadata checks and redacts metadata.
func cleanMetadata(m *loci.Memory, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if err := loci.CheckJSON("metadata", raw); err != nil {
		return nil, err
	}
	v, err := loci.DecodeJSON(raw)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, loci.Errorf(loci.Invalid, "metadata must be a JSON object")
	}
	if len(raw) > MaxMetadata {
		return nil, loci.Errorf(loci.TooLarge, "metadata has %d bytes; the limit is %d: shorten it", len(raw), MaxMetadata)
	}
	return loci.MarshalJSON(loci.Redact(m, object))
}

// most is how many messages a session keeps; 0: all.
func (s *Handle) most(b *body) int64 {
	if b.MaxMessages > 0 {
		return int64(b.MaxMessages)
	}
	return int64(s.options().MaxMessages)
}

// put makes the change of a session's record. Its CreatedAt is the last activity, since
// records are listed by it and sessions by their activity; when it was created is in the
// body. An expired session leaves the live set by EndsAt. active: this change is an
// activity.
func (s *Handle) put(st *state, now time.Time, active bool) (loci.Put, error) {
	r := st.record
	r.Version++
	if active {
		r.UpdatedAt = later(r.UpdatedAt, now)
		r.EndsAt = s.options().end(&st.body, r.UpdatedAt)
	}
	r.CreatedAt = r.UpdatedAt
	if err := loci.SetBody(&r, st.body); err != nil {
		return loci.Put{}, err
	}
	st.record = r
	return loci.Put{Record: r, SameText: !st.fresh, Revisions: -1}, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// end is when a session expires, given its last activity; zero: never.
func (f Feature) end(b *body, activity time.Time) time.Time {
	timeout := f.Timeout
	if b.TimeoutSeconds > 0 {
		timeout = time.Duration(b.TimeoutSeconds) * time.Second
	}
	if timeout == 0 {
		return time.Time{}
	}
	return activity.Add(timeout).Truncate(time.Millisecond)
}

// ofRecord shows a record of kind session as it is at a moment.
func ofRecord(r *loci.Record, at time.Time) (Session, error) {
	b, err := readSession(r)
	if err != nil {
		return Session{}, err
	}
	out := Session{
		ID: b.ID, Namespace: r.Namespace.Owner(), Metadata: b.Metadata, MaxMessages: b.MaxMessages,
		TimeoutSeconds: b.TimeoutSeconds, Status: Active, CreatedAt: b.CreatedAt,
		UpdatedAt: r.UpdatedAt, Messages: b.Count, LastSeq: b.Last, Summary: b.Summary,
	}
	if r.Ended(at) {
		out.Status = Expired
	}
	return out, nil
}
