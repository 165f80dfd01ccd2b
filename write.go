package loci

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/internal/seal"
	"github.com/loci-memory/loci/internal/sequence"
)

// maxAttempts bounds how often a write is decided again after a conflict. Each conflict means that another writer went
// ahead, so 64 writers of one record can all get through.
const maxAttempts = 64

// ErrStale is what a decision returns if another writer has changed what it read: the write is then decided again.
var ErrStale = errors.New("what the decision was made from has changed")

// A Decision is what a write wants: the change, the reply, and the record the reply speaks of.
type Decision[R any] struct {
	Change Change
	Reply  R
	Record ID
	Embed  Embedding // of the puts that have passages of a new text and no vectors
	Then   func()    // not nil: the change is a step. When it is made Then is called, and the write is decided again; the last one has Reply and Record
}

// Commit runs a write: it answers a repeated request with the stored reply, otherwise lets decide read and decide, cuts
// and embeds new texts, applies the change, and starts over when another writer was quicker. request identifies what
// was asked, as JSON. A nil request is a step of a larger call, to which the handle's idempotency key does not belong.
func Commit[R any](
	ctx context.Context, m *Memory, op string, request any, decide func(now time.Time) (Decision[R], error),
) (reply R, err error) {
	e := m.engine
	key, fingerprint, err := m.idempotency(op, request)
	if err != nil {
		return reply, err
	}
	var vectors madeVectors
	for attempt := 0; attempt < maxAttempts; attempt++ {
		if err := patience.BetweenAttempts(ctx, attempt); err != nil {
			return reply, AsError(err)
		}
		// What is taken for the active space may be out of date: after a conflict it is read again.
		active, err := m.expectedSpace(ctx, attempt > 0)
		if err != nil {
			return reply, err
		}
		now := e.now()
		if done, err := m.replied(ctx, op, key, fingerprint, now, &reply); done || err != nil {
			return reply, err
		}
		d, err := decide(now)
		if errors.Is(err, ErrStale) {
			continue
		}
		if err != nil {
			return reply, err
		}
		if key != "" && d.Then == nil {
			value, err := MarshalJSON(d.Reply)
			if err != nil {
				return reply, &Error{Code: Internal, Op: op, Err: err}
			}
			d.Change.Reply = &Reply{Key: key, Fingerprint: fingerprint, Value: value, Record: d.Record, At: now,
				ExpiresAt: now.Add(e.opts.Retention.IdempotencyTTL)}
		}
		if d.Change.Empty() && !d.Change.Settled {
			return d.Reply, nil
		}
		if err := m.checkPuts(&d.Change); err != nil {
			return reply, err
		}
		for i := range d.Change.Put {
			r := &d.Change.Put[i].Record
			if r.Version == 1 && e.featureOf(r.Kind) == nil {
				m.join(r, now)
			}
			if !d.Change.Put[i].SameText {
				e.cutPassages(r)
			}
		}
		vectors.add(ctx, m, &d.Change, d.Embed, active)
		d.Change.expect(active)
		switch err = m.apply(ctx, &d.Change, now); {
		case err == nil && d.Then != nil:
			d.Then()
			attempt = -1
		case err == nil:
			return d.Reply, nil
		case !errors.Is(err, ErrConflict):
			return reply, err
		}
	}
	return reply, &Error{Code: Conflict, Op: op, Msg: "too many others are changing this memory at the same time",
		Recovery: "Try again."}
}

// apply applies a change. An erase may take other records along that only the store knows, such as the writes of a
// checkpoint. When the log has details of these, apply adds an erased event for each.
func (m *Memory) apply(ctx context.Context, c *Change, now time.Time) error {
	if quota := m.engine.opts.Quota; quota != nil {
		q, err := quota(ctx, m.view.Tenant)
		if err != nil {
			return err
		}
		if c.Quota = nil; q != (Quota{}) {
			c.Quota = &q
		}
	}
	err := m.engine.store.Apply(ctx, m.view.Tenant, *c)
	var untold *UntoldError
	if !errors.As(err, &untold) {
		return err
	}
	for part := range slices.Chunk(untold.IDs, 500) {
		f := Filter{Within: []Namespace{{}}, IDs: part, NotLive: true}
		records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: len(part), NoText: true})
		if err != nil {
			return err
		}
		for i := range records {
			r := &records[i]
			c.Events = append(c.Events, m.event(EventErased, r, now, map[string]any{"version": r.Version}))
		}
	}
	return m.engine.store.Apply(ctx, m.view.Tenant, *c)
}

// join puts a new record that has no place behind what was saved before it, in the
// conversation that its attributes name, else in that of the handle. What is older stands
// where its time is. false: it has a place already, or there is no such conversation.
func (m *Memory) join(r *Record, now time.Time) bool {
	if r.Sequence != "" {
		return false
	}
	if r.Sequence = cmp.Or(sequence.Named(r.Attributes), m.view.Sequence); r.Sequence == "" {
		return false
	}
	if r.CreatedAt.IsZero() || r.CreatedAt.Equal(now) {
		r.Position = m.engine.places.Next(now)
	} else {
		r.Position = sequence.At(r.CreatedAt)
	}
	return true
}

// CheckCreated brings the time when a memory was made to the form of stores; the zero
// time stays. It must lie between 1900 and a day from now.
func CheckCreated(t, now time.Time) (time.Time, error) {
	if t.IsZero() {
		return t, nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.Year() < 1900 || t.After(now.Add(24*time.Hour)) {
		return t, Errorf(Invalid, "created_at is %s; it must be in 1900 or later and not after tomorrow: leave it out for now",
			ShowTime(t))
	}
	return t, nil
}

// expectedSpace is the active space that a write makes vectors for; fresh reads it from the store.
func (m *Memory) expectedSpace(ctx context.Context, fresh bool) (Space, error) {
	switch {
	case m.engine.own == nil:
		return Space{}, nil
	case fresh:
		return m.engine.look(ctx, m.view.Tenant)
	}
	return m.engine.activeSpace(ctx, m.view.Tenant)
}

// expect makes the change depend on the active space if it holds vectors.
func (c *Change) expect(active Space) {
	for i := range c.Put {
		if len(c.Put[i].Vectors) > 0 {
			c.Active = &active
			return
		}
	}
}

// replay decodes a stored reply; numbers of metadata stay exact.
func replay(value json.RawMessage, reply any) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	if err := d.Decode(reply); err != nil {
		return &Error{Code: Internal, Op: "read stored reply", Err: err}
	}
	return nil
}

// replied answers a repeated request with the stored reply; false: it is a new one.
func (m *Memory) replied(ctx context.Context, op, key, fingerprint string, now time.Time, reply any) (bool, error) {
	if key == "" {
		return false, nil
	}
	stored, err := m.engine.store.Replied(ctx, m.view.Tenant, key)
	if err != nil || stored == nil || !now.Before(stored.ExpiresAt) {
		return false, err
	}
	if stored.Fingerprint != fingerprint {
		return false, &Error{Code: Conflict, Op: op, Msg: "this idempotency key was used for another request",
			Recovery: "Use a new key for a new request; repeat a request unchanged."}
	}
	return true, replay(stored.Value, reply)
}

// idempotency derives the stored key and the request's fingerprint. The key
// includes who asks and where, so that nobody meets another caller's reply.
func (m *Memory) idempotency(op string, request any) (key, fingerprint string, err error) {
	if m.view.IdempotencyKey == "" || request == nil {
		return "", "", nil
	}
	body, err := json.Marshal(request)
	if err != nil {
		return "", "", Errorf(Invalid, "the request is not JSON: %s", jsonform.Fault(err))
	}
	key = digest(m.view.Actor, m.view.Namespace.Key(), m.view.IdempotencyKey)
	// The fingerprint includes the key: the digest of a short text alone could be guessed.
	return key, digest(key, op, string(body)), nil
}

// digest hashes parts so that no two different lists of parts collide.
func digest(parts ...string) string { return seal.Digest(parts...) }

// event makes an audit event about a record.
func (m *Memory) event(typ EventType, r *Record, now time.Time, payload map[string]any) Event {
	e := Event{ID: m.engine.opts.NewID(), Type: typ, Kind: r.Kind, Entity: r.ID, Namespace: r.Namespace, At: now,
		Actor: m.view.Actor, RequestID: m.view.RequestID}
	if len(payload) > 0 {
		e.Payload, _ = jsonform.Marshal(payload) // strings, numbers, times and ids only: cannot fail
		e.Nonce = seal.NewNonce()
	}
	return e
}

// restated is the change that puts the next state of a record whose words stay the same. It keeps no earlier state.
func restated(r Record, events ...Event) Change {
	return Change{Put: []Put{{Record: r, SameText: true, Revisions: keptRevisions}}, Events: events}
}

// restate adds such a change.
func (c *Change) restate(r Record, events ...Event) {
	more := restated(r, events...)
	c.Put, c.Events = append(c.Put, more.Put...), append(c.Events, more.Events...)
}

// one reads the record of an id that the filter selects; NotFound otherwise.
func (m *Memory) one(ctx context.Context, f Filter, id ID) (Record, error) {
	f.IDs = []ID{id}
	records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
	if err != nil {
		return Record{}, err
	}
	if len(records) == 0 {
		return Record{}, notFound(id)
	}
	return records[0], nil
}

// kept reads a record by its id, even one that is no longer live, and returns the moment of reading.
func (m *Memory) kept(ctx context.Context, id ID, kinds ...Kind) (r Record, at time.Time, err error) {
	f := m.readable(m.engine.now(), kinds...)
	f.NotLive = true
	r, err = m.one(ctx, f, id)
	return r, f.At, err
}

func notFound(id ID) error { return Errorf(NotFound, "no memory with id %s", id) }
