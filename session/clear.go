package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Cleared counts what was erased.
type Cleared struct {
	Sessions int64 `json:"sessions"`
	Messages int64 `json:"messages"`
}

// Clear erases a session and its messages. NotFound: there is none.
//
// All of it is one change, unless the session has more than 300 messages: then it goes
// in steps, the oldest messages first, so that the writes of others wait for one step at most. A
// clear that stops half way leaves a session with fewer messages: clear it again. With an
// idempotency key the reply is kept with the last step.
func (s *Handle) Clear(ctx context.Context, id string) (Cleared, error) {
	if err := checkSessionID(id); err != nil {
		return Cleared{}, err
	}
	return s.clear(ctx, id, map[string]any{"session_id": id}, nil)
}

// eraseStep is how many messages one change erases at most, but for results that go with their calls. It takes
// tens of milliseconds, and who writes meanwhile waits for it.
const eraseStep = 300

// clear erases a session, unless it has messages that an extent lacks. It counts what it has
// erased before it failed, too.
func (s *Handle) clear(ctx context.Context, id string, request any, only *Extent) (before Cleared, err error) {
	all, err := loci.Commit(ctx, s.m, "clear session", request, func(now time.Time) (d loci.Decision[Cleared], err error) {
		st, err := s.have(ctx, id)
		if err != nil {
			return d, err
		}
		step := st.body.Count > eraseStep
		if !step || before.Messages == 0 {
			if err := s.check(ctx, st, only); err != nil {
				return d, err
			}
		}
		if step {
			var gone []header
			if gone, d.Change, err = s.clearSome(ctx, st, only, now); err != nil || len(gone) > 0 {
				d.Then = func() { before.Messages += int64(len(gone)) }
				return d, err
			}
		}
		d.Reply, d.Change, err = s.clearing(ctx, st, now)
		d.Reply.Messages += before.Messages
		d.Change.Last = before.Messages > 0
		return d, err
	})
	if err != nil {
		return before, only.changed(before, err)
	}
	return all, nil
}

// clearSome is the change that erases the oldest messages of a session that has too many for
// one change. What goes is compared with an extent; the rest was when the first went.
func (s *Handle) clearSome(
	ctx context.Context, st *state, only *Extent, now time.Time,
) (gone []header, c loci.Change, err error) {
	oldest := loci.Page{Limit: eraseStep, Order: loci.SlotAscending, Brief: true}
	records, _, err := s.m.Records(ctx, s.within(st.body.ID, 1, 0), oldest)
	if err != nil || len(records) == 0 {
		return nil, c, err
	}
	gone = briefHeaders(records)
	if slices.ContainsFunc(gone, func(h header) bool { return !only.has(h.id, h.version) }) {
		return nil, c, errNotShown
	}
	c, err = s.eraseSome(ctx, st, gone, now)
	return gone, c, err
}

// eraseSome is the change that erases a part of the messages that are to go.
func (s *Handle) eraseSome(ctx context.Context, st *state, gone []header, now time.Time) (loci.Change, error) {
	st.body.Count -= int64(len(gone))
	st.body.Coherent = false // a result may have lost its call
	c, err := s.eraseMessages(ctx, st, gone, now)
	c.More = true // until the last step nobody hears that anything is erased
	return c, err
}

// clearing is the change that erases a session.
func (s *Handle) clearing(ctx context.Context, st *state, now time.Time) (n Cleared, c loci.Change, err error) {
	gone, err := s.erases(ctx, st.body.ID)
	if err != nil {
		return n, c, err
	}
	c.Erase = append(c.Erase, loci.Erase{ID: st.record.ID, Version: st.record.Version})
	c.Erase = append(c.Erase, gone...)
	c.Events = []loci.Event{s.m.Event(loci.EventErased, &st.record, now, map[string]any{"messages": len(gone)})}
	return Cleared{Sessions: 1, Messages: int64(len(gone))}, c, nil
}

// erases lists what erases all messages of a session, in order. Nothing that they say is read.
func (s *Handle) erases(ctx context.Context, session string) (all []loci.Erase, err error) {
	for page := (loci.Page{Limit: 1000, Order: loci.SlotAscending, Brief: true}); ; {
		records, next, err := s.m.Records(ctx, s.within(session, 1, 0), page)
		if err != nil {
			return nil, err
		}
		for i := range records {
			all = append(all, loci.Erase{ID: records[i].ID, Version: records[i].Version})
		}
		if page.Cursor = next; next == "" {
			return all, nil
		}
	}
}

// ClearAll erases the handle's sessions one after the other, expired ones too. If it is
// stopped half way, it has erased some of them and says how many. Sessions that others
// create meanwhile may stay.
func (s *Handle) ClearAll(ctx context.Context) (done Cleared, err error) {
	var ids []string
	f := loci.Filter{Within: []loci.Namespace{s.sessions()}, Exact: true, Kinds: []loci.Kind{Kind}, NotLive: true}
	page := loci.Page{Limit: 500, Order: loci.SlotAscending} // an order in which no session moves
	for {
		records, next, err := s.m.Records(ctx, f, page)
		if err != nil {
			return done, err
		}
		for i := range records {
			ids = append(ids, records[i].Slot)
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	for _, id := range ids {
		one, err := s.clear(ctx, id, nil, nil)
		done.Sessions += one.Sessions
		done.Messages += one.Messages
		if errors.Is(err, loci.ErrNotFound) { // somebody else was quicker
			continue
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// EraseRecord is the change that erases a record of a session: all of it, or one
// message. A summary that covers the message goes with it.
func (Feature) EraseRecord(
	ctx context.Context, m *loci.Memory, r *loci.Record, now time.Time,
) (c loci.Change, err error) {
	m, err = m.At(r.Namespace.Owner())
	if err != nil {
		return c, err
	}
	s := Of(m)
	id := r.Slot
	if r.Kind == KindMessage {
		id = r.Sequence
	}
	st, err := s.find(ctx, id)
	switch {
	case err != nil:
		return c, err
	case st == nil: // what is left of an erase that was stopped half way
		c.Erase = []loci.Erase{{ID: r.ID, Version: r.Version}}
		c.Events = []loci.Event{m.Event(loci.EventErased, r, now, map[string]any{"version": r.Version, "bytes": len(r.Text)})}
		return c, nil
	case r.Kind == Kind && st.body.Count > eraseStep:
		if gone, c, err := s.clearSome(ctx, st, nil, now); err != nil || len(gone) > 0 {
			return c, err
		}
		fallthrough
	case r.Kind == Kind:
		_, c, err = s.clearing(ctx, st, now)
		return c, err
	}
	return s.eraseMessage(ctx, st, r, now)
}
