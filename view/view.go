// Package view shows memories of every kind in one form: a list, one of them, what there
// is and where, and the verbs of their lifecycle. What a kind is it learns from its feature
// ([loci.Shower]); surfaces show what it returns.
package view

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// A State says whether a memory counts, whatever its kind.
type State string

// The states of memories.
const (
	Live       State = "live"       // found by searches
	Fading     State = "fading"     // found, and soon expired unless it is confirmed
	Waiting    State = "waiting"    // an episode that is not consolidated yet; found
	Superseded State = "superseded" // another fact took its place
	Forgotten  State = "forgotten"  // out of every search; Restore brings it back
	Expired    State = "expired"    // its confidence, or its time, ran out
)

// States are all there are.
var States = []State{Live, Fading, Waiting, Superseded, Forgotten, Expired}

// Current are the states in which memories are found.
var Current = []State{Live, Fading, Waiting}

// KindNote is the kind of a fact without subject and predicate, as it is shown.
const KindNote loci.Kind = "note"

// An Entry is a memory of any kind. A field that its kind does not have is empty.
type Entry struct {
	ID        loci.ID         `json:"id"`
	Kind      loci.Kind       `json:"kind"`
	State     State           `json:"state"`
	Namespace loci.Namespace  `json:"namespace"`           // its owner's, never a place inside it
	Subject   string          `json:"subject,omitempty"`   // the key of a fact that has one
	Predicate string          `json:"predicate,omitempty"` // the same
	Scope     string          `json:"scope,omitempty"`     // of a keyed fact or a rule
	Key       string          `json:"key,omitempty"`       // of an item; the id of a session or a thread, the path of a file
	Content   string          `json:"content,omitempty"`   // what it says
	Value     json.RawMessage `json:"value,omitempty"`     // what it says, as JSON
	Tags      []string        `json:"tags"`
	Metadata  json.RawMessage `json:"metadata,omitempty"` // a JSON object
	Details   map[string]any  `json:"details,omitempty"`  // what is only of its kind

	Confidence   float64 `json:"confidence,omitempty"` // effective, of a fact or a rule
	Supersedes   loci.ID `json:"supersedes,omitzero"`
	SupersededBy loci.ID `json:"superseded_by,omitzero"`

	Version     int64       `json:"version"`
	CreatedAt   time.Time   `json:"created_at"`
	UpdatedAt   time.Time   `json:"updated_at"`
	ConfirmedAt time.Time   `json:"confirmed_at,omitzero"`
	ExpiresAt   time.Time   `json:"expires_at,omitzero"`
	Source      loci.Source `json:"source,omitzero"`
}

// errPart is the cause of an error about a record that is not shown.
var errPart = errors.New("a part of something else")

// A shape is what an engine says of a kind of records that is shown.
type shape struct {
	kind    loci.Kind
	name    loci.Kind // as callers call it
	status  string    // of the records that are shown; "": all
	part    bool
	memory  bool      // each record stands for itself
	found   loci.Kind // the kind whose records a search for it finds; "": none
	once    bool      // a search shows it once, however many of these fit
	whole   func(part *loci.Record) (loci.Filter, error)
	change  string       // how callers change it
	feature loci.Feature // nil: the kernel's own
}

// shapes lists the kinds that a handle's engine shows.
func shapes(m *loci.Memory) []shape {
	out := make([]shape, 0, 16) // there is room for all of ours: each is large
	for _, own := range []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode} {
		out = append(out, shape{kind: own, name: own, memory: true, found: own})
	}
	for _, f := range m.Features() {
		for _, k := range f.Kinds() {
			name := loci.Kind(k.Shown)
			if k.Memory {
				name = cmp.Or(name, k.Kind)
			}
			if name != "" {
				s := shape{kind: k.Kind, name: name, status: k.Status, part: k.Part, memory: k.Memory,
					change: k.Change, feature: f}
				s.lookFor(k, f.Kinds())
				out = append(out, s)
			}
		}
	}
	return out
}

// lookFor notes what a search for a kind of a feature, one of kinds, looks for.
func (s *shape) lookFor(kind loci.FeatureKind, kinds []loci.FeatureKind) {
	if s.memory || s.part || kind.Found {
		s.found = s.kind
		return
	}
	for _, part := range kinds {
		if part.Of == s.kind {
			s.found, s.once, s.whole = part.Kind, part.Part, part.Whole
		}
	}
}

// Kinds lists what callers may call a kind, in the order in which they are shown.
func Kinds(m *loci.Memory) []loci.Kind {
	kinds := []loci.Kind{KindNote}
	for _, s := range shapes(m) {
		kinds = append(kinds, s.name)
	}
	return kinds
}

// reach selects all that a handle may read.
func reach(m *loci.Memory, at time.Time, kinds ...loci.Kind) loci.Filter {
	v := m.View()
	return loci.Filter{Within: append([]loci.Namespace{v.Namespace}, v.Also...), Kinds: kinds, At: at}
}

// Of shows a record as it is at a moment, without what takes another read.
func Of(ctx context.Context, m *loci.Memory, r *loci.Record, at time.Time) (Entry, error) {
	return entryOf(ctx, m, shapes(m), r, at, false)
}

func entryOf(
	ctx context.Context, m *loci.Memory, all []shape, r *loci.Record, at time.Time, whole bool,
) (e Entry, err error) {
	e = Entry{
		ID: r.ID, Kind: r.Kind, State: Live, Namespace: r.Namespace.Owner(), Content: r.Text,
		Tags: append([]string{}, r.Tags...), Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		ExpiresAt: r.ExpiresAt,
	}
	if r.Live && r.Ended(at) || r.Expired(at) {
		e.State = Expired
	}
	switch r.Kind {
	case loci.KindFact:
		return e, e.fact(r, at)
	case loci.KindRule:
		return e, e.rule(r, at)
	case loci.KindEpisode:
		return e, e.episode(r)
	}
	i := slices.IndexFunc(all, func(s shape) bool { return s.kind == r.Kind && among(s.status, r.Status) })
	if i < 0 {
		return e, &loci.Error{Code: loci.Invalid, Err: errPart,
			Msg:      "the id names a directory, or a part of a file or a checkpoint, which is no memory of its own",
			Recovery: "Name the file or the thread: list them by kind."}
	}
	if e.Kind = all[i].name; all[i].memory && !r.Live && e.State == Live {
		e.State = Forgotten
	}
	shower, ok := all[i].feature.(loci.Shower)
	if !ok { // a kind of somebody else's: its text, and what filters match
		e.Metadata = r.Attributes
		return e, nil
	}
	s, err := shower.Show(ctx, m, r, whole)
	if err != nil {
		return e, err
	}
	e.Key, e.Content, e.Value, e.Metadata, e.Details = s.Key, s.Content, s.Value, s.Metadata, s.Details
	e.Source = s.Source
	if !s.CreatedAt.IsZero() {
		e.CreatedAt = s.CreatedAt
	}
	return e, nil
}

func among(wanted, status string) bool { return wanted == "" || wanted == status }

func (e *Entry) fact(r *loci.Record, at time.Time) error {
	f, err := loci.FactOf(r, at)
	if err != nil {
		return err
	}
	if f.IsNote() {
		e.Kind = KindNote
	} else {
		e.Subject, e.Predicate, e.Scope = f.Subject, f.Predicate, f.Scope
	}
	e.State = stateOf(f.Validity)
	e.Content, e.Value, e.Source = f.Content, f.Value, f.Source
	e.Confidence, e.ConfirmedAt = f.EffectiveConfidence, f.ConfirmedAt
	e.Supersedes, e.SupersededBy = f.Supersedes, f.SupersededBy
	if f.Metadata != nil {
		if e.Metadata, err = loci.MarshalJSON(f.Metadata); err != nil {
			return err
		}
	}
	e.Details = map[string]any{
		"importance": f.Importance, "permanence": f.Permanence, "valid_from": loci.ShowTime(f.ValidFrom), "reference_count": f.Uses,
	}
	if !f.ValidUntil.IsZero() {
		e.Details["valid_until"] = loci.ShowTime(f.ValidUntil)
	}
	if f.Sequence != "" {
		e.Details["sequence"], e.Details["position"] = f.Sequence, f.Position
	}
	return nil
}

func (e *Entry) rule(r *loci.Record, at time.Time) error {
	rule, err := loci.RuleOf(r, at)
	if err != nil {
		return err
	}
	e.State, e.Scope, e.Source = stateOf(rule.Validity), rule.Scope, rule.Source
	e.Confidence, e.ConfirmedAt = rule.EffectiveConfidence, rule.ConfirmedAt
	e.Details = map[string]any{
		"maturity": rule.Maturity, "success_count": rule.Successes, "harmful_count": rule.Harms,
		"applied_count": rule.Applied, "effectiveness_score": rule.Effectiveness, "reference_count": rule.Uses,
	}
	if len(rule.Reasons) > 0 {
		e.Details["harmful_reasons"] = rule.Reasons
	}
	if rule.Original != "" {
		e.Details["original_content"] = rule.Original
	}
	return nil
}

func (e *Entry) episode(r *loci.Record) error {
	episode, err := loci.EpisodeOf(r)
	if err != nil {
		return err
	}
	switch {
	case e.State == Expired:
	case !r.Live:
		e.State = Forgotten
	case episode.Status == loci.Pending || episode.Status == loci.Failed:
		e.State = Waiting
	}
	e.Source = episode.Source
	e.Details = map[string]any{
		"butler": episode.Butler, "consolidation_status": episode.Status, "importance": episode.Importance, "reference_count": episode.Uses,
	}
	if episode.Session != "" {
		e.Details["session_id"] = episode.Session
	}
	return nil
}

// stateOf brings the validity of a fact or a rule to the words of all kinds.
func stateOf(v loci.Validity) State {
	switch v {
	case loci.Fading:
		return Fading
	case loci.Superseded:
		return Superseded
	case loci.Retracted:
		return Forgotten
	case loci.Expired:
		return Expired
	}
	return Live
}
