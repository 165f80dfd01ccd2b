package loci

import (
	"context"
	"fmt"
	"slices"
)

// sessions writes the sessions in reach, each with its messages after it. They are
// listed by slot: by time one that goes on meanwhile would be passed over.
func (x *exporter) sessions(ctx context.Context, progress func(done int64)) error {
	store, t := x.m.engine.store, x.m.view.Tenant
	f := x.reach
	f.Kinds = []Kind{KindSession}
	namespaces, err := store.Namespaces(ctx, t, f)
	if err != nil {
		return err
	}
	for _, n := range namespaces {
		f.Within, f.Exact = []Namespace{n}, true
		inner := *x.m
		inner.view.Namespace = n.Owner()
		one := exporter{m: x.m, enc: x.enc, reach: f, order: SlotAscending}
		err := one.pages(ctx, func(ctx context.Context, r *Record) error {
			body, err := readSession(r)
			if err != nil {
				return err
			}
			if err := x.record(ctx, r); err != nil {
				return err
			}
			messages := exporter{m: x.m, enc: x.enc, reach: inner.Sessions().within(body.ID, 1, body.Last+1), order: SlotAscending}
			if err := messages.pages(ctx, x.record, nil); err != nil {
				return err
			}
			if progress != nil {
				progress(x.end.Records)
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// importSession checks the body of a session and redacts it.
func (m *Memory) importSession(r *Record) error {
	b, err := readSession(r)
	switch {
	case err != nil:
		return Errorf(Invalid, "body is not that of a session: %v", err)
	case !r.Namespace.is(placeSessions):
		return Errorf(Invalid, "namespace of the session must end with \"sessions\"")
	}
	if err := checkSessionID(b.ID); err != nil {
		return err
	}
	if err := checkSessionLimits(b.MaxMessages, b.TimeoutSeconds); err != nil {
		return err
	}
	if b.Metadata, err = m.engine.sessionMetadata(b.Metadata); err != nil {
		return err
	}
	if b.CreatedAt, err = importTime("created_at", b.CreatedAt); err != nil {
		return err
	}
	if err := m.engine.checkSummary(b.Summary); err != nil {
		return err
	}
	if b.Last < 0 || b.Last > maxSeq {
		return Errorf(Invalid, "last_seq is %d; it must be 0 to %d", b.Last, int64(maxSeq))
	}
	b.Floor, b.Coherent = 0, false // what is imported may be incomplete
	r.Slot, r.Live, r.Text = b.ID, true, ""
	r.UpdatedAt = laterOf(r.UpdatedAt, b.CreatedAt)
	r.CreatedAt, r.EndsAt = r.UpdatedAt, m.engine.sessionEnd(&b, r.UpdatedAt)
	return setBody(r, b)
}

// importMessage checks the body of a message and makes its record anew.
func (m *Memory) importMessage(r *Record) error {
	stored, err := readMessage(r)
	switch {
	case err != nil:
		return Errorf(Invalid, "body is not that of a message: %v", err)
	case !r.Namespace.is(placeMessages):
		return Errorf(Invalid, "namespace of the message must end with \"messages\"")
	case r.Position < 1 || r.Position > maxSeq:
		return Errorf(Invalid, "position of the message is %d; it must be 1 to %d", r.Position, int64(maxSeq))
	}
	if err := checkSessionID(r.Sequence); err != nil {
		return err
	}
	if err := stored.Validate(); err != nil {
		return err
	}
	message, err := m.engine.redactMessage(stored.Message)
	if err != nil {
		return err
	}
	r.Slot, r.Live = messageSlot(r.Sequence, r.Position), true
	return m.engine.setMessage(r, message)
}

// sessionKey names the session that a record is, or is a message of.
func sessionKey(r *Record) string {
	id := r.Slot
	if r.Kind == KindMessage {
		id = r.Sequence
	}
	return digest(r.Namespace.Owner().Key(), id)
}

// joinSessions gives each message its session and each session the number of its
// messages, and puts the sessions at the end: an import that was stopped half way
// leaves no session without some of its messages.
func (in *importer) joinSessions() error {
	sessions := map[string]*Record{}
	counts := map[string]*sessionBody{}
	for i := range in.drafts {
		if r := &in.drafts[i].Record; r.Kind == KindSession {
			body, err := readSession(r)
			if err != nil {
				return err
			}
			body.Count = 0
			whole := *r
			sessions[sessionKey(r)], counts[sessionKey(r)] = &whole, &body
		}
	}
	if len(sessions) == 0 {
		return nil
	}
	for i := range in.drafts {
		if d := &in.drafts[i]; d.Kind == KindMessage {
			if body := counts[sessionKey(&d.Record)]; body != nil {
				d.session = sessions[sessionKey(&d.Record)]
				body.Count++
				body.Last = max(body.Last, d.Position)
			}
		}
	}
	for i := range in.drafts {
		if r := &in.drafts[i].Record; r.Kind == KindSession {
			if err := setBody(r, counts[sessionKey(r)]); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(in.drafts, func(a, b imported) int { return rankImported(&a) - rankImported(&b) })
	return nil
}

func rankImported(d *imported) int {
	if d.Kind == KindSession {
		return 1
	}
	return 0
}

// settleMessage decides about a message whose session is there already, or comes
// from nowhere.
func (m *Memory) settleMessage(ctx context.Context, d *imported, f *fate, sessions map[string]*Record) (settled bool, err error) {
	key := sessionKey(&d.Record)
	there, looked := sessions[key]
	if !looked {
		inner := *m
		inner.view.Namespace = d.Namespace.Owner()
		st, err := inner.Sessions().find(ctx, d.Sequence)
		if err != nil {
			return false, err
		}
		if st != nil {
			there = &st.record
		}
		sessions[key] = there
	}
	switch {
	case there == nil && d.session != nil:
		return false, nil
	case there == nil:
		f.conflict = fmt.Sprintf("%s: its session is neither there nor in the file", d.ID)
	case d.session != nil && sameSession(d.session, there):
		f.existing = true
	default:
		f.conflict = fmt.Sprintf("%s: its session is another one than %s", d.ID, there.ID)
	}
	return true, nil
}

// sameSession reports whether two records are one session: of an id, and of a moment.
func sameSession(a, b *Record) bool {
	x, errX := readSession(a)
	y, errY := readSession(b)
	return errX == nil && errY == nil && x.ID == y.ID && x.CreatedAt.Equal(y.CreatedAt)
}
