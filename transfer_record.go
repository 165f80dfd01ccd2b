package loci

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/attribute"
	"github.com/loci-memory/loci/internal/jsonform"
)

// importRecord checks what every record of an export must have.
func (m *Memory) importRecord(in *exportLine) (*Imported, error) {
	place, _ := m.engine.placeOf(in.Kind, in.Namespace)
	r := Record{
		ID: in.ID, Kind: in.Kind, Namespace: m.view.Namespace.Child(place...), Slot: string(in.Slot),
		Version: int64(in.Version), Live: in.Live, Sequence: in.Sequence, Position: in.Position,
		Text: in.Text, Tags: in.Tags, Attributes: in.Attributes, Body: in.Body,
	}
	switch {
	case r.ID.IsZero():
		return nil, Errorf(Invalid, "id is missing")
	case r.Version < 1:
		return nil, Errorf(Invalid, "version is %d; it must be at least 1", r.Version)
	case in.CreatedAt.IsZero():
		return nil, Errorf(Invalid, "created_at is missing")
	}
	if err := importTimes(&r, in); err != nil {
		return nil, err
	}
	return &Imported{Record: r, History: []Revision{}, memory: m}, r.Namespace.CheckPlace()
}

// Free reports whether no record of the tenant has its id, so that it can keep that.
func (d *Imported) Free(ctx context.Context) (bool, error) {
	f := Filter{Within: []Namespace{{}}, IDs: []ID{d.ID}, NotLive: true}
	records, _, err := d.memory.engine.store.Records(ctx, d.memory.view.Tenant, f, Page{Limit: 1})
	return len(records) == 0, err
}

// Clean does to a record to import what a write would: it redacts and bounds its text and attributes, brings its tags
// to their form and cuts its passages. Its sequence is redacted unless it names another record.
func (d *Imported) Clean(sequenceIsName bool) (err error) {
	e, r := d.memory.engine, &d.Record
	r.Text = e.redact(r.Text)
	if !sequenceIsName {
		r.Sequence = e.redact(r.Sequence)
	}
	if len(r.Text) > e.opts.Content.MaxBytes {
		return Errorf(TooLarge, "text has %d bytes; the limit is %d", len(r.Text), e.opts.Content.MaxBytes)
	}
	if r.Sequence != "" {
		if err := CheckLabel("sequence", r.Sequence); err != nil {
			return err
		}
	}
	if err := r.checkSequence(); err != nil {
		return err
	}
	if r.Tags, err = e.tags(r.Tags); err != nil {
		return err
	}
	if r.Attributes, err = d.memory.redactAttributes(r.Attributes); err != nil {
		return err
	}
	r.Passages = e.passages(r.Text)
	return e.exportable(r.Text, r.Attributes, r.Body)
}

// placeOf returns the place of a record that an export shows in the namespace n. false: n is its place.
func (e *Engine) placeOf(kind Kind, n Namespace) (Namespace, bool) {
	if p, ok := e.featureOf(kind).(Placer); ok && !slices.Contains(n, innerLabel) {
		return p.PlaceOf(kind, n)
	}
	return n, false
}

// lineNamespace is how an export writes where a record is: as it always did, without
// the label that no caller can name, unless that could be read in another way.
func (m *Memory) lineNamespace(r *Record) Namespace {
	n := r.Namespace[len(m.view.Namespace):]
	if again, ok := m.engine.placeOf(r.Kind, n.former()); ok && again.Equal(n) {
		return n.former()
	}
	return n
}

func importTimes(r *Record, in *exportLine) (err error) {
	for _, t := range []struct {
		field   string
		to      *time.Time
		written time.Time
	}{{"created_at", &r.CreatedAt, in.CreatedAt}, {"updated_at", &r.UpdatedAt, in.UpdatedAt}, {"expires_at", &r.ExpiresAt, in.ExpiresAt}} {
		if *t.to, err = CheckTime(t.field, t.written); err != nil {
			return err
		}
	}
	return nil
}

// importOwn makes sure that the kernel's own kind can read the record, and computes its slot again: redaction may have
// changed what the slot is made of, and only a live record may hold one.
func (m *Memory) importOwn(d *Imported, held bool) error {
	if err := d.Clean(false); err != nil {
		return err
	}
	r := &d.Record
	if err := r.Namespace.Validate(); err != nil {
		return err
	}
	r.Slot = ""
	switch r.Kind {
	case KindFact:
		body, err := m.importFact(r)
		if err != nil {
			return err
		}
		if held && r.Live {
			r.Slot = m.engine.factSlot(r, body)
		}
	case KindRule:
		return m.importRule(r)
	case KindEpisode:
		return m.importEpisode(r)
	}
	return nil
}

// importFact checks what a fact says outside of its text and redacts it, as
// [Memory.StoreFact] does. A body that holds no secret stays as it was written.
func (m *Memory) importFact(r *Record) (*factBody, error) {
	body, err := readFact(r)
	if err != nil {
		return nil, Errorf(Invalid, "body is not that of a fact: %s", jsonform.Fault(err))
	}
	if err := cmp.Or(checkImportance(body.Importance), checkConfidence(body.Confidence)); err != nil {
		return nil, err
	}
	switch body.Validity {
	case Active, Fading, Expired:
	case Superseded, Retracted:
		r.Live = false
	default:
		return nil, OneOf("validity", string(body.Validity), Active, Fading, Superseded, Expired, Retracted)
	}
	clean, written := body, r.Body
	for _, field := range []*string{&clean.Subject, &clean.Predicate, &clean.Scope} {
		if len(*field) > MaxLabelBytes { // they may be empty in older files
			return nil, CheckLabel("subject, predicate or scope", *field)
		}
		*field = m.engine.redact(*field)
	}
	clean.Source = m.engine.shortened(clean.Source)
	if err := setFact(r, clean); err != nil {
		return nil, err
	}
	if clean == body {
		r.Body = written
	}
	r.Heading = clean.heading()
	return &clean, nil
}

// importRule checks the body of a rule and redacts it.
func (m *Memory) importRule(r *Record) error {
	body, err := readRule(r)
	if err != nil {
		return Errorf(Invalid, "body is not that of a rule: %s", jsonform.Fault(err))
	}
	body.Scope, body.Original = m.engine.redact(body.Scope), m.engine.redact(body.Original)
	for i := range body.Reasons {
		body.Reasons[i] = m.engine.redact(body.Reasons[i])
	}
	switch body.Maturity {
	case Candidate, Established, Proven, AntiPattern:
	default:
		return OneOf("maturity", string(body.Maturity), Candidate, Established, Proven, AntiPattern)
	}
	switch {
	case body.Successes < 0 || body.Harms < 0 || body.Applied < 0:
		return Errorf(Invalid, "counts of the rule must not be negative")
	case len(body.Original) > m.engine.opts.Content.MaxBytes:
		return Errorf(TooLarge, "original_content has %d bytes; the limit is %d", len(body.Original), m.engine.opts.Content.MaxBytes)
	}
	if err := cmp.Or(checkConfidence(body.Confidence), CheckLabel("scope", body.Scope)); err != nil {
		return err
	}
	return setRule(r, body)
}

// importEpisode checks the body of an episode and redacts it.
func (m *Memory) importEpisode(r *Record) error {
	body, err := readEpisode(r)
	if err != nil {
		return Errorf(Invalid, "body is not that of an episode: %s", jsonform.Fault(err))
	}
	body.Butler, body.Session = m.engine.redact(body.Butler), m.engine.redact(body.Session)
	body.Lease, body.LeasedUntil = ID{}, time.Time{} // of a process at work on the store it comes from
	switch body.Status {
	case Pending, Consolidated, Failed, DeadLetter:
	default:
		return OneOf("consolidation_status", string(body.Status), Pending, Consolidated, Failed, DeadLetter)
	}
	if r.ExpiresAt.IsZero() {
		return Errorf(Invalid, "expires_at of the episode is missing")
	}
	if err := cmp.Or(checkImportance(body.Importance), CheckLabel("butler", body.Butler)); err != nil {
		return err
	}
	return setEpisode(r, body)
}

// importRevision checks an earlier state of a record and adds it.
func (m *Memory) importRevision(d *Imported, v Revision) (err error) {
	n := len(d.History)
	if v.Version < 1 || v.Version >= d.Version || n > 0 && v.Version >= d.History[n-1].Version {
		return Errorf(Invalid, "revisions[%d].version is %d: versions must fall and stay below the record's %d", n, v.Version, d.Version)
	}
	v.Text = m.engine.redact(v.Text)
	if v.UpdatedAt, err = CheckTime("updated_at", v.UpdatedAt); err != nil {
		return err
	}
	if v.ReplacedAt, err = CheckTime("replaced_at", v.ReplacedAt); err != nil {
		return err
	}
	if v.Tags, err = m.engine.tags(v.Tags); err != nil {
		return err
	}
	if v.Attributes, err = m.redactAttributes(v.Attributes); err != nil {
		return err
	}
	d.History = append(d.History, v)
	return m.engine.exportable(v.Text, v.Attributes, nil)
}

func (m *Memory) redactAttributes(attributes json.RawMessage) (json.RawMessage, error) {
	object, err := attribute.Object(attributes)
	if err != nil {
		return nil, Errorf(Invalid, "attributes must be a JSON object")
	}
	if object, err = m.engine.redactJSON(object); err != nil || object == nil {
		return nil, err
	}
	return MarshalJSON(object)
}
