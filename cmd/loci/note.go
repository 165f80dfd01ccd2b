package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/view"
)

// A memoryJSON is a memory as --json shows it.
type memoryJSON struct {
	ID        string         `json:"id"`
	Kind      loci.Kind      `json:"kind"` // of the record: that of a note is fact
	Type      loci.Kind      `json:"type"` // as --kind calls it: note, fact, rule, episode, item, session, message, file, thread
	State     view.State     `json:"state"`
	Namespace loci.Namespace `json:"namespace"`

	Content string          `json:"content,omitempty"`
	Key     string          `json:"key,omitempty"`   // of an item; the id of a session or a thread, the path of a file
	Value   json.RawMessage `json:"value,omitempty"` // of an item, or a structured content

	Subject   string          `json:"subject,omitempty"`
	Predicate string          `json:"predicate,omitempty"`
	Scope     string          `json:"scope,omitempty"`
	Tags      []string        `json:"tags"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Details   map[string]any  `json:"details,omitempty"` // what is only of its kind

	Butler string `json:"butler,omitempty"` // of an episode

	Confidence   float64       `json:"confidence,omitempty"` // effective, of a fact or a rule
	Validity     loci.Validity `json:"validity,omitempty"`
	Maturity     loci.Maturity `json:"maturity,omitempty"` // of a rule
	SupersededBy string        `json:"superseded_by,omitempty"`
	Supersedes   string        `json:"supersedes,omitempty"`
	Version      int64         `json:"version"`
	CreatedAt    time.Time     `json:"created_at"`
	UpdatedAt    time.Time     `json:"updated_at"`
	ConfirmedAt  time.Time     `json:"confirmed_at,omitzero"`
	ExpiresAt    time.Time     `json:"expires_at,omitzero"`
	Source       loci.Source   `json:"source,omitzero"`
}

// entryJSON shows a memory of any kind.
func entryJSON(e *view.Entry) memoryJSON {
	m := memoryJSON{
		ID: shownID(e.ID, e.Kind == view.KindNote), Kind: e.Kind, Type: e.Kind, State: e.State, Namespace: e.Namespace,
		Content: e.Content, Key: e.Key, Value: e.Value, Subject: e.Subject, Predicate: e.Predicate, Scope: e.Scope,
		Tags: e.Tags, Metadata: e.Metadata, Details: e.Details, Confidence: e.Confidence, Version: e.Version,
		CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt, ConfirmedAt: e.ConfirmedAt, ExpiresAt: e.ExpiresAt,
		Source: e.Source,
	}
	if e.Kind == view.KindNote {
		m.Kind = loci.KindFact
	}
	m.Butler, _ = e.Details["butler"].(string)
	m.Maturity, _ = e.Details["maturity"].(loci.Maturity)
	switch e.Kind {
	case view.KindNote, loci.KindFact, loci.KindRule:
		m.Validity = validityOf(e.State)
	}
	if !e.SupersededBy.IsZero() {
		m.SupersededBy = e.SupersededBy.String()
	}
	if !e.Supersedes.IsZero() {
		m.Supersedes = e.Supersedes.String()
	}
	return m
}

// validityOf is the state of a fact or a rule in the words of its kind.
func validityOf(state view.State) loci.Validity {
	switch state {
	case view.Live:
		return loci.Active
	case view.Forgotten:
		return loci.Retracted
	}
	return loci.Validity(state)
}

// recordJSON shows a record of any kind, as it is at a moment.
func (a *app) recordJSON(m *loci.Memory, r *loci.Record, at time.Time) (memoryJSON, error) {
	e, err := view.Of(a.ctx, m, r, at)
	return entryJSON(&e), err
}

// said shows a memory in one line, with its key: a note or a fact by what it says, any
// other also by what it is.
func (m *memoryJSON) said() string {
	if m.Kind == loci.KindFact {
		return fence.Key(m.Subject, m.Predicate) + m.Content
	}
	text := m.Content
	if text == "" {
		text = string(m.Value)
	}
	return strings.TrimSpace(string(m.Kind) + " " + strings.TrimSpace(m.Key+" "+text))
}

// savedJSON is the reply to save and update.
type savedJSON struct {
	ID               string `json:"id"`
	Outcome          string `json:"outcome"` // created, duplicate_of or updated
	Version          int64  `json:"version,omitempty"`
	RelatedTo        string `json:"related_to,omitempty"`         // says much the same
	PossibleUpdateOf string `json:"possible_update_of,omitempty"` // differs only in a value
}

// A listing is a page of memories.
type listing struct {
	Memories   []memoryJSON `json:"memories"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

func tagList(tags []string) string { return strings.Join(tags, ",") }
