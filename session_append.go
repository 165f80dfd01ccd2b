package loci

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Create makes a session without messages. Conflict: there is one with the id.
func (s *Sessions) Create(ctx context.Context, in NewSession) (Session, error) {
	if _, err := s.draftSession(in, time.Time{}); err != nil { // before anything is read
		return Session{}, err
	}
	return commit(ctx, s.m, "create session", in, func(now time.Time) (d decision[Session], err error) {
		st, err := s.draftSession(in, now)
		if err != nil {
			return d, err
		}
		if there, err := s.find(ctx, st.body.ID); err != nil || there != nil {
			if there != nil {
				err = &Error{Code: Conflict, Op: "create session", Msg: "there is a session with this id already",
					Recovery: "Use another id, or append to the session that is there."}
			}
			return d, err
		}
		if d.change, err = s.change(ctx, st, now, EventCreated, nil); err != nil {
			return d, err
		}
		d.record = st.record.ID
		d.reply, err = sessionOf(&st.record, now)
		return d, err
	})
}

// change puts a session's record, with one event about it. A new session takes
// away what an erase that was stopped half way has left of one of the same id.
func (s *Sessions) change(ctx context.Context, st *sessionState, now time.Time, typ EventType, payload map[string]any) (c Change, err error) {
	if st.fresh {
		left, err := s.headers(ctx, st.body.ID, 1, 0)
		if err != nil {
			return c, err
		}
		for _, h := range left {
			c.Erase = append(c.Erase, Erase{ID: h.id, Version: h.version})
		}
	}
	active := typ == EventCreated || typ == EventAppended || typ == EventImported
	put, err := s.put(st, now, active)
	if err != nil {
		return c, err
	}
	c.Put = []Put{put}
	c.Events = []Event{s.m.event(typ, &st.record, now, payload)}
	return c, nil
}

// Append adds messages to the end of a session, all of them or none, in their
// order and with consecutive numbers. A session that is not there is created; id ""
// makes a new one with a UUID. An expired session is active again. A session that
// keeps only so many messages is trimmed by the same change: see [Sessions.Trim].
// TooLarge: there is no room for the newest message, beside system messages or
// without the call whose result it is; then nothing is stored.
//
// Up to 1000 messages of up to 1 MiB. Credentials in them are taken out as in any
// memory. An embedder that is slow or down does not hold it up: the messages are
// found by their words at once, and by meaning once [Engine.Backfill] has run.
func (s *Sessions) Append(ctx context.Context, id string, messages []Message) (Appended, error) {
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
	return commit(ctx, s.m, "append messages", request, func(now time.Time) (d decision[Appended], err error) {
		st, err := s.open(ctx, id, now)
		if err != nil {
			return d, err
		}
		d.reply = Appended{Session: st.body.ID, Created: st.fresh, First: st.body.Last + 1, Last: st.body.Last + int64(len(messages)), CreatedAt: now}
		d.reply.Trimmed, d.change, err = a.decide(ctx, st, now)
		d.reply.Messages, d.record = st.body.Count, st.record.ID
		return d, err
	})
}

// lock waits for the caller's turn among the writers of a session in this process.
// That nothing is lost does not depend on it: it keeps them from making one another
// decide anew.
func (s *Sessions) lock(ctx context.Context, id string) (unlock func(), err error) {
	unlock, err = s.m.engine.sessions.enter(ctx, digest(s.m.view.Tenant.String(), s.m.view.Namespace.Key(), id))
	if err != nil {
		return nil, AsError(err)
	}
	return unlock, nil
}

// open reads a session to write to, or makes a new one.
func (s *Sessions) open(ctx context.Context, id string, now time.Time) (*sessionState, error) {
	if id != "" {
		if st, err := s.find(ctx, id); err != nil || st != nil {
			return st, err
		}
	}
	return s.draftSession(NewSession{ID: id}, now)
}

// An appending is a batch of messages on its way into a session.
type appending struct {
	s       *Sessions
	drafts  []Record
	headers []header  // of the drafts; their numbers follow
	numbers []int64   // of an import that keeps them; nil: those that follow
	typ     EventType // default EventAppended, of a new session EventCreated
	vectors [][]Vectors
	space   Space // the active space the vectors were made for
	made    bool
}

// newAppending checks messages and makes their records.
func (s *Sessions) newAppending(messages []Message) (*appending, error) {
	switch {
	case len(messages) == 0:
		return nil, Errorf(Invalid, "messages must not be empty")
	case len(messages) > MaxAppend:
		return nil, Errorf(TooLarge, "messages has %d entries; the limit is %d: append them in several calls", len(messages), MaxAppend)
	}
	size := 0
	for i := range messages {
		size += len(messages[i].Data)
	}
	if size > MaxAppendBytes {
		return nil, Errorf(TooLarge, "messages have %d bytes; the limit is %d: append them in several calls", size, MaxAppendBytes)
	}
	return s.draftAll(messages)
}

func (s *Sessions) draftAll(messages []Message) (*appending, error) {
	a := &appending{s: s, drafts: make([]Record, len(messages)), headers: make([]header, len(messages))}
	for i, m := range messages {
		var err error
		if a.drafts[i], err = s.draftMessage(m); err != nil {
			return nil, inMessage(i, err)
		}
		a.headers[i] = headerOf(m)
	}
	return a, nil
}

// decide makes the change that adds the messages to a session.
func (a *appending) decide(ctx context.Context, st *sessionState, now time.Time) (trimmed int64, c Change, err error) {
	s := a.s
	if err := a.embed(ctx); err != nil {
		return 0, c, err
	}
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
	if err == nil {
		err = a.newestStays(st, gone)
	}
	if err != nil {
		return 0, c, err
	}
	typ := cmp.Or(a.typ, EventAppended)
	if st.fresh && a.typ == "" {
		typ = EventCreated
	}
	if c, err = s.change(ctx, st, now, typ, map[string]any{"from": first, "to": st.body.Last}); err != nil {
		return 0, c, err
	}
	a.puts(st, gone, now, &c)
	for _, h := range gone {
		if h.seq < first {
			c.Erase = append(c.Erase, Erase{ID: h.id, Version: h.version})
		}
	}
	if len(gone) > 0 {
		c.Events = append(c.Events, s.m.event(EventTrimmed, &st.record, now, map[string]any{"messages": len(gone), "to": gone[len(gone)-1].seq}))
	}
	return int64(len(gone)), c, nil
}

// newestStays refuses a batch whose newest message a trim takes at once, for whoever
// is told that it was appended will look for it. System messages stay anyway.
func (a *appending) newestStays(st *sessionState, gone []header) error {
	i := len(a.headers) - 1
	for i >= 0 && a.headers[i].system {
		i--
	}
	if i < 0 || !slices.ContainsFunc(gone, func(h header) bool { return h.seq == a.headers[i].seq }) {
		return nil
	}
	most, left := a.s.most(&st.body), st.body.Count
	err := Errorf(TooLarge, "max_messages is %d, which has no room for messages[%d]: the result of a tool call does not stay without the call", most, i)
	if left >= most { // and these are system messages: others would have gone before the newest
		systems := "are system messages, which always stay"
		if left == 1 {
			systems = "is a system message, which always stays"
		}
		err = Errorf(TooLarge, "max_messages is %d, and %d of the messages %s: there is no room for messages[%d]", most, left, systems, i)
	}
	err.Recovery = "Raise max_messages of the session, or begin another session."
	return err
}

// puts adds the messages that stay to a change.
func (a *appending) puts(st *sessionState, gone []header, now time.Time, c *Change) {
	dropped := map[int64]bool{}
	for _, h := range gone {
		dropped[h.seq] = true
	}
	for i := range a.drafts {
		r, seq := a.drafts[i], a.headers[i].seq
		if dropped[seq] {
			continue
		}
		r.ID, r.Slot, r.Sequence, r.Position = a.s.m.engine.opts.NewID(), messageSlot(st.body.ID, seq), st.body.ID, seq
		if r.CreatedAt.IsZero() { // an import brings its times
			r.CreatedAt = now
		}
		r.UpdatedAt = r.CreatedAt
		c.Put = append(c.Put, Put{Record: r, Vectors: a.vectors[i]})
	}
}

// embed makes the vectors of the batch for the active space, again if that changes.
func (a *appending) embed(ctx context.Context) error {
	active, err := a.s.m.expectedSpace(ctx, false)
	if err != nil || a.made && active == a.space {
		return err
	}
	a.vectors = a.s.m.engine.embedInPassing(ctx, a.s.m.view.Tenant, a.drafts)
	a.space, a.made = active, true
	return nil
}

// embedPatience is how long an append waits for vectors, whatever the embedder.
const embedPatience = 500 * time.Millisecond

// embedRest is how long appends leave an embedder alone that has not answered one.
const embedRest = 30 * time.Second

// resting is until when appends leave an embedder alone, in Unix milliseconds.
type resting struct{ until atomic.Int64 }

// embedInPassing makes the vectors of records that must not wait for them: as many
// as there is patience for. The others follow by [Engine.Backfill].
func (e *Engine) embedInPassing(ctx context.Context, t Tenant, records []Record) [][]Vectors {
	vectors := make([][]Vectors, len(records))
	if e.own == nil {
		return vectors
	}
	encoders := e.writers(ctx, t)
	for _, c := range encoders {
		e.embedPart(ctx, t, c, records, vectors)
	}
	if !slices.Equal(encoders, e.writers(ctx, t)) { // with the first answer the embedder has learnt its dimensions
		clear(vectors)
		e.generations(t).setLagging(true)
	}
	return vectors
}

// embedPart adds the vectors of one encoder, a few records a call, until the patience is over.
func (e *Engine) embedPart(ctx context.Context, t Tenant, c *encoder, records []Record, vectors [][]Vectors) {
	begun := time.Now() // a duration, not a date: not the engine's clock
	for i := 0; i < len(records); {
		left := embedPatience - time.Since(begun)
		if left <= 0 || begun.UnixMilli() < c.resting.until.Load() {
			e.generations(t).lag(c)
			return
		}
		var texts []string
		end := i
		for ; end < len(records) && (end == i || len(texts)+len(records[end].Passages) <= 16); end++ {
			for _, p := range records[end].Passages {
				texts = append(texts, p.Of(records[end].Text))
			}
		}
		if len(texts) == 0 {
			i = end
			continue
		}
		rows, err := c.vectors(ctx, texts, left)
		if err != nil {
			if ctx.Err() == nil {
				c.resting.until.Store(time.Now().Add(embedRest).UnixMilli())
			}
			e.lag(ctx, t, c, err)
			return
		}
		for ; i < end; i++ {
			if n := len(records[i].Passages); n > 0 {
				vectors[i] = append(vectors[i], Vectors{Space: c.space(), Rows: rows[:n:n]})
				rows = rows[n:]
			}
		}
	}
}
