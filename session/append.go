package session

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// Create makes a session without messages. Conflict: there is one with the id.
func (s *Handle) Create(ctx context.Context, in New) (Session, error) {
	if _, err := s.draftSession(in, time.Time{}); err != nil { // before anything is read
		return Session{}, err
	}
	return loci.Commit(ctx, s.m, "create session", in, func(now time.Time) (d loci.Decision[Session], err error) {
		st, err := s.draftSession(in, now)
		if err != nil {
			return d, err
		}
		if there, err := s.find(ctx, st.body.ID); err != nil || there != nil {
			if there != nil {
				err = &loci.Error{Code: loci.Conflict, Op: "create session", Msg: "there is a session with this id already",
					Recovery: "Use another id, or append to the session that is there."}
			}
			return d, err
		}
		if d.Change, err = s.change(ctx, st, now, loci.EventCreated, nil); err != nil {
			return d, err
		}
		d.Record = st.record.ID
		d.Reply, err = ofRecord(&st.record, now)
		return d, err
	})
}

// change puts a session's record, with one event about it. A new session erases what is
// left of one of the same id whose erase was stopped half way.
func (s *Handle) change(
	ctx context.Context, st *state, now time.Time, typ loci.EventType, payload map[string]any,
) (c loci.Change, err error) {
	if st.fresh {
		left, err := s.headers(ctx, st.body.ID)
		if err != nil {
			return c, err
		}
		for _, h := range left {
			c.Erase = append(c.Erase, loci.Erase{ID: h.id, Version: h.version})
		}
	}
	active := typ == loci.EventCreated || typ == loci.EventAppended || typ == loci.EventImported
	put, err := s.put(st, now, active)
	if err != nil {
		return c, err
	}
	c.Put = []loci.Put{put}
	c.Events = []loci.Event{s.m.Event(typ, &st.record, now, payload)}
	return c, nil
}

// Append adds messages to the end of a session, all of them or none, in their
// order and with consecutive numbers. A session that is not there is created; id ""
// makes a new one with a UUID. An expired session is active again. A session that
// keeps only so many messages is trimmed by the same change, or before it if many go: see [Handle.Trim].
// TooLarge: there is no room for the newest message, beside system messages or
// without the call whose result it is; then nothing is stored.
//
// Up to 1000 messages of up to 1 MiB, with up to [MaxAppendParts] parts together. Credentials in them are taken out as in any memory.
// An embedder that is slow or down does not delay it: the messages are found by their
// words at once, and by meaning after [loci.Engine.Backfill].
func (s *Handle) Append(ctx context.Context, id string, messages []Message) (Appended, error) {
	if id != "" {
		if err := checkSessionID(id); err != nil {
			return Appended{}, err
		}
	}
	a, err := s.newAppending(messages)
	if err != nil {
		return Appended{}, err
	}
	if id != "" {
		unlock, err := s.lock(ctx, id)
		if err != nil {
			return Appended{}, err
		}
		defer unlock()
	}
	request := map[string]any{"session_id": id, "messages": messages}
	var t trimming
	return loci.Commit(ctx, s.m, "append messages", request, func(now time.Time) (d loci.Decision[Appended], err error) {
		if d.Change, d.Then, err = t.step(ctx, s, id, now); err != nil || d.Then != nil {
			return d, err
		}
		st, err := s.open(ctx, id, now)
		if err != nil {
			return d, err
		}
		d.Reply = Appended{
			Session: st.body.ID, Created: st.fresh, First: st.body.Last + 1,
			Last: st.body.Last + int64(len(messages)), CreatedAt: now,
		}
		d.Embed = loci.EmbedSoon
		if d.Reply.Trimmed, d.Change, err = a.decide(ctx, st, now); err == nil && t.tooMany(a.gone) {
			d.Change, d.Then, err = t.first(ctx, s, id, now)
			return d, err
		}
		d.Change.Last = t.erased > 0
		d.Reply.Trimmed += t.erased
		d.Reply.Messages, d.Record = st.body.Count, st.record.ID
		return d, err
	})
}

// lock waits for the caller's turn among the writers of a session in this process.
// Nothing is lost without it, but writers would make one another decide again.
func (s *Handle) lock(ctx context.Context, id string) (unlock func(), err error) {
	return s.m.Turn(ctx, "session", id)
}

// open reads a session to write to, or makes a new one.
func (s *Handle) open(ctx context.Context, id string, now time.Time) (*state, error) {
	if id != "" {
		if st, err := s.find(ctx, id); err != nil || st != nil {
			return st, err
		}
	}
	return s.draftSession(New{ID: id}, now)
}

// An appending is a batch of messages on its way into a session.
type appending struct {
	s       *Handle
	drafts  []loci.Record
	headers []header       // of the drafts; their numbers follow
	numbers []int64        // of an import that keeps them; nil: those that follow
	typ     loci.EventType // default EventAppended, of a new session EventCreated
	more    bool           // others follow at once, so that its newest message may go
	gone    []header       // what decide erases of the messages that were there
}

// newAppending checks messages and makes their records.
func (s *Handle) newAppending(messages []Message) (*appending, error) {
	switch {
	case len(messages) == 0:
		return nil, loci.Errorf(loci.Invalid, "messages must not be empty")
	case len(messages) > MaxAppend:
		return nil, loci.Errorf(loci.TooLarge, "messages has %d entries; the limit is %d: append them in several calls", len(messages), MaxAppend)
	}
	size := 0
	for i := range messages {
		size += len(messages[i].Data)
	}
	if size > MaxAppendBytes {
		return nil, loci.Errorf(loci.TooLarge, "messages have %d bytes; the limit is %d: append them in several calls", size, MaxAppendBytes)
	}
	parts := partCount(0)
	return s.draftAll(messages, func(m Message) (loci.Record, error) {
		if err := m.Validate(); err != nil {
			return loci.Record{}, err
		}
		if err := parts.add(m.Data); err != nil {
			return loci.Record{}, err
		}
		return s.draftParsed(m)
	})
}

func (s *Handle) draftAll(messages []Message, draft func(Message) (loci.Record, error)) (*appending, error) {
	a := &appending{s: s, drafts: make([]loci.Record, len(messages)), headers: make([]header, len(messages))}
	for i, m := range messages {
		var err error
		if a.drafts[i], err = draft(m); err != nil {
			return nil, inMessage(i, err)
		}
		a.headers[i] = headerOf(m)
	}
	return a, nil
}

// decide makes the change that adds the messages to a session.
func (a *appending) decide(ctx context.Context, st *state, now time.Time) (trimmed int64, c loci.Change, err error) {
	s := a.s
	if a.numbers == nil {
		for i := range a.drafts {
			a.headers[i].seq = st.body.Last + 1 + int64(i)
		}
	}
	before, first := st.body.Count, st.body.Last+1
	if len(a.headers) > 0 {
		first = a.headers[0].seq
		st.body.Last = max(st.body.Last, a.headers[len(a.headers)-1].seq)
	}
	st.body.Count += int64(len(a.drafts))
	gone, err := s.trimFor(ctx, st, a.headers, before)
	if err == nil && !a.more {
		err = a.newestStays(st, gone)
	}
	if err != nil {
		return 0, c, err
	}
	typ := cmp.Or(a.typ, loci.EventAppended)
	if st.fresh && a.typ == "" {
		typ = loci.EventCreated
	}
	if c, err = s.change(ctx, st, now, typ, map[string]any{"from": first, "to": st.body.Last}); err != nil {
		return 0, c, err
	}
	a.puts(st, gone, now, &c)
	a.gone = nil
	for _, h := range gone {
		if h.seq < first {
			a.gone = append(a.gone, h)
			c.Erase = append(c.Erase, loci.Erase{ID: h.id, Version: h.version})
		}
	}
	if len(gone) > 0 {
		c.Events = append(c.Events, s.m.Event(loci.EventTrimmed, &st.record, now, map[string]any{
			"messages": len(gone), "to": gone[len(gone)-1].seq,
		}))
	}
	return int64(len(gone)), c, nil
}

// newestStays refuses a batch whose newest message a trim would erase at once: whoever is
// told that a message was appended will look for it. System messages stay anyway.
func (a *appending) newestStays(st *state, gone []header) error {
	i := len(a.headers) - 1
	for i >= 0 && a.headers[i].system {
		i--
	}
	if i < 0 || !slices.ContainsFunc(gone, func(h header) bool { return h.seq == a.headers[i].seq }) {
		return nil
	}
	most, left := a.s.most(&st.body), st.body.Count
	err := loci.Errorf(loci.TooLarge, "max_messages is %d, which has no room for messages[%d]: the result of a tool call does not stay without the call", most, i)
	if left >= most { // and these are system messages: others would have been erased before the newest
		systems := "are system messages, which always stay"
		if left == 1 {
			systems = "is a system message, which always stays"
		}
		err = loci.Errorf(loci.TooLarge, "max_messages is %d, and %d of the messages %s: there is no room for messages[%d]", most, left, systems, i)
	}
	err.Recovery = "Raise max_messages of the session, or begin another session."
	return err
}

// puts adds the messages that stay to a change.
func (a *appending) puts(st *state, gone []header, now time.Time, c *loci.Change) {
	dropped := map[int64]bool{}
	for _, h := range gone {
		dropped[h.seq] = true
	}
	for i := range a.drafts {
		r, seq := a.drafts[i], a.headers[i].seq
		if dropped[seq] {
			continue
		}
		r.ID, r.Slot, r.Sequence, r.Position = a.s.m.NewID(), messageSlot(st.body.ID, seq), st.body.ID, seq
		if r.CreatedAt.IsZero() { // an import brings its times
			r.CreatedAt = now
		}
		r.UpdatedAt = r.CreatedAt
		c.Put = append(c.Put, loci.Put{Record: r})
	}
}
