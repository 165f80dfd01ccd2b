package loci

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
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

	Validity     Validity  `json:"validity"`
	ValidFrom    time.Time `json:"valid_from"`
	ValidUntil   time.Time `json:"valid_until,omitzero"` // zero: still
	SupersededBy ID        `json:"superseded_by,omitzero"`
	Supersedes   ID        `json:"supersedes,omitzero"`

	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ConfirmedAt time.Time `json:"confirmed_at"` // when it was last said
	Source      Source    `json:"source,omitzero"`
}

// Validity says whether a fact holds.
type Validity string

// The states of a fact.
const (
	Active     Validity = "active"
	Superseded Validity = "superseded" // a newer fact of the same subject and predicate took its place
)

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
}

// An Outcome says what a write did.
type Outcome string

// The outcomes of [Memory.StoreFact].
const (
	Created       Outcome = "created"
	SupersededOld Outcome = "superseded"   // created, and an older fact of the same key superseded
	DuplicateOf   Outcome = "duplicate_of" // nothing new: the fact that says this already was confirmed
)

// Stored is the reply of [Memory.StoreFact].
type Stored struct {
	ID         ID      `json:"id"`
	Outcome    Outcome `json:"outcome"`
	Superseded ID      `json:"superseded,omitzero"` // the fact that gave way
}

// factBody is the part of a fact that only this file reads.
type factBody struct {
	Subject      string    `json:"subject,omitempty"`
	Predicate    string    `json:"predicate,omitempty"`
	Scope        string    `json:"scope,omitempty"`
	Validity     Validity  `json:"validity"`
	ValidFrom    time.Time `json:"valid_from"`
	ValidUntil   time.Time `json:"valid_until,omitzero"`
	SupersededBy ID        `json:"superseded_by,omitzero"`
	Supersedes   ID        `json:"supersedes,omitzero"`
	ConfirmedAt  time.Time `json:"confirmed_at"`
	Source       Source    `json:"source,omitzero"`
}

// FactOf decodes a record of kind fact.
func FactOf(r *Record) (Fact, error) {
	var body factBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return Fact{}, &Error{Code: Internal, Op: "read fact", Err: err}
	}
	f := Fact{ID: r.ID, Namespace: r.Namespace, Content: r.Text, Subject: body.Subject, Predicate: body.Predicate,
		Scope: body.Scope, Tags: r.Tags, Validity: body.Validity, ValidFrom: body.ValidFrom, ValidUntil: body.ValidUntil,
		SupersededBy: body.SupersededBy, Supersedes: body.Supersedes, Version: r.Version, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, ConfirmedAt: body.ConfirmedAt, Source: body.Source}
	var err error
	if f.Value, f.Metadata, err = splitAttributes(r.Attributes); f.Value != nil {
		f.Content = string(f.Value)
	}
	return f, err
}

// splitAttributes takes a fact's attributes apart: the structured content under
// "content", if any, and the metadata.
func splitAttributes(attributes json.RawMessage) (value json.RawMessage, metadata map[string]any, err error) {
	if len(attributes) == 0 {
		return nil, nil, nil
	}
	v, err := decodeJSON(attributes)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, nil, &Error{Code: Internal, Op: "read attributes", Err: err}
	}
	if content, ok := object["content"]; ok {
		if value, err = encodeJSON(content); err != nil {
			return nil, nil, &Error{Code: Internal, Op: "read attributes", Err: err}
		}
		delete(object, "content")
	}
	if len(object) == 0 {
		object = nil
	}
	return value, object, nil
}

// joinAttributes is the inverse of splitAttributes.
func joinAttributes(value json.RawMessage, metadata map[string]any) (json.RawMessage, error) {
	if len(value) == 0 && len(metadata) == 0 {
		return nil, nil
	}
	all := maps.Clone(metadata)
	if all == nil {
		all = map[string]any{}
	}
	if len(value) > 0 {
		all["content"] = value
	}
	data, err := encodeJSON(all)
	if err != nil {
		return nil, Errorf(Invalid, "metadata is not JSON: %v", err)
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
// A fact with a subject and a predicate supersedes the live fact of the same
// scope, subject and predicate in this namespace. A note that says what a live
// note of the namespace says already (but for white space and letter case, with
// the same metadata) is not stored twice: the old one is confirmed and its id
// returned; new tags are added to it.
func (m *Memory) StoreFact(ctx context.Context, in NewFact) (Stored, error) {
	draft, err := m.draft(in)
	if err != nil {
		return Stored{}, err
	}
	// Most notes are new, so the first attempt does not look for one that says the
	// same: the store refuses it if there is one, and the next attempt looks.
	look := draft.isKeyed()
	return commit(ctx, m, "store fact", in, func(now time.Time) (decision[Stored], error) {
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
	body := factBody{Subject: e.redact(in.Subject), Predicate: e.redact(in.Predicate), Validity: Active, Source: m.view.Source}
	if body.Subject != "" {
		body.Scope = e.redact(in.Scope)
		setDefault(&body.Scope, GlobalScope)
		for _, f := range [][2]string{{"subject", in.Subject}, {"predicate", in.Predicate}, {"scope", body.Scope}} {
			if err := checkLabel(f[0], f[1]); err != nil {
				return nil, err
			}
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
	d := &factDraft{Record{Kind: KindFact, Namespace: m.view.Namespace, Version: 1, Live: true, Text: text, Tags: tags, Attributes: attributes}, body}
	d.Slot = e.factSlot(&d.Record, &body)
	d.Passages = e.passages(text)
	return d, nil
}

func setBody(r *Record, body any) (err error) {
	r.Body, err = json.Marshal(body)
	if err != nil {
		return &Error{Code: Internal, Op: "encode " + string(r.Kind), Err: err}
	}
	return nil
}

// factSlot is what only one live fact of a namespace may hold.
func (e *Engine) factSlot(r *Record, body *factBody) string {
	if body.Subject != "" {
		return "key:" + digest(body.Scope, body.Subject, body.Predicate)
	}
	if e.opts.KeepDuplicates {
		return ""
	}
	return "text:" + digest(normalise(r.Text), string(r.Attributes))
}

// normalise folds what two ways of writing the same note differ in: white space
// and letter case.
func normalise(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

func (m *Memory) decideFact(ctx context.Context, draft *factDraft, look bool, now time.Time) (decision[Stored], error) {
	e := m.engine
	r := draft.Record
	r.ID, r.CreatedAt, r.UpdatedAt = e.opts.NewID(), now, now
	body := draft.body
	body.ValidFrom, body.ConfirmedAt = now, now
	out := decision[Stored]{reply: Stored{ID: r.ID, Outcome: Created}, record: r.ID}

	var holder *Record
	if look {
		var err error
		if holder, err = m.slotHolder(ctx, &r); err != nil {
			return out, err
		}
	}
	payload := map[string]any{"version": 1, "bytes": len(r.Text)}
	switch {
	case holder == nil:
	case body.Subject == "":
		return m.confirm(holder, r.Tags, now)
	default:
		put, events, err := m.supersede(holder, r.ID, now)
		if err != nil {
			return out, err
		}
		body.Supersedes = holder.ID
		out.change.Put = append(out.change.Put, put)
		out.change.Events = events
		out.change.Links = []Link{{From: r.ID, Type: LinkSupersedes, To: holder.ID, At: now}}
		out.reply.Outcome, out.reply.Superseded = SupersededOld, holder.ID
		payload["supersedes"] = holder.ID
	}
	if err := setBody(&r, body); err != nil {
		return out, err
	}
	out.change.Put = append(out.change.Put, Put{Record: r, Vectors: e.embed(ctx, m.view.Tenant, r.Text, r.Passages)})
	out.change.Events = append(out.change.Events, m.event(EventCreated, &r, now, payload))
	return out, nil
}

// slotHolder returns the record that holds r's slot, or nil.
func (m *Memory) slotHolder(ctx context.Context, r *Record) (*Record, error) {
	if r.Slot == "" {
		return nil, nil
	}
	f := Filter{Within: []Namespace{r.Namespace}, Exact: true, Kinds: []Kind{r.Kind}, Slot: &r.Slot, NotLive: true}
	held, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	return &held[0], nil
}

// confirm answers a note said again with the old one, whose clock starts anew.
func (m *Memory) confirm(old *Record, tags []string, now time.Time) (decision[Stored], error) {
	r := *old
	r.Version++
	var body factBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return decision[Stored]{}, &Error{Code: Internal, Op: "confirm fact", Err: err}
	}
	body.ConfirmedAt = now
	for _, tag := range tags {
		if !slices.Contains(r.Tags, tag) && len(r.Tags) < MaxTags {
			r.Tags = append(slices.Clone(r.Tags), tag)
			r.UpdatedAt = now
		}
	}
	if err := setBody(&r, body); err != nil {
		return decision[Stored]{}, err
	}
	return decision[Stored]{
		reply: Stored{ID: r.ID, Outcome: DuplicateOf}, record: r.ID,
		change: Change{Put: []Put{{Record: r, SameText: true, Revisions: -1}},
			Events: []Event{m.event(EventConfirmed, &r, now, map[string]any{"version": r.Version})}},
	}, nil
}

// supersede ends the validity of a fact in favour of another.
func (m *Memory) supersede(old *Record, by ID, now time.Time) (Put, []Event, error) {
	r := *old
	r.Version++
	r.Live, r.Slot = false, ""
	var body factBody
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return Put{}, nil, &Error{Code: Internal, Op: "supersede fact", Err: err}
	}
	body.Validity, body.ValidUntil, body.SupersededBy = Superseded, now, by
	err := setBody(&r, body)
	return Put{Record: r, SameText: true, Revisions: -1},
		[]Event{m.event(EventSuperseded, &r, now, map[string]any{"by": by})}, err
}

// Fact reads one fact by id, also one that is no longer live. NotFound: there is
// none in this namespace.
func (m *Memory) Fact(ctx context.Context, id ID) (Fact, error) {
	f := m.readable(m.engine.now(), KindFact)
	f.NotLive = true
	r, err := m.one(ctx, f, id)
	if err != nil {
		return Fact{}, err
	}
	return FactOf(&r)
}

// A FactQuery selects facts for [Memory.Facts].
type FactQuery struct {
	Tags    []string // has all of them
	Where   Where
	History bool // also facts that are no longer live
}

// Facts lists facts, newest first. next continues the list; "" is its end.
func (m *Memory) Facts(ctx context.Context, q FactQuery, page Page) (facts []Fact, next string, err error) {
	f := m.readable(m.engine.now(), KindFact)
	f.Where, f.NotLive = q.Where, q.History
	if f.Tags, err = CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	records, next, err := m.engine.store.Records(ctx, m.view.Tenant, f, page)
	if err != nil {
		return nil, "", err
	}
	facts = make([]Fact, len(records))
	for i := range records {
		if facts[i], err = FactOf(&records[i]); err != nil {
			return nil, "", err
		}
	}
	return facts, next, nil
}
