package loci

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// A Shower is a feature that says what its records are, for lists of all kinds: see
// [FeatureKind].Shown. Records of a memory kind are shown without it, too, by their text.
type Shower interface {
	Feature

	// Show describes a record of a kind that is shown. whole: the record was asked for by
	// its id, so add what takes another read.
	Show(ctx context.Context, m *Memory, r *Record, whole bool) (Shown, error)
}

// Shown is what a feature says of a record, beside what the record says itself.
type Shown struct {
	Key       string          // what callers name it by, such as the key of an item; "": by its id alone
	Content   string          // what it says, for people
	Value     json.RawMessage // what it says as JSON; nil: nothing but Content
	Metadata  json.RawMessage // a JSON object that callers gave it; nil: none
	Details   map[string]any  // what else there is to know, by name
	CreatedAt time.Time       // zero: that of the record
	Source    Source
}

// A Deleter is a feature whose records are deleted by id in changes of its own, since
// what goes with one may be too much for a single change.
type Deleter interface {
	Feature

	// DeleteRecord erases a record with all that belongs to it; what is gone is no error.
	// The handle's idempotency key is not its: see [Commit].
	DeleteRecord(ctx context.Context, m *Memory, r *Record) error
}

// Features lists the features of the handle's engine.
func (m *Memory) Features() []Feature { return slices.Clone(m.engine.opts.Features) }
