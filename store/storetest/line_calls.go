package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A lineCall is a call of a store that is made while the line breaks.
type lineCall struct {
	name  string         // the method, and what of it
	begin func(b *bench) // puts what is there; nil: [bench.stockMore]
	make  func() made    // the call, which may be made of several stores
	loose bool           // a use more or less is no fault
}

// made is a call that is ready to be made.
type made func(ctx context.Context, s loci.Store, t loci.Tenant) (answer any, err error)

func (c *lineCall) method() string {
	name, _, _ := strings.Cut(c.name, ",")
	return name
}

func (c *lineCall) stock(b *bench) {
	b.Helper()
	if c.begin == nil {
		b.stockMore()
		return
	}
	c.begin(b)
}

// lineState is what is looked at after a call.
type lineState struct {
	Records    []loci.Record
	Events     []loci.Event
	Chain      loci.Chain
	Revisions  map[loci.ID][]loci.Revision
	Links      map[loci.ID][]loci.Link
	Replies    map[string]*loci.Reply
	Counts     loci.Counts
	Namespaces []loci.Namespace
	Spaces     map[loci.Space]int64
	Active     loci.Space
	Unembedded [][]loci.ID
	Hits       []loci.Hit
	Held       loci.Holding
	Holds      bool
}

// state reads what a tenant holds.
func (c *lineCall) state(t tester, s loci.Store, tn loci.Tenant) lineState {
	t.Helper()
	ctx := context.Background()
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	out := lineState{
		Revisions: map[loci.ID][]loci.Revision{},
		Links:     map[loci.ID][]loci.Link{}, Replies: map[string]*loci.Reply{},
	}
	all := loci.Filter{Within: everywhere, NotLive: true}
	out.Records = allRecords(ctx, t, s, tn, all, 1000)
	if c.loose {
		for i := range out.Records {
			out.Records[i].Uses, out.Records[i].UsedAt = 0, at(0)
		}
	}
	out.Events = allEvents(ctx, t, s, tn, loci.EventFilter{Within: everywhere}, 1000)
	var err error
	for _, id := range ids(1, 2, 4, 6) {
		out.Revisions[id], err = s.Revisions(ctx, tn, id)
		must("Revisions", err)
		links, err := s.Links(ctx, tn, id)
		must("Links", err)
		out.Links[id] = orderedLinks(t, links)
	}
	for _, key := range []string{"key 1", "key 2"} {
		out.Replies[key], err = s.Replied(ctx, tn, key)
		must("Replied", err)
	}
	out.Counts, err = s.Count(ctx, tn, loci.Filter{Within: everywhere, NotLive: true, Space: spaceA})
	must("Count", err)
	out.Namespaces, err = s.Namespaces(ctx, tn, all)
	must("Namespaces", err)
	out.Spaces, err = s.Spaces(ctx, tn)
	must("Spaces", err)
	out.Active, err = s.ActiveSpace(ctx, tn)
	must("ActiveSpace", err)
	for _, space := range []loci.Space{spaceA, spaceB, spaceC} {
		records, err := s.Unembedded(ctx, tn, space, loci.ID{}, 1000)
		must("Unembedded", err)
		out.Unembedded = append(out.Unembedded, recordIDs(records))
	}
	out.Hits, err = s.Match(ctx, tn, both("walrus telescope harbour", spaceA), loci.Filter{Within: everywhere}, 20)
	must("Match", err)
	out.Hits = tidy(out.Hits)
	out.Held, err = s.Held(ctx, tn)
	must("Held", err)
	out.Chain, err = s.Chain(ctx, tn)
	must("Chain", err)
	out.Holds, err = s.Holds(ctx, tn)
	must("Holds", err)
	same := withoutSeq(state{Events: out.Events, Chain: out.Chain})
	out.Events, out.Chain = same.Events, same.Chain
	return out
}

// change is a call that makes a change.
func change(of func() loci.Change) func() made {
	return func() made {
		c := of()
		return func(ctx context.Context, s loci.Store, t loci.Tenant) (any, error) {
			return nil, s.Apply(ctx, t, c)
		}
	}
}

// asks is a call that changes nothing.
func asks[T any](ask func(ctx context.Context, s loci.Store, t loci.Tenant) (T, error)) func() made {
	return func() made {
		return func(ctx context.Context, s loci.Store, t loci.Tenant) (any, error) { return ask(ctx, s, t) }
	}
}

// does is a call that only says whether it worked.
func does(do func(ctx context.Context, s loci.Store, t loci.Tenant) error) func() made {
	return asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (struct{}, error) {
		return struct{}{}, do(ctx, s, t)
	})
}

// lists is a call that asks for records, page by page.
func lists(f loci.Filter, p loci.Page) func() made {
	return asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (all []loci.Record, err error) {
		for p := p; ; {
			records, next, err := s.Records(ctx, t, f, p)
			if err != nil {
				return nil, err
			}
			if all = append(all, records...); next == "" {
				return all, nil
			}
			p.Cursor = next
		}
	})
}

// finds is a call that searches.
func finds(p loci.Probe) func() made {
	return asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Hit, error) {
		hits, err := s.Match(ctx, t, p, loci.Filter{Within: everywhere}, 20)
		return tidy(hits), err
	})
}

// log is a call that asks for so many events.
func log(limit int) func() made {
	return asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Event, error) {
		events, _, err := s.Events(ctx, t, loci.EventFilter{Within: everywhere}, loci.Page{Limit: limit})
		return withoutSeq(state{Events: events}).Events, err
	})
}

// nothing is a tenant that is new.
func nothing(*bench) {}

// much is enough that its index is kept, and that answers come in many parts.
func much(b *bench) {
	b.stockMore()
	for part := range 3 {
		var records []loci.Record
		for n := range 250 {
			n += 1000 + 250*part
			records = append(records, record(n, fmt.Sprintf("walrus number %d of the telescope", n)))
		}
		b.apply(creation(records...))
	}
	if _, err := b.store.Match(b.Context(), b.tenant, words("walrus"), loci.Filter{Within: everywhere}, 5); err != nil {
		b.Fatal(err)
	}
}

// slotted is record 1 as [bench.stockMore] leaves it.
func slotted() loci.Record { return holding(record(1, "walrus telescope"), "slot") }

var all = loci.Filter{Within: everywhere, NotLive: true}

// lineCalls are calls of every method of a store.
var lineCalls = []lineCall{
	// The tenant was written to, so it is due. It comes first, as the first loop visits all that there are.
	{name: "Due", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (found bool, err error) {
		for one, err := range s.Due(ctx, at(0)) {
			if err != nil {
				return false, err
			}
			found = found || one == t
		}
		return found, nil
	})},
	{name: "Apply, records of a new tenant", begin: nothing, make: change(func() loci.Change {
		c := creation(record(6, "walrus"), placed(record(7, "telescope"), "a", "b"))
		c.Reply = reply("key 2", at(7))
		return c
	})},
	{name: "Apply, records with vectors, a link and a reply", make: change(func() loci.Change {
		c := changeOf(embedded(record(6, "walrus"), 0.75), embedded(placed(record(7, "telescope"), "a", "b"), 0.5))
		c.Links = []loci.Link{{From: id(6), Type: loci.LinkSupports, To: id(1), At: at(6)}}
		c.Reply = reply("key 2", at(7))
		return c
	})},
	{name: "Apply, many large records", make: change(func() loci.Change {
		var records []loci.Record
		for n := range 60 {
			records = append(records, record(100+n, strings.Repeat(fmt.Sprint("walrus ", n, " "), 400)))
		}
		return creation(records...)
	})},
	{name: "Apply, an edit", make: change(func() loci.Change {
		r := next(slotted())
		r.Text = "harbour"
		r.Passages = whole(r.Text)
		return changeOf(loci.Put{Record: r, Revisions: 5, Vectors: vectors(spaceA, leaning(spaceA, 0.1))})
	})},
	{name: "Apply, a move", make: change(func() loci.Change {
		r := slotted()
		r.Version, r.Slot = 2, "elsewhere"
		return changeOf(loci.Put{Record: r, SameText: true, Moves: true, Revisions: -1})
	})},
	{name: "Apply, an erase", make: change(func() loci.Change { return erasure(slotted()) })},
	{name: "Apply, an erase among much", begin: much, make: change(func() loci.Change {
		return erasure(slotted(), record(1001, ""))
	})},
	{name: "Apply, a link", make: change(func() loci.Change {
		return loci.Change{
			Links:  []loci.Link{{From: id(2), Type: loci.LinkContradicts, To: id(4), At: at(9)}},
			Events: []loci.Event{event(loci.EventUpdated, record(2, ""))},
		}
	})},
	{name: "Apply, a record with its history", make: change(func() loci.Change {
		r := record(6, "walrus")
		r.Version = 3
		return changeOf(loci.Put{Record: r, Revisions: 5, History: []loci.Revision{
			{Version: 2, UpdatedAt: at(2), ReplacedAt: at(3), Text: "telescope"},
			{Version: 1, UpdatedAt: at(1), ReplacedAt: at(2), Text: "harbour"},
		}})
	})},
	{name: "Apply, an event alone", make: change(func() loci.Change {
		return loci.Change{Events: []loci.Event{event(loci.EventUpdated, record(2, ""))}}
	})},
	{name: "Apply, a reply alone", make: change(func() loci.Change {
		return loci.Change{Reply: reply("key 2", at(9)), Events: []loci.Event{event(loci.EventUpdated, record(2, ""))}}
	})},
	{name: "Apply, a slot that is taken", make: change(func() loci.Change {
		return creation(holding(record(6, "walrus"), "slot"))
	})},
	{name: "Apply, a version that is past", make: change(func() loci.Change {
		return changeOf(loci.Put{Record: next(next(slotted()))})
	})},
	{name: "Apply, a key that is known", make: change(func() loci.Change {
		c := creation(record(6, "walrus"))
		c.Reply = reply("key 1", at(3))
		return c
	})},
	{name: "Apply, more than the quota", make: change(func() loci.Change {
		c := creation(record(6, "walrus"))
		c.Quota = &loci.Quota{Records: 1}
		return c
	})},
	{name: "Touch, a use", loose: true, make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.Touch(ctx, t, []loci.Touch{{ID: id(1), At: at(70)}})
	})},
	{name: "Touch, an expiry", loose: true, make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.Touch(ctx, t, []loci.Touch{{ID: id(1), At: at(70), ExpiresAt: at(2_000_000)}})
	})},
	{name: "PutVectors", make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.PutVectors(ctx, t, []loci.RecordVectors{
			rowsOf(record(1, ""), spaceB, 0.5), rowsOf(record(2, ""), spaceC, 0.5),
		})
	})},
	{name: "SwitchSpace", make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.SwitchSpace(ctx, t, spaceA, spaceB, 100)
	})},
	{name: "SwitchSpace, from another one", make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.SwitchSpace(ctx, t, spaceC, spaceB, 100)
	})},
	{name: "DropVectors", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (int, error) {
		return s.DropVectors(ctx, t, spaceB, 100)
	})},
	{name: "EraseTenant", make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		return s.EraseTenant(ctx, t)
	})},
	{name: "EraseTenant, one that is not there", begin: nothing, make: does(
		func(ctx context.Context, s loci.Store, t loci.Tenant) error { return s.EraseTenant(ctx, t) },
	)},
	{name: "Records", make: lists(all, loci.Page{Limit: 2})},
	{name: "Records, much", begin: much, make: lists(all, loci.Page{Limit: 300})},
	{name: "Records, by slot", make: lists(
		loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}},
		loci.Page{Order: loci.SlotAscending},
	)},
	{name: "Records, by id, without a text", make: lists(
		loci.Filter{Within: everywhere, IDs: ids(1, 4, 9)}, loci.Page{NoText: true},
	)},
	{name: "Match, words", make: finds(words("walrus telescope"))},
	{name: "Match, a vector", make: finds(direction(spaceA))},
	{name: "Match, both, among much", begin: much, make: finds(both("walrus 1100", spaceA))},
	{name: "Match, with sequences and texts", make: finds(loci.Probe{Text: "walrus", Sequences: true, Texts: true})},
	{name: "Namespaces", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Namespace, error) {
		return s.Namespaces(ctx, t, all)
	})},
	{name: "Count", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (loci.Counts, error) {
		return s.Count(ctx, t, loci.Filter{Within: everywhere, Space: spaceB})
	})},
	{name: "Count, in parts", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (map[string]int64, error) {
		parts, f := map[string]int64{}, all
		f.Each = func(k loci.Kind, status string, c loci.Counts) { parts[string(k)+status] += c.Records }
		_, err := s.Count(ctx, t, f)
		return parts, err
	})},
	{name: "Held", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (loci.Holding, error) {
		return s.Held(ctx, t)
	})},
	{name: "Revisions", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Revision, error) {
		return s.Revisions(ctx, t, id(4))
	})},
	{name: "Links", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Link, error) {
		return s.Links(ctx, t, id(1))
	})},
	{name: "Linked", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (bool, error) {
		return s.Linked(ctx, t, loci.Link{From: id(1), Type: loci.LinkSupports, To: id(2)})
	})},
	{name: "Replied", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (*loci.Reply, error) {
		return s.Replied(ctx, t, "key 1")
	})},
	{name: "Unembedded", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]loci.Record, error) {
		return s.Unembedded(ctx, t, spaceB, loci.ID{}, 10)
	})},
	{name: "Spaces", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (map[loci.Space]int64, error) {
		return s.Spaces(ctx, t)
	})},
	{name: "ActiveSpace", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (loci.Space, error) {
		return s.ActiveSpace(ctx, t)
	})},
	{name: "Events", make: log(5)},
	{name: "Events, much", begin: much, make: log(1000)},
	{name: "Chain", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (loci.Chain, error) {
		c, err := s.Chain(ctx, t)
		return withoutSeq(state{Chain: c}).Chain, err
	})},
	{name: "Untold", make: does(func(ctx context.Context, s loci.Store, t loci.Tenant) error {
		untold, err := s.Untold(ctx, t, ids(1, 3))
		if err == nil && len(untold) > 0 {
			return fmt.Errorf("%d records were erased and nobody said so", len(untold))
		}
		return err
	})},
	{name: "Check", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) ([]string, error) {
		return s.Check(ctx, t)
	})},
	{name: "Holds", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (bool, error) {
		return s.Holds(ctx, t)
	})},
	{name: "Tenants", make: asks(func(ctx context.Context, s loci.Store, t loci.Tenant) (bool, error) {
		names, err := tenants(ctx, s)
		return slices.Contains(names, t.String()), err
	})},
}
