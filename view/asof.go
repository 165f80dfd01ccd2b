package view

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

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
// [loci.RetentionOptions].Revisions), otherwise the oldest kept ones. The end of a fact's truth is
// left out if it was learned later. Decay plays no part: it says how sure one is
// today, so the validity of each is active or superseded. The list is newest first.
func AsOf(
	ctx context.Context, m *loci.Memory, q AsOfQuery, page loci.Page,
) (facts []loci.Fact, next string, err error) {
	now := m.Now()
	for _, t := range []*time.Time{&q.Valid, &q.Known} {
		if t.IsZero() {
			*t = now
		}
	}
	if q.Tags, err = loci.CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	f := reach(m, now, loci.KindFact)
	f.NotLive, f.Scopes, f.Until = true, q.Scopes, q.Known.Add(1) // what came later is not read
	page.Limit = cmp.Or(page.Limit, 100)
	return gather(ctx, m, []loci.Filter{f}, page, func(r *loci.Record) (loci.Fact, bool, error) {
		return asOf(ctx, m, r, &q, now)
	})
}

// asOf brings a fact to what was known of it; ok is false when that does not match.
func asOf(
	ctx context.Context, m *loci.Memory, r *loci.Record, q *AsOfQuery, now time.Time,
) (f loci.Fact, ok bool, err error) {
	if f, err = loci.FactOf(r, now); err != nil || f.CreatedAt.After(q.Known) {
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
		f.Validity = loci.Superseded
	} else {
		f.Validity, f.ValidUntil, f.ClosedAt, f.SupersededBy = loci.Active, time.Time{}, time.Time{}, loci.ID{}
	}
	if q.Valid.Before(f.ValidFrom) || closed && !q.Valid.Before(f.ValidUntil) {
		return f, false, nil
	}
	if f.UpdatedAt.After(q.Known) {
		if err := earlierWords(ctx, m, r, &f, q.Known); err != nil {
			return f, false, err
		}
	}
	return f, hasAll(f.Tags, q.Tags), nil
}

// earlierWords gives a fact the state it had at a moment.
func earlierWords(ctx context.Context, m *loci.Memory, r *loci.Record, f *loci.Fact, known time.Time) error {
	revisions, err := m.Revisions(ctx, r.ID)
	if err != nil {
		return err
	}
	for i := range revisions { // newest first
		v := &revisions[i]
		then, err := loci.FactOf(earlier(r, v), v.UpdatedAt)
		if err != nil {
			return err
		}
		f.Content, f.Value, f.Metadata, f.Tags = then.Content, then.Value, then.Metadata, then.Tags
		f.UpdatedAt, f.Version = v.UpdatedAt, v.Version
		if !v.UpdatedAt.After(known) {
			break
		}
	}
	return nil
}

// earlier is a record with the words of an earlier state.
func earlier(r *loci.Record, v *loci.Revision) *loci.Record {
	then := *r
	then.Text, then.Tags, then.Attributes = v.Text, v.Tags, v.Attributes
	return &then
}

// hasAll reports whether have contains every one of want.
func hasAll(have, want []string) bool {
	return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
}
