package session

import (
	"bytes"
	"context"
	"fmt"

	"github.com/loci-memory/loci"
)

// Lines writes the sessions, each with its messages after it. The list is by slot: a list
// by time would miss a session that goes on meanwhile.
func (Feature) Lines(ctx context.Context, m *loci.Memory, x *loci.Exporter) error {
	f := loci.Filter{Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{Kind}, NotLive: true}
	namespaces, err := m.Namespaces(ctx, f)
	if err != nil {
		return err
	}
	for _, n := range namespaces {
		inner, err := m.At(n.Owner())
		if err != nil {
			return err
		}
		f.Within, f.Exact = []loci.Namespace{n}, true
		err = x.Each(ctx, inner, f, loci.SlotAscending, func(ctx context.Context, r *loci.Record) error {
			body, err := readSession(r)
			if err != nil {
				return err
			}
			if err := loci.SetBody(r, body); err != nil { // its times get the form of the export's others
				return err
			}
			if err := x.Write(ctx, r); err != nil {
				return err
			}
			return x.Each(ctx, inner, Of(inner).within(body.ID, 1, body.Last+1), loci.SlotAscending, x.Write)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A taker takes sessions and messages out of an export. A session is stored whole or not
// at all: an existing one of its id stays, with its messages.
type taker struct {
	loci.PlainTaker
	m        *loci.Memory
	sessions map[string]*loci.Imported   // of the input, by key
	messages map[string][]*loci.Imported // of the input, by key of their session
}

// Take begins an import.
func (Feature) Take(m *loci.Memory) loci.Taker {
	return &taker{m: m, sessions: map[string]*loci.Imported{}, messages: map[string][]*loci.Imported{}}
}

// Take checks a session or a message; the kernel stores it.
func (t *taker) Take(d *loci.Imported) (kept bool, err error) {
	// A message's sequence names its session, and that keeps its id.
	if err := d.Clean(d.Kind == KindMessage); err != nil {
		return false, err
	}
	if d.Kind == KindMessage {
		err = importMessageRecord(t.m, &d.Record)
		t.messages[keyOf(&d.Record)] = append(t.messages[keyOf(&d.Record)], d)
		return false, err
	}
	err = importSession(t.m, &d.Record)
	t.sessions[keyOf(&d.Record)] = d
	return false, err
}

// Check gives each session the number of its messages.
func (t *taker) Check() error {
	for key, d := range t.sessions {
		body, err := readSession(&d.Record)
		if err != nil {
			return err
		}
		body.Count = int64(len(t.messages[key]))
		for _, message := range t.messages[key] {
			body.Last = max(body.Last, message.Position)
		}
		if err := loci.SetBody(&d.Record, body); err != nil {
			return err
		}
	}
	return nil
}

// Same compares sessions by what they are, messages by number and words.
func (t *taker) Same(a, b *loci.Record) bool {
	if a.Kind == Kind {
		return bytes.Equal(a.Attributes, b.Attributes) && sameSession(a, b)
	}
	return bytes.Equal(a.Attributes, b.Attributes) && a.Slot == b.Slot && a.Text == b.Text
}

// Settle decides about messages whose session is there already, or comes from nowhere.
func (t *taker) Settle(ctx context.Context, drafts []*loci.Imported) ([]loci.Verdict, error) {
	verdicts := make([]loci.Verdict, len(drafts))
	there := map[string]*loci.Record{} // sessions, as they are now
	for i, d := range drafts {
		if d.Kind != KindMessage {
			continue
		}
		key := keyOf(&d.Record)
		session, looked := there[key]
		if !looked {
			inner, err := t.m.At(d.Namespace.Owner())
			if err != nil {
				return nil, err
			}
			st, err := Of(inner).find(ctx, d.Sequence)
			if err != nil {
				return nil, err
			}
			if st != nil {
				session = &st.record
			}
			there[key] = session
		}
		verdicts[i] = t.settle(d, t.sessions[key], session)
	}
	return verdicts, nil
}

// settle decides about a message; own is its session in the input, there the one that
// is stored, and either may be nil.
func (t *taker) settle(d, own *loci.Imported, there *loci.Record) loci.Verdict {
	switch {
	case there == nil && own != nil:
		return loci.Verdict{}
	case there == nil:
		return loci.Verdict{Decided: true, Conflict: fmt.Sprintf("%s: its session is neither there nor in the file", d.ID)}
	case own != nil && sameSession(&own.Record, there):
		return loci.Verdict{Decided: true, Existing: true}
	}
	return loci.Verdict{Decided: true, Conflict: fmt.Sprintf("%s: its session is another one than %s", d.ID, there.ID)}
}

// importSession checks the body of a session and redacts it.
func importSession(m *loci.Memory, r *loci.Record) error {
	b, err := readSession(r)
	switch {
	case err != nil:
		return loci.Errorf(loci.Invalid, "body is not that of a session: %v", err)
	case !r.Namespace.Equal(r.Namespace.Owner().Inner(placeSessions)):
		return loci.Errorf(loci.Invalid, "namespace of the session must end with \"sessions\"")
	}
	if err := checkSessionID(b.ID); err != nil {
		return err
	}
	if err := checkSessionLimits(b.MaxMessages, b.TimeoutSeconds); err != nil {
		return err
	}
	if b.Metadata, err = cleanMetadata(m, b.Metadata); err != nil {
		return err
	}
	if b.CreatedAt, err = loci.CheckTime("created_at", b.CreatedAt); err != nil {
		return err
	}
	if err := checkSummary(m, b.Summary); err != nil {
		return err
	}
	if b.Last < 0 || b.Last > maxSeq {
		return loci.Errorf(loci.Invalid, "last_seq is %d; it must be 0 to %d", b.Last, int64(maxSeq))
	}
	b.Floor, b.Coherent = 0, false // what is imported may be incomplete
	r.Slot, r.Live, r.Text = b.ID, true, ""
	r.UpdatedAt = later(r.UpdatedAt, b.CreatedAt)
	r.CreatedAt, r.EndsAt = r.UpdatedAt, Of(m).options().end(&b, r.UpdatedAt)
	return loci.SetBody(r, b)
}

// importMessageRecord checks the body of a message and makes its record again.
func importMessageRecord(m *loci.Memory, r *loci.Record) error {
	stored, err := readMessage(r)
	switch {
	case err != nil:
		return loci.Errorf(loci.Invalid, "body is not that of a message: %v", err)
	case !r.Namespace.Equal(r.Namespace.Owner().Inner(placeMessages)):
		return loci.Errorf(loci.Invalid, "namespace of the message must end with \"messages\"")
	case r.Position < 1 || r.Position > maxSeq:
		return loci.Errorf(loci.Invalid, "position of the message is %d; it must be 1 to %d", r.Position, int64(maxSeq))
	}
	if err := checkSessionID(r.Sequence); err != nil {
		return err
	}
	if err := stored.Validate(); err != nil {
		return err
	}
	message, err := redactMessage(m, stored.Message)
	if err != nil {
		return err
	}
	r.Slot, r.Live = messageSlot(r.Sequence, r.Position), true
	return setMessage(m, r, message)
}

// keyOf names the session of a record, which is the session itself or a message of it.
func keyOf(r *loci.Record) string {
	id := r.Slot
	if r.Kind == KindMessage {
		id = r.Sequence
	}
	return r.Namespace.Owner().Key() + "\x00" + id
}

// sameSession reports whether two records are one session: of an id, and of a moment.
func sameSession(a, b *loci.Record) bool {
	x, errX := readSession(a)
	y, errY := readSession(b)
	return errX == nil && errY == nil && x.ID == y.ID && x.CreatedAt.Equal(y.CreatedAt)
}
