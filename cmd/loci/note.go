package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
)

// A memoryJSON is a memory as --json shows it.
type memoryJSON struct {
	ID        string         `json:"id"`
	Kind      loci.Kind      `json:"kind"`
	Namespace loci.Namespace `json:"namespace"`

	Content string          `json:"content,omitempty"`
	Key     string          `json:"key,omitempty"`   // of an item
	Value   json.RawMessage `json:"value,omitempty"` // of an item, or a structured content

	Subject   string         `json:"subject,omitempty"`
	Predicate string         `json:"predicate,omitempty"`
	Scope     string         `json:"scope,omitempty"`
	Tags      []string       `json:"tags"`
	Metadata  map[string]any `json:"metadata,omitempty"`

	Butler string `json:"butler,omitempty"` // of an episode

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

func factJSON(f *loci.Fact) memoryJSON {
	m := memoryJSON{
		ID: shownID(f.ID, f.IsNote()), Kind: loci.KindFact, Namespace: f.Namespace,
		Content: f.Content, Value: f.Value, Subject: f.Subject, Predicate: f.Predicate,
		Scope: f.Scope, Tags: f.Tags, Metadata: f.Metadata, Validity: f.Validity, Version: f.Version,
		CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt, ConfirmedAt: f.ConfirmedAt, Source: f.Source,
	}
	if m.Tags == nil {
		m.Tags = []string{}
	}
	if !f.SupersededBy.IsZero() {
		m.SupersededBy = f.SupersededBy.String()
	}
	if !f.Supersedes.IsZero() {
		m.Supersedes = f.Supersedes.String()
	}
	return m
}

// recordJSON shows a record of any kind, as it is at a moment.
func recordJSON(r *loci.Record, at time.Time) (memoryJSON, error) {
	switch r.Kind {
	case loci.KindFact:
		f, err := loci.FactOf(r, at)
		return factJSON(&f), err
	case loci.KindRule:
		rule, err := loci.RuleOf(r, at)
		return memoryJSON{
			ID: r.ID.String(), Kind: r.Kind, Namespace: r.Namespace, Content: r.Text, Scope: rule.Scope,
			Tags: tagsOf(r), Validity: rule.Validity, Maturity: rule.Maturity, Version: r.Version,
			CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ConfirmedAt: rule.ConfirmedAt, Source: rule.Source,
		}, err
	case loci.KindEpisode:
		e, err := loci.EpisodeOf(r)
		return memoryJSON{
			ID: r.ID.String(), Kind: r.Kind, Namespace: r.Namespace, Content: r.Text,
			Butler: e.Butler, Tags: tagsOf(r), Version: r.Version, CreatedAt: r.CreatedAt,
			UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt, Source: e.Source,
		}, err
	}
	entry, err := item.FromRecord(r)
	if err != nil {
		return memoryJSON{}, err
	}
	return memoryJSON{
		ID: r.ID.String(), Kind: r.Kind, Namespace: r.Namespace, Key: entry.Key,
		Value: entry.Value, Tags: []string{}, Version: r.Version,
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ExpiresAt: r.ExpiresAt,
	}, nil
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

// tagsOf are the tags of a record as a list, empty if it has none.
func tagsOf(r *loci.Record) []string { return append([]string{}, r.Tags...) }
