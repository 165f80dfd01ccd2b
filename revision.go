package loci

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/lifecycle"
)

// A FactRevision says what to change about a fact; nil fields stay.
type FactRevision struct {
	Content   *string         `json:"content,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Tags      *[]string       `json:"tags,omitempty"`
	Metadata  *map[string]any `json:"metadata,omitempty"`
	IfVersion int64           `json:"if_version,omitempty"` // refuse unless this is the current version; 0: any
}

// ReviseFact corrects a fact under its old id and returns the new state. The earlier state is kept as a revision.
// NotFound: there is no such live fact in this namespace; Conflict: IfVersion is no longer current.
func (m *Memory) ReviseFact(ctx context.Context, id ID, in FactRevision) (Fact, error) {
	if in.Content == nil && in.Value == nil && in.Tags == nil && in.Metadata == nil {
		return Fact{}, Errorf(Invalid, "nothing to change: set content, value, tags or metadata")
	}
	request := map[string]any{"id": id, "revision": in}
	return Commit(ctx, m, "revise fact", request, func(now time.Time) (Decision[Fact], error) {
		old, err := m.one(ctx, m.writable(now, KindFact), id)
		if err == nil && (!old.Live || old.Ended(now)) {
			err = notFound(id)
		}
		if err != nil {
			return Decision[Fact]{}, err
		}
		if in.IfVersion != 0 && in.IfVersion != old.Version {
			return Decision[Fact]{}, Errorf(Conflict, "the memory is at version %d, not %d: read it again", old.Version, in.IfVersion)
		}
		return m.decideRevision(ctx, old, in, now)
	})
}

// ReviseValue decides the revision that gives a fact a value in the form of [FactValue], without its key.
func (m *Memory) ReviseValue(
	ctx context.Context, old Record, value json.RawMessage, now time.Time,
) (Decision[Fact], error) {
	content, metadata, err := splitAttributes(value)
	if err != nil {
		return Decision[Fact]{}, Errorf(Invalid, "value must be a JSON object")
	}
	in := FactRevision{Metadata: &metadata}
	var text string
	if json.Unmarshal(content, &text) == nil && content != nil {
		in.Content = &text
	} else {
		in.Value = content
	}
	return m.decideRevision(ctx, old, in, now)
}

func (m *Memory) decideRevision(
	ctx context.Context, old Record, in FactRevision, now time.Time,
) (Decision[Fact], error) {
	var none Decision[Fact]
	e := m.engine
	r := old
	r.Version++
	r.UpdatedAt = now
	body, err := readFact(&r)
	if err != nil {
		return none, err
	}
	body.ConfirmedAt, body.Validity = lifecycle.Later(now, body.ConfirmedAt), Active
	value, metadata, err := splitAttributes(r.Attributes)
	if err != nil {
		return none, err
	}
	if in.Content != nil || in.Value != nil {
		var content string
		if in.Content != nil {
			content = strings.TrimPrefix(*in.Content, fence.Key(body.Subject, body.Predicate)) // a model copies the key that it was shown
		}
		if r.Text, value, err = e.content(content, in.Value); err != nil {
			return none, err
		}
	}
	if in.Tags != nil {
		if r.Tags, err = e.tags(*in.Tags); err != nil {
			return none, err
		}
	}
	if in.Metadata != nil {
		if err := checkMetadata(*in.Metadata); err != nil {
			return none, err
		}
		if metadata, err = e.redactJSON(*in.Metadata); err != nil {
			return none, err
		}
	}
	if r.Attributes, err = joinAttributes(value, metadata); err != nil {
		return none, err
	}
	if body.Subject == "" {
		// A note that is corrected into the words of another keeps its id and loses its slot.
		r.Slot = e.factSlot(&r, &body)
		if holder, err := m.slotHolder(ctx, &r); err != nil {
			return none, err
		} else if holder != nil && holder.ID != r.ID {
			r.Slot = ""
		}
	}
	if err := setFact(&r, body); err != nil {
		return none, err
	}
	put := Put{Record: r, SameText: r.Text == old.Text, Revisions: e.opts.Retention.Revisions}
	if !put.SameText {
		put.Record.Passages = e.passages(r.Text)
	}
	fact, err := FactOf(&put.Record, now)
	return Decision[Fact]{Reply: fact, Record: r.ID, Embed: EmbedFirst, Change: Change{Put: []Put{put},
		Events: []Event{m.event(EventUpdated, &r, now, map[string]any{"version": r.Version, "bytes": len(r.Text)})}}}, err
}

// Revisions returns the earlier states of a record, newest first.
func (m *Memory) Revisions(ctx context.Context, id ID) ([]Revision, error) {
	if _, _, err := m.kept(ctx, id); err != nil {
		return nil, err
	}
	return m.engine.store.Revisions(ctx, m.view.Tenant, id)
}

// Links returns the links from or to a record, oldest first.
func (m *Memory) Links(ctx context.Context, id ID) ([]Link, error) {
	if _, _, err := m.kept(ctx, id); err != nil {
		return nil, err
	}
	return m.engine.store.Links(ctx, m.view.Tenant, id)
}
