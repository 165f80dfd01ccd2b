package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/loci-memory/loci"
)

// A state is all that can be read about a tenant. Two equal states are one: that
// is how the suite finds out that a refused change left no trace, that another
// tenant's data made no difference, or that nothing was lost on reopening.
type state struct {
	Records    []loci.Record
	Events     []loci.Event
	Revisions  map[loci.ID][]loci.Revision
	Links      map[loci.ID][]loci.Link
	Replies    map[string]*loci.Reply
	Counts     map[loci.Space]loci.Counts
	Parts      map[string]loci.Counts // by kind, status and what else is asked for
	Namespaces []loci.Namespace
	Spaces     map[loci.Space]int64
	Active     loci.Space
	Unembedded map[loci.Space][]loci.ID
	Hits       [][]loci.Hit
	Chain      loci.Chain
	Held       loci.Holding
}

// countParts counts what a filter selects in parts, which must add up to the whole, each to what there is of it.
func (out *state) countParts(ctx context.Context, t tester, s loci.Store, tenant loci.Tenant, f loci.Filter) {
	t.Helper()
	if out.Parts == nil {
		out.Parts = map[string]loci.Counts{}
	}
	parts, sum := map[[2]string]loci.Counts{}, loci.Counts{}
	add := func(to *loci.Counts, c loci.Counts) {
		to.Records, to.Live, to.Passages = to.Records+c.Records, to.Live+c.Live, to.Passages+c.Passages
		to.Bytes, to.Unembedded = to.Bytes+c.Bytes, to.Unembedded+c.Unembedded
	}
	f.Each = func(kind loci.Kind, status string, c loci.Counts) {
		part := parts[[2]string{string(kind), status}]
		add(&part, c)
		parts[[2]string{string(kind), status}] = part
		add(&sum, c)
	}
	whole, err := s.Count(ctx, tenant, f)
	f.Each = nil
	if without, withoutErr := s.Count(ctx, tenant, f); err != nil || withoutErr != nil || whole != without {
		t.Fatalf("a count in parts is %+v, %v; without %+v, %v", whole, err, without, withoutErr)
	}
	if whole.Unembedded = 0; sum != whole {
		t.Fatalf("parts of a count add up to %+v; want %+v", sum, whole)
	}
	f.Space = loci.Space{}
	for of, part := range parts {
		if part == (loci.Counts{}) {
			continue
		}
		f.Kinds, f.Statuses = []loci.Kind{loci.Kind(of[0])}, []string{of[1]}
		if want, err := s.Count(ctx, tenant, f); err != nil || part != want {
			t.Fatalf("of %q there are %+v in parts; want %+v, %v", of, part, want, err)
		}
		out.Parts[fmt.Sprint(of, f.NotLive, f.Expired, f.Tags)] = part
	}
}

// A watch is what a state looks at beside the records there are.
type watch struct {
	ids    []loci.ID // also of records that may be gone
	keys   []string  // of replies
	probes []loci.Probe
}

func defaultWatch() watch {
	return watch{
		ids:  ids(1, 2, 3, 4, 5, 6, 7, 8),
		keys: []string{"key 1", "key 2", "key 3"},
		probes: []loci.Probe{words("walrus telescope"), direction(spaceA), direction(spaceB), direction(spaceC),
			both("harbour walrus", spaceA), both("telescope", spaceB)},
	}
}

// stateOf reads the state of a tenant.
func stateOf(ctx context.Context, t tester, s loci.Store, tenant loci.Tenant, w watch) (out state) {
	t.Helper()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	var err error
	everything := loci.Filter{Within: everywhere, NotLive: true}
	out.Records = allRecords(ctx, t, s, tenant, everything, 1000)
	out.Events = allEvents(ctx, t, s, tenant, loci.EventFilter{Within: everywhere}, 1000)
	out.Revisions, out.Links = map[loci.ID][]loci.Revision{}, map[loci.ID][]loci.Link{}
	known := slices.Clone(w.ids)
	for i := range min(len(out.Records), 16) {
		known = append(known, out.Records[i].ID)
	}
	for _, id := range known {
		out.Revisions[id], err = s.Revisions(ctx, tenant, id)
		must("Revisions", err)
		links, err := s.Links(ctx, tenant, id)
		must("Links", err)
		out.Links[id] = orderedLinks(t, links)
	}
	out.Replies = map[string]*loci.Reply{}
	for _, key := range w.keys {
		out.Replies[key], err = s.Replied(ctx, tenant, key)
		must("Replied", err)
	}
	out.Counts, out.Unembedded = map[loci.Space]loci.Counts{}, map[loci.Space][]loci.ID{}
	for _, space := range []loci.Space{spaceA, spaceB, spaceC} {
		f := everything
		f.Space = space
		out.Counts[space], err = s.Count(ctx, tenant, f)
		must("Count", err)
		records, err := s.Unembedded(ctx, tenant, space, loci.ID{}, 1000)
		must("Unembedded", err)
		out.Unembedded[space] = recordIDs(records)
	}
	for _, f := range []loci.Filter{
		{Space: spaceA, NotLive: true}, {At: at(1 << 20), Expired: true}, {Tags: []string{"t"}},
	} {
		f.Within = everywhere
		out.countParts(ctx, t, s, tenant, f)
	}
	out.Namespaces, err = s.Namespaces(ctx, tenant, everything)
	must("Namespaces", err)
	out.Chain, err = s.Chain(ctx, tenant)
	must("Chain", err)
	out.Held, err = s.Held(ctx, tenant)
	must("Held", err)
	out.Spaces, err = s.Spaces(ctx, tenant)
	must("Spaces", err)
	out.Active, err = s.ActiveSpace(ctx, tenant)
	must("ActiveSpace", err)
	for _, p := range w.probes {
		hits, err := s.Match(ctx, tenant, p, loci.Filter{Within: everywhere}, 3)
		must("Match", err)
		out.Hits = append(out.Hits, tidy(hits))
	}
	return out
}

// state reads the state of the bench's tenant.
func (b *bench) state() state {
	b.Helper()
	return stateOf(b.Context(), b, b.store, b.tenant, b.watch)
}

// unchanged requires that do leaves no trace in the bench's tenant.
func (b *bench) unchanged(what string, do func()) {
	b.Helper()
	before := b.state()
	do()
	b.same("state after "+what, b.state(), before)
}

// orderedLinks checks that links come oldest first, and orders those of one
// moment, about which the contract says nothing.
func orderedLinks(t tester, links []loci.Link) []loci.Link {
	t.Helper()
	if !slices.IsSortedFunc(links, func(a, b loci.Link) int { return a.At.Compare(b.At) }) {
		t.Fatalf("links are not oldest first: %v", links)
	}
	links = slices.Clone(links)
	slices.SortStableFunc(links, func(a, b loci.Link) int {
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return slices.Compare(append(append(a.From[:], a.To[:]...), a.Type...),
			append(append(b.From[:], b.To[:]...), b.Type...))
	})
	return links
}

// tidy sets what a hit says about nothing to zero.
func tidy(hits []loci.Hit) []loci.Hit {
	for i := range hits {
		if !hits[i].Embedded {
			hits[i].Similarity, hits[i].VectorSpan = 0, 0
		}
		if hits[i].Keyword == 0 {
			hits[i].KeywordSpan = 0
		}
	}
	return hits
}

// difference describes how two values differ; "" when they are equal. Nil and
// empty lists are equal, times are equal by instant, JSON by what it says.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) { // a hundred times as quick, and mostly so
		return ""
	}
	notBothEmpty := func(a, b json.RawMessage) bool { return len(a)+len(b) > 0 } // else EquateEmpty speaks
	sameID := cmp.Comparer(func(a, b loci.ID) bool { return a == b })            // printed whole, not byte by byte
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), sameID, cmp.FilterValues(notBothEmpty, cmp.Comparer(equalJSON)))
}

// equalJSON compares two documents by meaning: without regard to white space,
// the order of keys, or how a number is written.
func equalJSON(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 || bytes.Equal(a, b) {
		return len(a) == len(b)
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && equalValues(x, y)
}

func decode(data json.RawMessage) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return v, d.Decode(&v)
}

func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equalValues)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		m, okM := new(big.Rat).SetString(x.String())
		n, okN := new(big.Rat).SetString(y.String())
		return okM && okN && m.Cmp(n) == 0
	}
	return a == b
}

// recordIDs lists the ids of records.
func recordIDs(records []loci.Record) []loci.ID {
	out := make([]loci.ID, len(records))
	for i := range records {
		out[i] = records[i].ID
	}
	return out
}

// hitIDs lists the ids of hits.
func hitIDs(hits []loci.Hit) []loci.ID {
	out := make([]loci.ID, len(hits))
	for i := range hits {
		out[i] = hits[i].ID
	}
	return out
}
