package loci

import (
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci/internal/lifecycle"
)

// memoryKind refuses what is neither fact, rule nor episode.
func memoryKind(kind Kind) error {
	switch kind {
	case KindFact, KindRule, KindEpisode:
		return nil
	}
	return OneOf("type", string(kind), KindFact, KindRule, KindEpisode)
}

// Confirm says of a fact or a rule that it still holds: its clock starts again, so that its effective confidence is its
// confidence again, and a fading or expired one is active at once. NotFound: there is no such record in this namespace;
// Conflict: it was superseded or forgotten, or another fact has its key. An episode is Invalid.
func (m *Memory) Confirm(ctx context.Context, kind Kind, id ID) error {
	if err := memoryKind(kind); err != nil {
		return err
	}
	if kind == KindEpisode {
		return Errorf(Invalid, "Episodes cannot be confirmed — they don't have confidence decay")
	}
	request := map[string]any{"type": kind, "id": id}
	_, err := Commit(ctx, m, "confirm", request, func(now time.Time) (Decision[ID], error) {
		r, err := m.one(ctx, m.writable(now, kind), id)
		if err != nil {
			return Decision[ID]{}, err
		}
		if kind == KindFact {
			err = m.reviveFact(ctx, &r, now)
		} else {
			err = reviveRule(&r, now)
		}
		if err != nil {
			return Decision[ID]{}, err
		}
		r.Version++
		change := restated(r, m.event(EventConfirmed, &r, now, map[string]any{"version": r.Version}))
		return Decision[ID]{Reply: id, Record: id, Change: change}, nil
	})
	return err
}

// reviveFact restarts the clock of a fact.
func (m *Memory) reviveFact(ctx context.Context, r *Record, now time.Time) error {
	body, err := readFact(r)
	if err != nil {
		return err
	}
	if body.Validity == Superseded || body.Validity == Retracted {
		return Errorf(Conflict, "the fact %s is %s: restore it, or store it again", r.ID, body.Validity)
	}
	if !r.Live { // expired, and its key was given away; it may be free again
		r.Live = true
		body.ValidUntil, body.ClosedAt = time.Time{}, time.Time{}
		r.Slot = m.engine.factSlot(r, &body)
		holder, err := m.slotHolder(ctx, r)
		if err != nil {
			return err
		}
		if holder != nil {
			return Errorf(Conflict, "the fact %s holds the key of the expired fact %s: store it again", holder.ID, r.ID)
		}
	}
	body.ConfirmedAt, body.Validity = lifecycle.Later(now, body.ConfirmedAt), Active
	return setFact(r, body)
}

func reviveRule(r *Record, now time.Time) error {
	body, err := readRule(r)
	if err != nil {
		return err
	}
	if !r.Live {
		return Errorf(Conflict, "the rule %s was forgotten: restore it, or store it again", r.ID)
	}
	body.ConfirmedAt, body.Validity = lifecycle.Later(now, body.ConfirmedAt), Active
	return setRule(r, body)
}

// Forget takes a memory out of every retrieval path and keeps it: a fact is retracted, a rule or an episode becomes a
// tombstone. It stays readable by id and in the audit log; [Memory.Erase] removes its bytes. It returns whether
// anything changed: false when the record does not exist, has expired or was forgotten before.
func (m *Memory) Forget(ctx context.Context, kind Kind, id ID) (bool, error) {
	if err := memoryKind(kind); err != nil {
		return false, err
	}
	request := map[string]any{"type": kind, "id": id}
	return Commit(ctx, m, "forget", request, func(now time.Time) (Decision[bool], error) {
		r, err := m.one(ctx, m.writable(now, kind), id)
		if errors.Is(err, ErrNotFound) {
			return Decision[bool]{}, nil
		}
		if err != nil {
			return Decision[bool]{}, err
		}
		return m.decideForget(r, now)
	})
}

func (m *Memory) decideForget(r Record, now time.Time) (d Decision[bool], err error) {
	was := r.Live
	r.Version++
	r.Live, r.Slot = false, ""
	typ := EventForgotten
	switch r.Kind {
	case KindFact:
		body, err := readFact(&r)
		if err != nil || body.Validity == Retracted {
			return d, err
		}
		typ = EventRetracted
		body.Validity, body.RetractedAt = Retracted, lifecycle.Later(now, r.CreatedAt)
		if err := setFact(&r, body); err != nil {
			return d, err
		}
	case KindRule:
		body, err := readRule(&r)
		if err != nil || !was {
			return d, err
		}
		body.ForgottenAt, body.Validity = now, Retracted
		if err := setRule(&r, body); err != nil {
			return d, err
		}
	default:
		body, err := readEpisode(&r)
		if err != nil || !was {
			return d, err
		}
		body.ForgottenAt = now
		if err := setEpisode(&r, body); err != nil {
			return d, err
		}
	}
	change := restated(r, m.event(typ, &r, now, map[string]any{"version": r.Version}))
	return Decision[bool]{Reply: true, Record: r.ID, Change: change}, nil
}

// Restore brings back what was forgotten: a fact, a rule or an episode is found again as it was, the clock of its
// confidence started again; a fact that had been superseded before is superseded again. A superseded fact comes back as
// a new one, which supersedes the one that took its place. It returns the id of the memory that is back. NotFound:
// there is no such record in this namespace; Conflict: it is there, or another fact says the same or has its key by
// now.
func (m *Memory) Restore(ctx context.Context, kind Kind, id ID) (ID, error) {
	if err := memoryKind(kind); err != nil {
		return ID{}, err
	}
	request := map[string]any{"type": kind, "id": id}
	return Commit(ctx, m, "restore", request, func(now time.Time) (d Decision[ID], err error) {
		r, err := m.one(ctx, m.writable(now, kind), id)
		if err != nil {
			return d, err
		}
		if kind == KindFact && r.Status == string(Superseded) {
			d.Reply, err = m.unsupersede(ctx, &d.Change, r, now)
			d.Record = d.Reply
			return d, err
		}
		if forgotten, err := m.revive(ctx, &r, now); err != nil {
			return d, err
		} else if !forgotten {
			return d, Errorf(Conflict, "the %s %s was not forgotten: there is nothing to restore", kind, id)
		}
		r.Version++
		d.Reply, d.Record = id, id
		d.Change.Put = []Put{{Record: r, SameText: true, Revisions: keptRevisions}}
		d.Change.Events = []Event{m.event(EventRestored, &r, now, map[string]any{"version": r.Version})}
		return d, nil
	})
}

// unsupersede adds a new fact to a change that says what a superseded one said.
func (m *Memory) unsupersede(ctx context.Context, c *Change, r Record, now time.Time) (ID, error) {
	old, err := FactOf(&r, now)
	if err != nil {
		return ID{}, err
	}
	in := NewFact{Content: old.Content, Value: old.Value, Subject: old.Subject, Predicate: old.Predicate,
		Scope: old.Scope, Tags: old.Tags, Metadata: old.Metadata, Importance: &old.Importance,
		Permanence: old.Permanence, Sequence: old.Sequence, Position: old.Position}
	if in.Value != nil {
		in.Content = ""
	}
	draft, err := m.draft(in)
	if err != nil {
		return ID{}, err
	}
	holder, err := m.slotHolder(ctx, &draft.Record)
	if err != nil {
		return ID{}, err
	}
	if !draft.isKeyed() {
		if holder != nil {
			return ID{}, Errorf(Conflict, "the fact %s says what %s said: there is nothing to restore", holder.ID, r.ID)
		}
		newer, err := m.follow(ctx, &old, maxChain, func(f *Fact) ID { return f.SupersededBy })
		if err != nil {
			return ID{}, err
		}
		if n := len(newer); n > 0 && (newer[n-1].Validity == Active || newer[n-1].Validity == Fading) {
			last, err := m.one(ctx, m.writable(now, KindFact), newer[n-1].ID)
			if err != nil {
				return ID{}, err
			}
			holder = &last
		}
	}
	stored, err := m.addFact(ctx, c, draft, holder, now)
	return stored.ID, err
}

// revive makes a forgotten record what it was before; false: it was not forgotten.
func (m *Memory) revive(ctx context.Context, r *Record, now time.Time) (forgotten bool, err error) {
	switch r.Kind {
	case KindFact:
		return m.unretract(ctx, r, now)
	case KindRule:
		body, err := readRule(r)
		if err != nil || r.Live {
			return false, err
		}
		r.Live, body.ForgottenAt, body.Validity = true, time.Time{}, Active
		body.ConfirmedAt = lifecycle.Later(now, body.ConfirmedAt)
		return true, setRule(r, body)
	}
	body, err := readEpisode(r)
	if err != nil || r.Live {
		return false, err
	}
	r.Live, body.ForgottenAt = true, time.Time{}
	return true, setEpisode(r, body)
}

func (m *Memory) unretract(ctx context.Context, r *Record, now time.Time) (bool, error) {
	body, err := readFact(r)
	if err != nil || body.Validity != Retracted {
		return false, err
	}
	body.RetractedAt = time.Time{}
	if !body.SupersededBy.IsZero() {
		body.Validity = Superseded
		return true, setFact(r, body)
	}
	r.Live, body.Validity, body.ConfirmedAt = true, Active, lifecycle.Later(now, body.ConfirmedAt)
	body.ValidUntil, body.ClosedAt = time.Time{}, time.Time{}
	r.Slot = m.engine.factSlot(r, &body)
	holder, err := m.slotHolder(ctx, r)
	if err == nil && holder != nil {
		err = Errorf(Conflict, "the fact %s took the place of %s: supersede it, or forget it first", holder.ID, r.ID)
	}
	if err != nil {
		return false, err
	}
	return true, setFact(r, body)
}
