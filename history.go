package loci

import (
	"context"
	"errors"
	"time"
)

// maxChain bounds the facts that History follows.
const maxChain = 10_000

// History returns the chain of supersession a fact is in, oldest first: the facts
// that gave way one to the next under its key. Erased ones end the chain. At most
// 10,000 are returned, those nearest to the fact.
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
	chain := make([]Fact, 0, len(older)+1+len(newer))
	for i := range older {
		chain = append(chain, older[len(older)-1-i])
	}
	return append(append(chain, fact), newer...), nil
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

// An AsOfQuery asks what was believed about a moment, as known at a moment.
type AsOfQuery struct {
	Valid time.Time // when it was true; zero: now
	Known time.Time // what was known by then; zero: now

	Subject   string // of the facts; empty: any
	Predicate string // of the facts; empty: any
	Scopes    []string
	Tags      []string
}

// AsOf answers from history: the facts that had been learned by Known and not been
// given up by then, and that were true at Valid as far as was known by then. Words,
// tags and metadata are those of that time where that state is still kept (see
// [Options].Revisions), otherwise the oldest kept ones. The end of a fact's truth is
// left out if it was learned later. Decay plays no part: it says how sure one is
// today, so the validity of each is active or superseded. The list is newest first.
func (m *Memory) AsOf(ctx context.Context, q AsOfQuery, page Page) (facts []Fact, next string, err error) {
	now := m.engine.now()
	for _, t := range []*time.Time{&q.Valid, &q.Known} {
		if t.IsZero() {
			*t = now
		}
	}
	if q.Tags, err = CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	f := m.readable(now, KindFact)
	f.NotLive, f.Scopes = true, q.Scopes
	if page.Limit == 0 {
		page.Limit = 100
	}
	for limit := page.Limit; ; {
		page.Limit = limit - len(facts) // so that the cursor is right behind the last one
		records, cursor, err := m.engine.store.Records(ctx, m.view.Tenant, f, page)
		if err != nil {
			return nil, "", err
		}
		for i := range records {
			fact, ok, err := m.asOf(ctx, &records[i], &q, now)
			if err != nil {
				return nil, "", err
			}
			if ok {
				facts = append(facts, fact)
			}
		}
		if page.Cursor = cursor; cursor == "" || len(facts) == limit {
			return facts, cursor, nil
		}
	}
}

// asOf brings a fact to what was known of it; ok is false when that does not match.
func (m *Memory) asOf(ctx context.Context, r *Record, q *AsOfQuery, now time.Time) (f Fact, ok bool, err error) {
	if f, err = FactOf(r, now); err != nil || f.CreatedAt.After(q.Known) {
		return f, false, err
	}
	if q.Subject != "" && f.Subject != q.Subject || q.Predicate != "" && f.Predicate != q.Predicate {
		return f, false, nil
	}
	if !f.RetractedAt.IsZero() && !f.RetractedAt.After(q.Known) { // it is not believed to have been true
		return f, false, nil
	}
	f.RetractedAt = time.Time{}
	closed := !f.ClosedAt.IsZero() && !f.ClosedAt.After(q.Known)
	if closed {
		f.Validity = Superseded
	} else {
		f.Validity, f.ValidUntil, f.ClosedAt, f.SupersededBy = Active, time.Time{}, time.Time{}, ID{}
	}
	if q.Valid.Before(f.ValidFrom) || closed && !q.Valid.Before(f.ValidUntil) {
		return f, false, nil
	}
	if f.UpdatedAt.After(q.Known) {
		if err := m.earlierWords(ctx, r, &f, q.Known); err != nil {
			return f, false, err
		}
	}
	return f, hasAll(f.Tags, q.Tags), nil
}

// earlierWords gives a fact the state it had at a moment.
func (m *Memory) earlierWords(ctx context.Context, r *Record, f *Fact, known time.Time) error {
	revisions, err := m.engine.store.Revisions(ctx, m.view.Tenant, r.ID)
	if err != nil {
		return err
	}
	for _, v := range revisions { // newest first
		f.Content, f.Tags, f.UpdatedAt, f.Version = v.Text, v.Tags, v.UpdatedAt, v.Version
		if f.Value, f.Metadata, err = splitAttributes(v.Attributes); err != nil {
			return err
		}
		if f.Value != nil {
			f.Content = string(f.Value)
		}
		if !v.UpdatedAt.After(known) {
			break
		}
	}
	return nil
}
