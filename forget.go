package loci

import (
	"context"
	"errors"
	"time"
)

// memoryKind refuses what is neither fact, rule nor episode.
func memoryKind(kind Kind) error {
	switch kind {
	case KindFact, KindRule, KindEpisode:
		return nil
	}
	return OneOf("type", string(kind), KindFact, KindRule, KindEpisode)
}

// Confirm says of a fact or a rule that it still holds: its clock starts anew, so
// that its effective confidence is its confidence again, and a fading or expired one
// is active at once. NotFound: there is no such record in this namespace; Conflict:
// it was superseded or forgotten, or another fact has its key. An episode is
// Invalid.
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

// reviveFact starts the clock of a fact anew.
func (m *Memory) reviveFact(ctx context.Context, r *Record, now time.Time) error {
	body, err := readFact(r)
	if err != nil {
		return err
	}
	if body.Validity == Superseded || body.Validity == Retracted {
		return Errorf(Conflict, "the fact %s is %s: store it again", r.ID, body.Validity)
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
	body.ConfirmedAt, body.Validity = laterOf(now, body.ConfirmedAt), Active
	return setFact(r, body)
}

func reviveRule(r *Record, now time.Time) error {
	body, err := readRule(r)
	if err != nil {
		return err
	}
	if !r.Live {
		return Errorf(Conflict, "the rule %s was forgotten: store it again", r.ID)
	}
	body.ConfirmedAt, body.Validity = laterOf(now, body.ConfirmedAt), Active
	return setRule(r, body)
}

// Forget takes a memory out of every retrieval path and keeps it: a fact is
// retracted, a rule or an episode becomes a tombstone. It stays readable by id and
// in the audit log; [Memory.Erase] removes its bytes. It returns whether anything
// changed: not when the record is not there, has expired for good or was forgotten
// before.
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
		body.Validity, body.RetractedAt = Retracted, laterOf(now, r.CreatedAt)
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
