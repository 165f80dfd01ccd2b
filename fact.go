package loci

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/attribute"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/retrieval"
)

// A Fact is something remembered: a note in plain words, or a statement about a
// subject and a predicate of which only one can hold at a time.
type Fact struct {
	ID        ID        `json:"id"`
	Namespace Namespace `json:"namespace"`

	Content string          `json:"content"`         // the text; of a structured content its JSON
	Value   json.RawMessage `json:"value,omitempty"` // a structured content: a JSON object; nil for plain text

	Subject   string         `json:"subject,omitempty"`
	Predicate string         `json:"predicate,omitempty"`
	Scope     string         `json:"scope,omitempty"` // of a fact with subject and predicate; default "global"
	Tags      []string       `json:"tags,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`

	Sequence string `json:"sequence,omitempty"` // that it stands in, such as a conversation
	Position int64  `json:"position,omitempty"` // its place there

	Importance          float64    `json:"importance"`           // 0 to 10
	Permanence          Permanence `json:"permanence"`           // how fast the confidence falls
	DecayRate           float64    `json:"decay_rate"`           // a day
	Confidence          float64    `json:"confidence"`           // when it was last confirmed, 0.05 to 1
	EffectiveConfidence float64    `json:"effective_confidence"` // at the moment of reading

	Validity     Validity  `json:"validity"`             // at the moment of reading
	ValidFrom    time.Time `json:"valid_from"`           // since when it is true
	ValidUntil   time.Time `json:"valid_until,omitzero"` // zero: still
	ClosedAt     time.Time `json:"closed_at,omitzero"`   // when ValidUntil was learned
	RetractedAt  time.Time `json:"retracted_at,omitzero"`
	SupersededBy ID        `json:"superseded_by,omitzero"`
	Supersedes   ID        `json:"supersedes,omitzero"`

	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ConfirmedAt time.Time `json:"confirmed_at"` // when it was last said
	Uses        int64     `json:"reference_count"`
	UsedAt      time.Time `json:"last_referenced_at,omitzero"`
	Source      Source    `json:"source,omitzero"`
}

// GlobalScope is the scope of a fact that names none.
const GlobalScope = "global"

// IsNote reports whether the fact has neither subject nor predicate.
func (f *Fact) IsNote() bool { return f.Subject == "" && f.Predicate == "" }

// A NewFact is what [Memory.StoreFact] stores.
type NewFact struct {
	Content   string          `json:"content,omitempty"` // the text; required unless Value is set
	Value     json.RawMessage `json:"value,omitempty"`   // a JSON object instead of a text
	Subject   string          `json:"subject,omitempty"` // with Predicate: what the fact is about
	Predicate string          `json:"predicate,omitempty"`
	Scope     string          `json:"scope,omitempty"`
	Tags      []string        `json:"tags,omitempty"`     // see [CheckTags]
	Metadata  map[string]any  `json:"metadata,omitempty"` // at most 64 KiB of JSON; the key "content" is reserved

	Importance *float64   `json:"importance,omitempty"` // 0 to 10; nil: 5
	Permanence Permanence `json:"permanence,omitempty"` // default: standard; of a note: permanent
	Confidence float64    `json:"confidence,omitzero"`  // 0.05 to 1; 0: 1
	ValidFrom  time.Time  `json:"valid_from,omitzero"`  // since when it is true; default: now

	CreatedAt time.Time `json:"created_at,omitzero"` // of what was said earlier: 1900 to a day from now; default: now

	// Sequence names what the fact is a part of, such as a conversation: up to 256 bytes. Position is its place there,
	// from 0, greater than that of what comes before it. Search lifts what stands beside a good match: an answer after
	// its question. Without Sequence the fact comes last in the conversation that its metadata name (session_id,
	// thread_id …), else in that of the handle ([View].Sequence).
	Sequence string `json:"sequence,omitempty"`
	Position int64  `json:"position,omitempty"`
}

// An Outcome says what a write did.
type Outcome string

// The outcomes of [Memory.StoreFact].
const (
	Created       Outcome = "created"
	SupersededOld Outcome = "superseded"   // created, and an older fact of the same key superseded
	DuplicateOf   Outcome = "duplicate_of" // nothing new: a live memory says this already, or the text only shows memories
)

// Stored is the reply of [Memory.StoreFact].
type Stored struct {
	ID         ID      `json:"id"`
	Outcome    Outcome `json:"outcome"`
	Superseded ID      `json:"superseded,omitzero"` // the fact that gave way

	// Memories of the namespace that resemble the new one: one that says much the same, and one that differs only in a
	// value such as a number, a name or a negation. All are kept, with a link "related_to" from the new one. A fact
	// with a key is compared with notes, a note with notes and facts. [ContentOptions].KeepDuplicates turns this off.
	RelatedTo        ID `json:"related_to,omitzero"`
	PossibleUpdateOf ID `json:"possible_update_of,omitzero"`
}

// factBody is the part of a fact that only its own files read.
type factBody struct {
	Subject      string     `json:"subject,omitempty"`
	Predicate    string     `json:"predicate,omitempty"`
	Scope        string     `json:"scope,omitempty"`
	Importance   float64    `json:"importance"`
	Permanence   Permanence `json:"permanence"`
	Confidence   float64    `json:"confidence"`
	Validity     Validity   `json:"validity"` // as last noted; see validityAt
	ValidFrom    time.Time  `json:"valid_from"`
	ValidUntil   time.Time  `json:"valid_until,omitzero"`
	ClosedAt     time.Time  `json:"closed_at,omitzero"`
	RetractedAt  time.Time  `json:"retracted_at,omitzero"`
	SupersededBy ID         `json:"superseded_by,omitzero"`
	Supersedes   ID         `json:"supersedes,omitzero"`
	ConfirmedAt  time.Time  `json:"confirmed_at"`
	Source       Source     `json:"source,omitzero"`
	Joined       bool       `json:"joined,omitempty"` // its place is where it came in, which its caller did not say
}

// readFact decodes the body of a fact. Fields that facts once lacked mean what was
// true then: such a fact does not decay.
func readFact(r *Record) (factBody, error) {
	body := factBody{Importance: DefaultImportance, Permanence: Permanent, Confidence: 1}
	if err := ReadBody(r, &body); err != nil {
		return body, err
	}
	if body.Validity == legacyForgotten {
		body.Validity = Retracted
	}
	if body.Validity == Superseded && body.ClosedAt.IsZero() {
		body.ClosedAt = body.ValidUntil // the same moment, before facts could be backdated
	}
	return body, nil
}

// setFact encodes the body of a fact and derives what filters ask for.
func setFact(r *Record, body factBody) error {
	rate, err := body.Permanence.Rate()
	if err != nil {
		return err
	}
	r.Scope, r.Status = cmp.Or(body.Scope, GlobalScope), string(body.Validity)
	r.schedule(Decay{Confidence: body.Confidence, Rate: rate, From: body.ConfirmedAt}, body.Validity)
	return SetBody(r, body)
}

// FactOf decodes a record of kind fact, with its validity and confidence as they are at a moment.
func FactOf(r *Record, at time.Time) (Fact, error) {
	body, err := readFact(r)
	if err != nil {
		return Fact{}, err
	}
	f := Fact{
		ID: r.ID, Namespace: r.Namespace, Content: r.Text, Subject: body.Subject,
		Predicate: body.Predicate, Scope: body.Scope, Tags: r.Tags, Importance: body.Importance,
		Permanence: body.Permanence, DecayRate: decayRates[body.Permanence], Confidence: body.Confidence,
		EffectiveConfidence: r.Decay.At(at), Validity: r.validityAt(body.Validity, at),
		ValidFrom: body.ValidFrom, ValidUntil: body.ValidUntil, ClosedAt: body.ClosedAt,
		RetractedAt: body.RetractedAt, SupersededBy: body.SupersededBy, Supersedes: body.Supersedes,
		Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, ConfirmedAt: body.ConfirmedAt,
		Uses: r.Uses, UsedAt: r.UsedAt, Source: body.Source, Sequence: r.Sequence, Position: r.Position,
	}
	if f.Value, f.Metadata, err = splitAttributes(r.Attributes); f.Value != nil {
		f.Content = string(f.Value)
	}
	return f, err
}

// splitAttributes takes a fact's attributes apart: the structured content under "content", if any, and the metadata.
func splitAttributes(attributes json.RawMessage) (value json.RawMessage, metadata map[string]any, err error) {
	if value, metadata, err = attribute.Split(attributes); err != nil {
		return nil, nil, &Error{Code: Internal, Op: "read attributes", Err: err}
	}
	return value, metadata, nil
}

// joinAttributes is the inverse of splitAttributes.
func joinAttributes(value json.RawMessage, metadata map[string]any) (json.RawMessage, error) {
	data, err := attribute.Join(value, metadata)
	if err != nil {
		return nil, Errorf(Invalid, "metadata is not JSON: %s", jsonform.Fault(err))
	}
	return data, nil
}

// A factDraft is a checked new fact, all but ids and times.
type factDraft struct {
	Record
	body factBody
}

// isKeyed reports whether the fact has a subject and a predicate.
func (d *factDraft) isKeyed() bool { return d.body.Subject != "" }

// StoreFact remembers a fact.
//
// A fact with a subject and a predicate supersedes the live fact of the same scope, subject and predicate in this
// namespace. Saving a note that already exists in the namespace (ignoring white space and letter case, with the same
// metadata and place in a sequence) stores nothing: it confirms the existing note, adds new tags to it and returns its
// id. A text that only repeats memories in the form in which Loci shows them is not stored either. See [Stored] for
// notes that resemble another one.
func (m *Memory) StoreFact(ctx context.Context, in NewFact) (Stored, error) {
	cores.RoomyStack()
	draft, err := m.draft(in)
	if err != nil {
		return Stored{}, err
	}
	// Most notes are new, so the first attempt does not look for one that says the
	// same: the store refuses it if there is one, and the next attempt looks.
	look := draft.isKeyed()
	return Commit(ctx, m, "store fact", in, func(now time.Time) (Decision[Stored], error) {
		d, err := m.decideFact(ctx, draft, look, now)
		look = true
		return d, err
	})
}

// draft checks a new fact and makes its record, all but ids and times.
func (m *Memory) draft(in NewFact) (*factDraft, error) {
	e := m.engine
	text, value, err := e.content(in.Content, in.Value)
	if err != nil {
		return nil, err
	}
	tags, err := e.tags(in.Tags)
	if err != nil {
		return nil, err
	}
	if err := checkMetadata(in.Metadata); err != nil {
		return nil, err
	}
	if (in.Subject == "") != (in.Predicate == "") {
		return nil, Errorf(Invalid, "subject and predicate go together: set both or neither")
	}
	body := factBody{
		Subject: e.redact(in.Subject), Predicate: e.redact(in.Predicate), Validity: Active,
		Source: m.view.Source, Importance: DefaultImportance,
		Permanence: cmp.Or(in.Permanence, Permanent), Confidence: cmp.Or(in.Confidence, 1),
	}
	if in.Importance != nil {
		body.Importance = *in.Importance
	}
	if err := cmp.Or(checkImportance(body.Importance), checkConfidence(body.Confidence)); err != nil {
		return nil, err
	}
	if body.ValidFrom, err = CheckTime("valid_from", in.ValidFrom); err != nil {
		return nil, err
	}
	if body.Subject != "" {
		body.Permanence = cmp.Or(in.Permanence, Standard)
		body.Scope = e.redact(in.Scope)
		setDefault(&body.Scope, GlobalScope)
		for _, f := range [][2]string{{"subject", in.Subject}, {"predicate", in.Predicate}, {"scope", body.Scope}} {
			if err := CheckLabel(f[0], f[1]); err != nil || strings.TrimSpace(f[1]) == "" {
				return nil, cmp.Or(err, error(Errorf(Invalid, "%s must not be empty", f[0])))
			}
		}
	}
	if _, err := body.Permanence.Rate(); err != nil {
		return nil, err
	}
	created, err := CheckCreated(in.CreatedAt, e.now())
	if err != nil {
		return nil, err
	}
	if in.Sequence != "" { // the rest of the place is checked with the change
		if err := CheckLabel("sequence", in.Sequence); err != nil {
			return nil, err
		}
	}
	metadata, err := e.redactJSON(in.Metadata)
	if err != nil {
		return nil, err
	}
	attributes, err := joinAttributes(value, metadata)
	if err != nil {
		return nil, err
	}
	d := &factDraft{
		Record{
			Kind: KindFact, Namespace: m.view.Namespace, Version: 1, Live: true, Text: text,
			Tags: tags, Attributes: attributes, Sequence: e.redact(in.Sequence), Position: in.Position,
			CreatedAt: created,
		},
		body,
	}
	d.Slot, d.Heading = e.factSlot(&d.Record, &body), body.heading()
	d.Passages = e.passages(text)
	return d, nil
}

// heading is what a fact is searched by beside its text; "" of a note.
func (b *factBody) heading() string {
	return strings.TrimSpace(b.Subject + " " + b.Predicate)
}

// SetBody writes the body of a record as JSON.
func SetBody(r *Record, body any) (err error) {
	if r.Body, err = jsonform.Marshal(body); err != nil {
		return &Error{Code: Internal, Op: "encode " + string(r.Kind), Err: err}
	}
	return nil
}

// ReadBody reads the body that [SetBody] has written.
func ReadBody(r *Record, body any) error {
	if err := jsonguard.Own(r.Body, body); err != nil {
		return &Error{Code: Internal, Op: "read " + string(r.Kind), Err: err}
	}
	return nil
}

// addKey adds the key of a fact that has one to its attributes.
func addKey(r *Record, attributes map[string]any) map[string]any {
	body, err := readFact(r)
	if err != nil || body.Subject == "" {
		return attributes
	}
	return attribute.With(attributes, map[string]any{"subject": body.Subject, "predicate": body.Predicate})
}

// factSlot is what only one live fact of a namespace may hold.
func (e *Engine) factSlot(r *Record, body *factBody) string {
	if body.Subject != "" {
		return "key:" + digest(body.Scope, body.Subject, body.Predicate)
	}
	if e.opts.Content.KeepDuplicates {
		return ""
	}
	parts := []string{normalise(r.Text), string(r.Attributes)}
	if r.Sequence != "" && !body.Joined { // what was said at another place was said twice
		parts = append(parts, r.Sequence, strconv.FormatInt(r.Position, 10))
	}
	return "text:" + digest(parts...)
}

// normalise folds what two ways of writing the same note differ in: white space
// and letter case, where that tells no units apart (5 mW, 5 MW).
func normalise(text string) string { return retrieval.Fold(text) }

// Fact reads one fact by id, even one that is no longer live. NotFound: there is none in this namespace.
func (m *Memory) Fact(ctx context.Context, id ID) (Fact, error) {
	r, now, err := m.kept(ctx, id, KindFact)
	if err != nil {
		return Fact{}, err
	}
	return FactOf(&r, now)
}

// A FactQuery selects facts for [Memory.Facts].
type FactQuery struct {
	Tags          []string // has all of them
	Scopes        []string // one of these; a note is in the scope "global"
	Where         Where
	MinConfidence float64 // effective confidence of at least so much; 0: any
	History       bool    // also facts that are no longer live
}

// Facts lists facts, newest first. next continues the list; "" is its end.
func (m *Memory) Facts(ctx context.Context, q FactQuery, page Page) (facts []Fact, next string, err error) {
	now := m.engine.now()
	f := m.readable(now, KindFact)
	f.Where, f.NotLive, f.Scopes, f.MinConfidence = q.Where, q.History, q.Scopes, q.MinConfidence
	if f.Tags, err = CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	return listed(ctx, m, f, page, func(r *Record) (Fact, error) { return FactOf(r, now) })
}

// FactValue shows a fact as the JSON object {"content": …, metadata…}: its content is the
// fact's JSON value, else its text. A fact with a key also has "subject" and "predicate".
func FactValue(r *Record) (json.RawMessage, error) {
	value, metadata, err := splitAttributes(r.Attributes)
	if err != nil {
		return nil, err
	}
	if value == nil {
		if value, err = MarshalJSON(r.Text); err != nil {
			return nil, &Error{Code: Internal, Op: "read fact", Err: err}
		}
	}
	return joinAttributes(value, addKey(r, metadata))
}
