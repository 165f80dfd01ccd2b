// Package storetest is the contract of [loci.Store] as one suite of tests. A store
// is done when it passes, with a test file that says little else than
//
//	storetest.Run(t, storetest.Target{Open: open, Reopen: reopen, Shared: shared})
//
// The suite is greedy: every case gets a fresh store, tries letter case, ties,
// odd names, races and cancelled contexts, and in the end asks the store's own
// Check whether anything was damaged on the way.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"go.uber.org/goleak"
)

// A Target is a store under test.
type Target struct {
	// Open returns a fresh, empty store. The suite closes it.
	Open func(t *testing.T) loci.Store

	// Reopen closes a store and opens the same data again. Nil: data does not
	// outlive the store, and what is said about that is not tested.
	Reopen func(t *testing.T, s loci.Store) loci.Store

	// Shared returns a second handle on the data of an open store, such as
	// another process would hold. Nil: there can be none.
	Shared func(t *testing.T, s loci.Store) loci.Store

	// Indexed leaves out what no search is asked in. It is for a store that keeps its index
	// elsewhere than in another run of the suite, and everything else in the same place.
	Indexed bool
}

// A testCase is one sentence of the contract, or a few that belong together.
type testCase struct {
	name string
	run  func(b *bench)
}

// Run runs every case against a target. Cases run in parallel with one another;
// Run itself must not run beside other tests, since it ends by looking for
// goroutines that the stores left behind.
func Run(t *testing.T, target Target) {
	before := goleak.IgnoreCurrent()
	cases := slices.Concat(
		applyCases, eraseCases, generationCases, lifecycleCases, chainCases, contextCases, quotaCases,
		concurrencyCases, closeCases,
	)
	if !raced {
		cases = append(cases, searches()...)
	}
	if !raced && !target.Indexed {
		cases = append(cases, records()...)
	}
	if target.Reopen != nil {
		cases = append(cases, reopenCases...)
	}
	if target.Shared != nil {
		cases = append(cases, sharedCases...)
	}
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, target)
				c.run(b)
				b.sound()
			})
		}
	})
	if err := goleak.Find(before); err != nil {
		t.Errorf("a closed store left goroutines behind: %v", err)
	}
}

// searches and records are the cases with one caller, who waits for each answer: what they
// ask of a store's own goroutines, the others ask too. The race detector, which makes them
// most of its time, has nothing to find in them; `make test` runs them without it.
func searches() []testCase {
	return slices.Concat(
		longestCases, revisionCases, touchCases, roundTripCases, orderCases, filterCases, matchCases,
		bearerCases, misspeltCases, wishCases, sequenceCases, phraseCases, selectionCases, queryCases, vectorCases,
		nameCases, tenantCases,
	)
}

// records are the cases that ask for what is kept, and never search.
func records() []testCase {
	return slices.Concat(slotCases, recordCases, measureCases, linkCases, eventCases, idempotencyCases)
}

// A bench is what one case works on: a fresh store and a tenant in it.
type bench struct {
	*testing.T
	target Target
	store  loci.Store
	tenant loci.Tenant
	watch  watch
	made   int // batches of better records; see [bench.unseen]
}

func newBench(t *testing.T, target Target) *bench {
	b := &bench{T: t, target: target, tenant: tenant(t, "acme"), watch: defaultWatch()}
	b.hold(target.Open(t))
	return b
}

// hold makes s the store of the bench; it is closed at the end of the case.
func (b *bench) hold(s loci.Store) {
	b.store = s
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
}

// handles returns the store and, where there can be one, a second handle on it.
func (b *bench) handles() []loci.Store {
	if b.target.Shared == nil {
		return []loci.Store{b.store}
	}
	return []loci.Store{b.store, b.share()}
}

// share opens a second handle, closed at the end of the case.
func (b *bench) share() loci.Store {
	b.Helper()
	s := b.target.Shared(b.T, b.store)
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("Close of the second handle: %v", err)
		}
	})
	return s
}

// sound asks the store itself whether it is damaged. A store that a case closed
// has nothing to say.
func (b *bench) sound() {
	b.Helper()
	found, err := b.store.Check(b.Context(), b.tenant)
	if errors.Is(err, loci.ErrUnavailable) {
		return
	}
	b.must("Check", err)
	for _, finding := range found {
		b.Errorf("Check found damage: %s", finding)
	}
}

// must ends the case when a call failed that had to work.
func (b *bench) must(what string, err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%s: %v (cause: %v)", what, err, errors.Unwrap(err))
	}
}

// refused requires that a call failed with a code.
func (b *bench) refused(what string, err error, code loci.Code) {
	b.Helper()
	if problem := refusal(err, code); problem != "" {
		b.Errorf("%s: %s", what, problem)
	}
}

// refusal says what is wrong with an error that must have a code; "" is nothing.
func refusal(err error, code loci.Code) string {
	var e *loci.Error
	switch {
	case err == nil:
		return "there was no error; want " + string(code)
	case !errors.As(err, &e):
		return "the error is no *loci.Error: " + err.Error()
	case e.Code != code:
		return "code " + string(e.Code) + " (" + e.Error() + "); want " + string(code)
	}
	return ""
}

// codeOf is the code of an error, "" for none.
func codeOf(err error) loci.Code {
	if err == nil {
		return ""
	}
	var e *loci.Error
	if !errors.As(err, &e) {
		return loci.Code("not a *loci.Error: " + err.Error())
	}
	return e.Code
}

// apply makes a change that must succeed.
func (b *bench) apply(c loci.Change) {
	b.Helper()
	b.must("Apply", b.store.Apply(b.Context(), b.tenant, c))
}

// conflict makes a change that must conflict, and leave no trace.
func (b *bench) conflict(what string, c loci.Change) {
	b.Helper()
	b.unchanged(what, func() {
		b.Helper()
		b.refused(what, b.store.Apply(b.Context(), b.tenant, c), loci.Conflict)
	})
}

// put stores new records, one change each.
func (b *bench) put(records ...loci.Record) {
	b.Helper()
	for _, r := range records {
		b.apply(changeOf(loci.Put{Record: r}))
	}
}

// all lists everything a filter selects, over as many pages as it takes.
func (b *bench) all(f loci.Filter) []loci.Record {
	b.Helper()
	return allRecords(b.Context(), b, b.store, b.tenant, f, 1000)
}

// get reads one record, live or not; nil when there is none.
func (b *bench) get(id loci.ID) *loci.Record {
	b.Helper()
	records := b.all(loci.Filter{Within: everywhere, IDs: []loci.ID{id}, NotLive: true})
	if len(records) == 0 {
		return nil
	}
	return &records[0]
}

// match searches in the whole tenant unless the filter says where.
func (b *bench) match(p loci.Probe, f loci.Filter, limit int) []loci.Hit {
	b.Helper()
	if f.Within == nil {
		f.Within = everywhere
	}
	hits, err := b.store.Match(b.Context(), b.tenant, p, f, limit)
	b.must("Match", err)
	return tidy(hits)
}

// found lists the ids of hits.
func (b *bench) found(p loci.Probe) []loci.ID {
	b.Helper()
	return hitIDs(b.match(p, loci.Filter{}, 100))
}

// same requires that two values are equal; nil is the empty value.
func (b *bench) same(what string, got, want any) {
	b.Helper()
	if want == nil {
		want = reflect.Zero(reflect.TypeOf(got)).Interface()
	}
	if diff := difference(want, got); diff != "" {
		b.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// allRecords lists what a filter selects in pages of a size.
func allRecords(
	ctx context.Context, t tester, s loci.Store, tenant loci.Tenant, f loci.Filter, size int,
) (all []loci.Record) {
	t.Helper()
	return recordsInOrder(ctx, t, s, tenant, f, loci.NewestFirst, size)
}

// recordsInOrder lists what a filter selects in an order, in pages of a size.
func recordsInOrder(
	ctx context.Context, t tester, s loci.Store, tenant loci.Tenant, f loci.Filter, order loci.Order, size int,
) (all []loci.Record) {
	t.Helper()
	for cursor := ""; ; {
		records, next, err := s.Records(ctx, tenant, f, loci.Page{Limit: size, Cursor: cursor, Order: order})
		if err != nil {
			t.Fatalf("Records: %v", err)
		}
		if len(records) > size || next != "" && len(records) < size {
			t.Fatalf("Records returned a page of %d of at most %d, next %q", len(records), size, next)
		}
		all = append(all, records...)
		if next == cursor && next != "" {
			t.Fatalf("Records: the page after %q starts there again", cursor)
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// allEvents lists what a filter selects in pages of a size.
func allEvents(
	ctx context.Context, t tester, s loci.Store, tenant loci.Tenant, f loci.EventFilter, size int,
) (all []loci.Event) {
	t.Helper()
	for cursor := ""; ; {
		events, next, err := s.Events(ctx, tenant, f, loci.Page{Limit: size, Cursor: cursor})
		if err != nil {
			t.Fatalf("Events: %v", err)
		}
		if len(events) > size || next != "" && len(events) < size {
			t.Fatalf("Events returned a page of %d of at most %d, next %q", len(events), size, next)
		}
		all = append(all, events...)
		if next == cursor && next != "" {
			t.Fatalf("Events: the page after %q starts there again", cursor)
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}
