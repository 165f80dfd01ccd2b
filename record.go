package loci

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/loci-memory/loci/internal/embedcall"
	"github.com/loci-memory/loci/internal/retrieval"
)

// An ID names a record, an event or a link: a UUID, unique inside a tenant.
type ID [16]byte

// NewID makes a time-ordered (version 7) UUID.
func NewID() ID { return ID(uuid.Must(uuid.NewV7())) }

// ParseID reads the canonical 36-character form, in either letter case.
func ParseID(s string) (ID, error) {
	if len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil {
			return ID(id), nil
		}
	}
	return ID{}, Errorf(Invalid, "id must be a UUID such as 01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77")
}

// DerivedID is the same UUID for the same parts, for imports that may be repeated.
func DerivedID(space ID, parts ...string) ID {
	var data []byte
	for _, p := range parts {
		data = append(append(data, p...), 0)
	}
	return ID(uuid.NewSHA1(uuid.UUID(space), data))
}

// String returns the canonical lower-case form.
func (id ID) String() string { return uuid.UUID(id).String() }

// IsZero reports whether id names nothing.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText writes the canonical form.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the canonical form; the empty text is the zero ID.
func (id *ID) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	*id, err = ParseID(string(text))
	return err
}

// A Kind is a kind of memory. Stores treat kinds as opaque.
type Kind string

// The kinds that every engine keeps. Those of features are named by their packages.
const (
	KindFact    Kind = "fact"    // a fact, or a note: a fact without subject and predicate
	KindEpisode Kind = "episode" // something that happened; it expires
	KindRule    Kind = "rule"    // how to behave, tried out and rated
)

// A Record is one memory as a store keeps it: the columns a store filters on, and the rest as JSON that only the kind
// itself reads. So a new field of a kind touches no store.
type Record struct {
	ID        ID
	Kind      Kind
	Namespace Namespace

	// Slot is what at most one record may hold per namespace and kind: the key of an item, the subject and predicate of
	// a fact, the normalised text of a note. Empty: the record competes with none. Arbitrary bytes.
	Slot string

	// Version is 1 when created and grows by one with each Put; a Put whose
	// Version is not the stored one plus one conflicts.
	Version int64

	// Live records are searched. Others stay readable by id until erased.
	Live bool

	// What filters may ask for beside the place. The engine derives all of it from the body; a store keeps it as given.
	Scope  string    // of a fact or rule; the agent of an episode
	Status string    // validity of a fact, maturity of a rule, status of an episode
	Decay  Decay     // how the confidence falls
	EndsAt time.Time // from here on the confidence is too low for the live set; zero: never
	DueAt  time.Time // when upkeep has a transition to write down; zero: never

	CreatedAt time.Time // millisecond precision, UTC
	UpdatedAt time.Time // of the last Put that changed what the record says
	ExpiresAt time.Time // zero: never. Past it no read finds the record

	Uses   int64     // how often it was returned; see [RecordChanger.Touch]
	UsedAt time.Time // zero: never

	// Sequence names what the record is a part of, such as a conversation, and Position is its place there; neighbours
	// follow one another by position, then by id. Empty: the conversation that the attributes name, by CreatedAt, if
	// they do; else none. A search of mode Hybrid lifts what stands beside a good hit.
	Sequence string // up to MaxLabelBytes bytes, compared byte for byte inside the namespace
	Position int64  // from 0; 0 without a sequence

	Text     string // what is searched while the record is live, and shown as its text; else any bytes
	Heading  string // searched with each passage and not shown as text: subject and predicate of a fact; see [Record.Searched]
	Passages []Span // the parts of Text that are searched one by one; nil: [Commit] cuts a live record's
	Tags     []string

	Attributes json.RawMessage // what filters match: a JSON object, or nil
	Body       json.RawMessage // what only the kind reads: a JSON object, or nil
}

// Brief is the record with what tells it from others, when it was made and changed, and its
// attributes; all the rest is empty.
func (r *Record) Brief() Record {
	return Record{
		ID: r.ID, Kind: r.Kind, Namespace: r.Namespace, Slot: r.Slot,
		Version: r.Version, Live: r.Live, Status: r.Status,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, Attributes: r.Attributes,
	}
}

// Core is the record without what a context looks at in none.
func (r *Record) Core() Record {
	out := *r
	out.Slot, out.UpdatedAt, out.Uses, out.Tags, out.Scope = "", time.Time{}, 0, nil, ""
	out.DueAt, out.Sequence, out.Position, out.Heading = time.Time{}, "", 0, ""
	return out
}

// checkSequence refuses a place that no sequence has.
func (r *Record) checkSequence() error {
	switch {
	case len(r.Sequence) > MaxLabelBytes:
		return Errorf(Invalid, "sequence is %d bytes long; the limit is %d: shorten it", len(r.Sequence), MaxLabelBytes)
	case r.Position < 0:
		return Errorf(Invalid, "position is %d; it must be at least 0: count the places of a sequence from 0 or 1", r.Position)
	case r.Position > 0 && r.Sequence == "":
		return Errorf(Invalid, "position %d needs a sequence: name it", r.Position)
	}
	return nil
}

// A Span is a part of a text: bytes Start up to but not including End.
type Span = retrieval.Span

// Searched returns a passage as it is searched, by words and by similarity: the words
// of the record's heading, if it has one, lead each of its passages.
func (r *Record) Searched(passage int) string {
	text := r.Passages[passage].Of(r.Text)
	if words := retrieval.Words(r.Heading); words != "" {
		return words + ": " + text
	}
	return text
}

// searched are all passages as they are searched.
func (r *Record) searched() []string {
	texts := make([]string, len(r.Passages))
	for i := range texts {
		texts[i] = r.Searched(i)
	}
	return texts
}

// Expired reports whether the record is past its time at t.
func (r *Record) Expired(t time.Time) bool { return !r.ExpiresAt.IsZero() && !t.Before(r.ExpiresAt) }

// Ended reports whether the record has left the live set by decay at t.
func (r *Record) Ended(t time.Time) bool { return !r.EndsAt.IsZero() && !t.Before(r.EndsAt) }

// A Revision is an earlier state of a record, kept when a Put replaced it.
type Revision struct {
	Version    int64           `json:"version"`
	UpdatedAt  time.Time       `json:"updated_at"`  // when this state was written
	ReplacedAt time.Time       `json:"replaced_at"` // when the next state replaced it
	Text       string          `json:"text"`
	Tags       []string        `json:"tags,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// A Space is a vector space: vectors of different models or sizes are never compared with one another.
type Space struct {
	Model string `json:"model"` // such as "lexical-1"; the zero Space means "no vectors"
	Dims  int    `json:"dims"`  // dimensions, 1 to 4096
}

// String is for messages: "lexical-1 (512 dimensions)".
func (s Space) String() string {
	if s.IsZero() {
		return "none"
	}
	return fmt.Sprintf("%s (%d dimensions)", s.Model, s.Dims)
}

// IsZero reports whether s is no space.
func (s Space) IsZero() bool { return s == Space{} }

// Vectors are a record's vectors in one space: one for each of its passages, of unit length.
type Vectors struct {
	Space Space
	Rows  [][]float32
}

// MaxDims bounds the dimensions of a space.
const MaxDims = embedcall.MaxDims

// Validate checks that the space has a name and 1 to MaxDims dimensions.
func (s Space) Validate() error {
	if s.Model == "" || s.Dims < 1 || s.Dims > MaxDims {
		return Errorf(Invalid, "vectors need a space with a name and 1 to %d dimensions", MaxDims)
	}
	return nil
}

// Validate checks that every row has the dimensions of a real space.
func (v *Vectors) Validate() error {
	if err := v.Space.Validate(); err != nil {
		return err
	}
	for i, row := range v.Rows {
		if len(row) != v.Space.Dims {
			return Errorf(Invalid, "vector %d has %d dimensions; its space has %d", i, len(row), v.Space.Dims)
		}
	}
	return nil
}
