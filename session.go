package loci

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// Limits of sessions.
const (
	MaxSessionID       = 256      // bytes of a session's id
	MaxSessionMetadata = 16 << 10 // bytes of a session's metadata as JSON
	MaxAppend          = 1000     // messages of one append
	MaxAppendBytes     = 64 << 20 // bytes of the messages of one append, as JSON
	MaxImportMessages  = 100_000  // messages of one import
)

// A SessionStatus says whether a session goes on.
type SessionStatus string

// The statuses of a session.
const (
	SessionActive  SessionStatus = "active"
	SessionExpired SessionStatus = "expired" // inactive for longer than its timeout; the next message revives it
)

// A Session is a conversation: messages in the order they were appended, each with
// its number, consecutive from 1.
type Session struct {
	ID        string          `json:"id"`
	Namespace Namespace       `json:"namespace"` // of the handle it belongs to
	Metadata  json.RawMessage `json:"metadata,omitempty"`

	// MaxMessages and TimeoutSeconds are the session's own; 0: those of [Options].
	MaxMessages    int   `json:"max_messages,omitzero"`
	TimeoutSeconds int64 `json:"timeout_seconds,omitzero"`

	Status    SessionStatus `json:"status"`
	CreatedAt time.Time     `json:"created_at"`
	UpdatedAt time.Time     `json:"updated_at"` // of the last activity: an append, or the creation
	Messages  int64         `json:"message_count"`
	LastSeq   int64         `json:"last_seq"` // of the newest message ever appended; 0: there was none
	Summary   *Summary      `json:"summary,omitempty"`
}

// Sessions are the conversations of a handle's namespace.
type Sessions struct{ m *Memory }

// Sessions returns the conversations of the handle's own namespace. Those of the
// namespaces below it, and of others it may read, are not among them.
func (m *Memory) Sessions() *Sessions { return &Sessions{m} }

// A NewSession is what [Sessions.Create] makes.
type NewSession struct {
	ID       string          `json:"id,omitempty"`       // 1 to 256 bytes; empty: a new UUID
	Metadata json.RawMessage `json:"metadata,omitempty"` // a JSON object of up to 16 KiB

	// MaxMessages is how many messages the session keeps, up to 1,000,000: see
	// [Sessions.Trim]. 0: as [Options].SessionMaxMessages says.
	MaxMessages int `json:"max_messages,omitzero"`

	// TimeoutSeconds is after how much inactivity the session is expired, up to ten
	// years. 0: as [Options].SessionTimeout says.
	TimeoutSeconds int64 `json:"timeout_seconds,omitzero"`
}

// Appended says what [Sessions.Append] did.
type Appended struct {
	Session   string    `json:"session_id"`
	Created   bool      `json:"created"` // the session, by this append
	First     int64     `json:"first_seq"`
	Last      int64     `json:"last_seq"`
	CreatedAt time.Time `json:"created_at"` // of the messages
	Messages  int64     `json:"message_count"`
	Trimmed   int64     `json:"trimmed"` // messages erased, since the session keeps no more
}

// A SessionQuery selects sessions for [Sessions.List].
type SessionQuery struct {
	Expired bool // also expired ones
}

// A HistoryQuery selects messages for [Sessions.History].
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
	// it if the newest come first. Never with HistoryQuery.Last.
	More bool `json:"has_more"`
}

// Cleared counts what was erased.
type Cleared struct {
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
}

// Trimmed says what [Sessions.Trim] did.
type Trimmed struct {
	Erased   int64 `json:"erased"`
	Messages int64 `json:"message_count"` // that are left
}

// An ImportMode says what an import does with a session that is there.
type ImportMode string

// The modes of an import.
const (
	ImportNew     ImportMode = "new"     // there must be none of the id
	ImportAppend  ImportMode = "append"  // the messages follow those that are there, or begin a new session
	ImportReplace ImportMode = "replace" // the session and its messages give way, if there is one
)

// A SessionImport says how [Sessions.Import] stores a session.
type SessionImport struct {
	ID   string     // of the session; empty: the one in the document
	Mode ImportMode // default ImportNew
}

// ImportedSession says what [Sessions.Import] did.
type ImportedSession struct {
	Session  string `json:"session_id"`
	Imported int64  `json:"imported"` // messages
	Replaced int64  `json:"replaced"` // messages that gave way
	Trimmed  int64  `json:"trimmed"`  // messages erased, since the session keeps no more
}

// A SessionSearch is what [Sessions.Search] looks for.
type SessionSearch struct {
	Text    string // in words; see [Query].Text. It must not be empty
	Session string // in this session; empty: in all of the handle's
	Mode    Mode   // default Hybrid
	Limit   int    // 1 to 1000; default 10
	Offset  int    // 0 to 10000
}

// A SessionHit is a message that a search found.
type SessionHit struct {
	Session   string      `json:"session_id"`
	Seq       int64       `json:"seq"`
	Type      MessageType `json:"type"`
	Speaker   string      `json:"speaker"` // the name in the message, else user, assistant, system, tool …
	CreatedAt time.Time   `json:"created_at"`
	Passage   string      `json:"passage"` // the part of the text that fits best
	Score     float64     `json:"score"`   // 0 to 1, comparable within one result
	Explain   Explain     `json:"explain"`
}

// SessionHits are what a search found, best first.
type SessionHits struct {
	Hits        []SessionHit `json:"results"`
	KeywordOnly bool         `json:"keyword_only"` // see [Result]
}

// A Summary stands for the older messages of a session where a model has no room for
// them. The messages stay.
type Summary struct {
	Text      string    `json:"text"`
	Through   int64     `json:"through_seq"`   // it covers the messages up to this one
	Messages  int64     `json:"message_count"` // that it covers
	Epoch     int64     `json:"epoch"`         // grows with each summary of the session
	By        string    `json:"by"`            // the model that wrote it, or "extractive"
	CreatedAt time.Time `json:"created_at"`
}

var errNotBuilt = Errorf(Unsupported, "this call of sessions is not built yet")

// Create makes a session without messages. Conflict: there is one with the id.
func (s *Sessions) Create(ctx context.Context, in NewSession) (Session, error) {
	return Session{}, errNotBuilt
}

// Append adds messages to the end of a session, all of them or none, in their
// order and with consecutive numbers. A session that is not there is created; id ""
// makes a new one with a UUID. An expired session is active again. A session that
// keeps only so many messages is trimmed by the same change: see [Sessions.Trim].
//
// Up to 1000 messages of up to 1 MiB. Credentials in them are taken out as in any
// memory. An embedder that is slow or down does not hold it up: the messages are
// found by their words at once, and by meaning once [Engine.Backfill] has run.
func (s *Sessions) Append(ctx context.Context, id string, messages []Message) (Appended, error) {
	return Appended{}, errNotBuilt
}

// Session reads one session, also an expired one. NotFound: there is none.
func (s *Sessions) Session(ctx context.Context, id string) (Session, error) {
	return Session{}, errNotBuilt
}

// List lists sessions, the one with the latest activity first; only active ones
// unless the query says otherwise. next continues the list; "" is its end.
func (s *Sessions) List(ctx context.Context, q SessionQuery, page Page) (sessions []Session, next string, err error) {
	return nil, "", errNotBuilt
}

// History reads messages of a session, also of an expired one, oldest first unless
// the query says otherwise. NotFound: there is no such session.
func (s *Sessions) History(ctx context.Context, id string, q HistoryQuery) (History, error) {
	return History{}, errNotBuilt
}

// Clear erases a session and its messages. NotFound: there is none.
func (s *Sessions) Clear(ctx context.Context, id string) (Cleared, error) {
	return Cleared{}, errNotBuilt
}

// ClearAll erases the handle's sessions, expired ones too, one after the other.
// Stopped half way, it has erased some of them and says how many.
func (s *Sessions) ClearAll(ctx context.Context) (Cleared, error) {
	return Cleared{}, errNotBuilt
}

// Trim erases the oldest messages of a session until no more than most are left.
// System messages stay, whatever their age, and count. What is kept never begins
// with the result of a tool call, and holds no result whose call is gone; so it may
// be less than most. NotFound: there is no such session.
func (s *Sessions) Trim(ctx context.Context, id string, most int) (Trimmed, error) {
	return Trimmed{}, errNotBuilt
}

// Export writes a session with all of its messages as one JSON document, of the
// format "loci.session".
func (s *Sessions) Export(ctx context.Context, id string, w io.Writer) error {
	return errNotBuilt
}

// Import reads what [Sessions.Export] wrote. The whole document is checked before
// anything is stored, and a fault is named with its message and field. Numbers and
// times are kept, but where the messages follow others, which gives them new numbers.
// Conflict: mode ImportNew, and there is a session of the id.
func (s *Sessions) Import(ctx context.Context, r io.Reader, opts SessionImport) (ImportedSession, error) {
	return ImportedSession{}, errNotBuilt
}

// Search finds messages by meaning and by words, as [Memory.Search] finds memories.
// A session that is not there has none.
func (s *Sessions) Search(ctx context.Context, q SessionSearch) (SessionHits, error) {
	return SessionHits{}, errNotBuilt
}
