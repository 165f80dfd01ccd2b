package loci

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/lifecycle"
)

func (m *Memory) decideFact(ctx context.Context, draft *factDraft, look bool, now time.Time) (Decision[Stored], error) {
	var out Decision[Stored]
	var holder *Record
	if look {
		var err error
		if holder, err = m.slotHolder(ctx, &draft.Record); err != nil {
			return out, err
		}
	}
	if holder != nil && !draft.isKeyed() {
		return m.confirm(holder, draft.Tags, now)
	}
	var near nearness
	if !m.engine.opts.Content.KeepDuplicates {
		var err error
		if near, err = m.compare(ctx, draft, now); err != nil {
			return out, err
		}
	}
	if !near.shown.IsZero() {
		return Decision[Stored]{Reply: Stored{ID: near.shown, Outcome: DuplicateOf}, Record: near.shown}, nil
	}
	var err error
	out.Reply, err = m.addFact(ctx, &out.Change, draft, holder, now)
	out.Record = out.Reply.ID
	out.Reply.RelatedTo, out.Reply.PossibleUpdateOf = near.related, near.updates
	for _, to := range []ID{near.related, near.updates} {
		if !to.IsZero() {
			out.Change.Links = append(out.Change.Links, Link{From: out.Record, Type: LinkRelatedTo, To: to, At: now})
		}
	}
	return out, err
}

// Supersede stores a fact in the place of a live one, a note too: the old one is
// superseded, and the new one has its key. NotFound: there is no such fact in this
// namespace; Conflict: it is no longer live, or another one says what the new one says.
func (m *Memory) Supersede(ctx context.Context, id ID, in NewFact) (Stored, error) {
	old, err := m.Fact(ctx, id)
	if err != nil {
		return Stored{}, err
	}
	if in.Subject+in.Predicate+in.Scope != "" {
		return Stored{}, Errorf(Invalid, "subject, predicate and scope are those of the old fact: leave them out")
	}
	in.Subject, in.Predicate, in.Scope = old.Subject, old.Predicate, old.Scope
	draft, err := m.draft(in)
	if err != nil {
		return Stored{}, err
	}
	request := map[string]any{"id": id, "fact": in}
	return Commit(ctx, m, "supersede", request, func(now time.Time) (d Decision[Stored], err error) {
		r, err := m.one(ctx, m.writable(now, KindFact), id)
		if err != nil {
			return d, err
		}
		if !r.Live || r.Ended(now) {
			return d, Errorf(Conflict, "the fact %s no longer holds: restore it, or store a new one", id)
		}
		if holder, err := m.slotHolder(ctx, &draft.Record); err != nil {
			return d, err
		} else if holder != nil && (holder.ID != id || !draft.isKeyed()) {
			return d, Errorf(Conflict, "the fact %s says this already: confirm it, and forget the old one", holder.ID)
		}
		d.Reply, err = m.addFact(ctx, &d.Change, draft, &r, now)
		d.Record = d.Reply.ID
		return d, err
	})
}

// addFact adds a new fact to a change. The fact that it replaces, if any, gives way.
func (m *Memory) addFact(ctx context.Context, c *Change, draft *factDraft, old *Record, now time.Time) (Stored, error) {
	e := m.engine
	r := draft.Record
	body := draft.body
	body.Joined = m.join(&r, now)
	dated := !body.ValidFrom.IsZero() || !r.CreatedAt.IsZero()
	setDefault(&r.CreatedAt, now)
	setDefault(&body.ValidFrom, r.CreatedAt)
	r.ID, r.UpdatedAt, body.ConfirmedAt = e.opts.NewID(), now, now
	reply := Stored{ID: r.ID, Outcome: Created}
	payload := map[string]any{"version": 1, "bytes": len(r.Text)}
	if old != nil {
		superseded, err := m.giveWay(c, old, &body, r.ID, !dated, now)
		if err != nil {
			return reply, err
		}
		if superseded {
			c.Links = append(c.Links, Link{From: r.ID, Type: LinkSupersedes, To: old.ID, At: now})
			reply.Outcome, reply.Superseded = SupersededOld, old.ID
			payload["supersedes"] = old.ID
		}
	}
	if err := setFact(&r, body); err != nil {
		return reply, err
	}
	c.Put = append(c.Put, Put{Record: r, Vectors: e.embed(ctx, m.view.Tenant, &r)})
	c.Events = append(c.Events, m.event(EventCreated, &r, now, payload))
	return reply, nil
}

// slotHolder returns the record that holds r's slot, or nil.
func (m *Memory) slotHolder(ctx context.Context, r *Record) (*Record, error) {
	if r.Slot == "" {
		return nil, nil
	}
	f := Filter{Within: []Namespace{r.Namespace}, Exact: true, Kinds: []Kind{r.Kind}, Slot: &r.Slot, NotLive: true}
	held, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: 1})
	if err != nil || len(held) == 0 {
		return nil, err
	}
	return &held[0], nil
}

// confirm answers a repeated note with the existing one and restarts its clock.
func (m *Memory) confirm(old *Record, tags []string, now time.Time) (Decision[Stored], error) {
	r := *old
	body, err := readFact(&r)
	if err != nil {
		return Decision[Stored]{}, err
	}
	r.Version++
	body.ConfirmedAt, body.Validity = lifecycle.Later(now, body.ConfirmedAt), Active
	for _, tag := range tags {
		if !slices.Contains(r.Tags, tag) && len(r.Tags) < MaxTags {
			r.Tags = append(slices.Clone(r.Tags), tag)
			r.UpdatedAt = now
		}
	}
	if err := setFact(&r, body); err != nil {
		return Decision[Stored]{}, err
	}
	change := restated(r, m.event(EventConfirmed, &r, now, map[string]any{"version": r.Version}))
	return Decision[Stored]{Reply: Stored{ID: r.ID, Outcome: DuplicateOf}, Record: r.ID, Change: change}, nil
}

// giveWay takes the slot of a key from the fact that holds it. A live fact is superseded: it was true until the new
// fact became true. An expired fact stays expired: there is nothing left to supersede. fromNow says that the caller did
// not date the new fact. It then begins no earlier than the old one, even if the clock was set back in between.
func (m *Memory) giveWay(
	c *Change, old *Record, next *factBody, by ID, fromNow bool, now time.Time,
) (superseded bool, err error) {
	r := *old
	body, err := readFact(&r)
	if err != nil {
		return false, err
	}
	noted := body.Validity
	superseded = r.validityAt(noted, now) != Expired
	if fromNow {
		next.ValidFrom = lifecycle.Later(next.ValidFrom, body.ValidFrom)
	}
	body.ValidUntil, body.ClosedAt = lifecycle.Later(next.ValidFrom, body.ValidFrom), lifecycle.Later(now, r.CreatedAt)
	if superseded {
		next.Supersedes = r.ID
		body.Validity, body.SupersededBy = Superseded, by
		c.Events = append(c.Events, m.event(EventSuperseded, &r, now, map[string]any{"by": by}))
	} else {
		body.Validity = Expired
		c.Events = append(c.Events, m.transitions(&r, noted, Expired, now)...)
		if len(c.Events) == 0 { // the sweep has written that event already: only the key moves on
			c.Events = append(c.Events, m.event(EventUpdated, &r, now, map[string]any{"key_taken_by": by}))
		}
	}
	r.Version++
	r.Live, r.Slot = false, ""
	if err := setFact(&r, body); err != nil {
		return superseded, err
	}
	c.restate(r)
	return superseded, nil
}

// maxChain bounds the facts that History follows.
const maxChain = 10_000

// History returns the chain of supersession a fact is in, oldest first: the facts that gave way one to the next under
// its key. Erased ones end the chain. At most 10,000 are returned, those nearest to the fact.
func (m *Memory) History(ctx context.Context, id ID) ([]Fact, error) {
	fact, err := m.Fact(ctx, id)
	if err != nil {
		return nil, err
	}
	older, err := m.follow(ctx, &fact, maxChain/2, func(f *Fact) ID { return f.Supersedes })
	if err != nil {
		return nil, err
	}
	newer, err := m.follow(ctx, &fact, maxChain-1-len(older), func(f *Fact) ID { return f.SupersededBy })
	if err != nil {
		return nil, err
	}
	slices.Reverse(older)
	return slices.Concat(older, []Fact{fact}, newer), nil
}

// follow reads the facts that come after one in a direction.
func (m *Memory) follow(ctx context.Context, fact *Fact, limit int, next func(*Fact) ID) (chain []Fact, err error) {
	for id := next(fact); !id.IsZero() && len(chain) < limit; id = next(&chain[len(chain)-1]) {
		f, err := m.Fact(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return chain, nil
		}
		if err != nil {
			return nil, err
		}
		chain = append(chain, f)
	}
	return chain, nil
}
