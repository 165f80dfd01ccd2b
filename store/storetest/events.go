package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

var eventCases = []testCase{
	{"an event comes back as it was, with its place in the log", func(b *bench) {
		full := loci.Event{
			ID: loci.NewID(), Type: loci.EventImported, Kind: "item", Entity: id(9),
			Namespace: loci.Namespace{"a/b", "日本"}, At: at(3), Actor: "ключ 🦭 '\"",
			RequestID: strings.Repeat("r", 200),
			Payload:   json.RawMessage(`{"version":3,"ids":["x"]}`), Nonce: []byte("0123456789abcdef"),
		}
		bare := loci.Event{ID: loci.NewID(), Type: "t", At: time.Date(1969, 12, 31, 23, 59, 59, 1_000_000, time.UTC)}
		b.apply(
			loci.Change{Put: creation(placed(record(9, ""), full.Namespace...)).Put, Events: []loci.Event{full, bare}},
		)
		got := b.events(loci.EventFilter{})
		if len(got) != 2 || got[0].Seq <= got[1].Seq {
			b.Fatalf("events %v; want two, the later one first", got)
		}
		full.Seq, bare.Seq = got[1].Seq, got[0].Seq
		chain, err := b.store.Chain(b.Context(), b.tenant)
		b.must("Chain", err)
		full.Mark, bare.Mark = chain.Names.Mark(full.Namespace), chain.Names.Mark(nil)
		full.Seal(loci.Hash{})
		bare.Seal(full.Hash)
		b.same("events", got, []loci.Event{bare, full})
	}},
	{"the store numbers events, whatever their times and numbers", func(b *bench) {
		var want []loci.ID
		for n := range 50 {
			e := event(loci.EventUpdated, record(1, ""))
			e.At, e.Seq = at(50-n), int64(1000-n)
			f := event(loci.EventUpdated, record(2, ""))
			f.At, f.Seq = at(n), -5
			b.apply(loci.Change{Events: []loci.Event{e, f}})
			want = append(want, e.ID, f.ID)
		}
		slices.Reverse(want)
		got := b.events(loci.EventFilter{})
		b.same("events", eventIDs(got), want)
		b.ascending(got)
	}},
	{"many events of one change keep their order and their chain", func(b *bench) {
		b.put(record(1, ""))
		before, err := b.store.Chain(b.Context(), b.tenant)
		b.must("Chain", err)
		var c loci.Change
		for n := range 75 {
			e := event(loci.EventUpdated, record(1, ""))
			e.Payload, e.Nonce = json.RawMessage(fmt.Sprintf(`{"version":%d}`, n)), fmt.Appendf(nil, "nonce %d", n)
			c.Events = append(c.Events, e)
		}
		b.apply(c)
		got := b.events(loci.EventFilter{})[:len(c.Events)]
		b.ascending(got)
		slices.Reverse(got)
		chain, err := b.store.Chain(b.Context(), b.tenant)
		b.must("Chain", err)
		head := before.Head
		for i := range c.Events {
			e := &c.Events[i]
			e.Seq, e.Mark = got[i].Seq, chain.Names.Mark(e.Namespace)
			e.Seal(head)
			head = e.Hash
		}
		b.same("events", got, c.Events)
		b.same("the end of the chain", chain.Head, head)
	}},
	{"a refused change writes no event", func(b *bench) {
		r := record(1, "")
		b.put(r)
		b.conflict("creating twice", creation(r))
		b.put(next(r))
		b.ascending(b.events(loci.EventFilter{}))
	}},
	{"what budgets are charged for is found among the other events of no entity", func(b *bench) {
		var want []loci.ID
		charged := []loci.EventType{loci.EventReserved, loci.EventElevated, loci.EventSpent, loci.EventReserved}
		for _, typ := range charged {
			e := event(typ, loci.Record{})
			if b.apply(loci.Change{Events: []loci.Event{e}}); typ != loci.EventElevated {
				want = append([]loci.ID{e.ID}, want...)
			}
		}
		b.put(record(1, ""))
		for types, found := range map[loci.EventType][]loci.ID{
			"": want, loci.EventSpent: want[1:2], loci.EventReserved: {want[0], want[2]},
		} {
			f := loci.EventFilter{Types: []loci.EventType{types}}
			if types == "" {
				f.Types = []loci.EventType{loci.EventSpent, loci.EventReserved}
			}
			b.same("charges", eventIDs(b.events(f)), found)
		}
		created := loci.EventFilter{Types: []loci.EventType{loci.EventCreated, loci.EventReserved}}
		if got := b.events(created); len(got) != 3 {
			b.Errorf("%d events of two types; want 3", len(got))
		}
	}},
	{"event filters select, alone and together", func(b *bench) {
		r := random(2)
		types := []loci.EventType{loci.EventCreated, loci.EventUpdated, "Created"}
		var log []loci.Event // newest first
		for part := range 12 {
			var c loci.Change
			for n := range 10 {
				e := event(pick(r, types), placed(record(1+r.IntN(5), ""), pick(r, somePlaces)...))
				e.At = at(r.IntN(20))
				c.Events = append(c.Events, e)
				e.Seq = int64(10*part + n)
				log = append([]loci.Event{e}, log...)
			}
			b.apply(c)
		}
		for round := range 150 {
			f := loci.EventFilter{Within: everywhere}
			set := func(condition int) bool { return round/10 == condition || round >= 50 && r.IntN(3) == 0 }
			if set(0) {
				f.Within = []loci.Namespace{pick(r, somePlaces), pick(r, somePlaces)}
			}
			if set(1) {
				f.Entity = id(1 + r.IntN(6))
			}
			if set(2) {
				f.Types = []loci.EventType{pick(r, types), pick(r, types)}
			}
			if set(3) {
				f.Since = at(r.IntN(21))
			}
			if set(4) {
				f.Until = at(r.IntN(21))
			}
			var want []loci.ID
			for i := range log {
				if f.Selects(&log[i]) {
					want = append(want, log[i].ID)
				}
			}
			got := allEvents(b.Context(), b, b.store, b.tenant, f, parted(1+r.IntN(40), len(want)))
			b.same(fmt.Sprintf("events of %+v", f), eventIDs(got), want)
		}
	}},
	{"events of rare types and of some time are found in a long log", func(b *bench) {
		r := random(3)
		types := []loci.EventType{"rare", "rarer", loci.EventType(strings.Repeat("t", 300)), loci.EventUpdated}
		var log []loci.Event // newest first
		for len(log) < 1100 {
			var c loci.Change
			for range 1 + r.IntN(90) {
				n := len(log)
				typ := types[3]
				switch {
				case n%97 == 0:
					typ = pick(r, types[:3])
				case n > 512 && n < 700:
					typ = types[0]
				}
				e := event(typ, placed(record(1, ""), pick(r, somePlaces)...))
				e.At = at(n/10 + r.IntN(30)) // clocks of several servers
				c.Events = append(c.Events, e)
				e.Seq = int64(n)
				log = append([]loci.Event{e}, log...)
			}
			b.apply(c)
		}
		for range 60 {
			f := loci.EventFilter{Within: everywhere}
			if r.IntN(4) > 0 {
				f.Types = []loci.EventType{pick(r, types[:3]), pick(r, types)}[:1+r.IntN(2)]
			}
			if r.IntN(2) > 0 {
				f.Since = at(r.IntN(160)).Add(time.Duration(r.IntN(2)) * time.Microsecond)
			}
			if r.IntN(2) > 0 {
				f.Until = at(r.IntN(160)).Add(time.Duration(r.IntN(2)) * time.Microsecond)
			}
			if r.IntN(3) == 0 {
				f.Within = []loci.Namespace{pick(r, somePlaces)}
			}
			var want []loci.ID
			for i := range log {
				if f.Selects(&log[i]) {
					want = append(want, log[i].ID)
				}
			}
			got := allEvents(b.Context(), b, b.store, b.tenant, f, parted(3+r.IntN(100), len(want)))
			b.same(fmt.Sprintf("events of %+v", f), eventIDs(got), want)
		}
	}},
	{"pages of events lose and double nothing", func(b *bench) {
		var want []loci.ID
		for range 31 {
			e := event(loci.EventUpdated, record(1, ""))
			b.apply(loci.Change{Events: []loci.Event{e}})
			want = append([]loci.ID{e.ID}, want...)
		}
		for _, size := range []int{1, 2, 10, 30, 31, 32, 1000} {
			got := allEvents(b.Context(), b, b.store, b.tenant, loci.EventFilter{Within: everywhere}, size)
			b.same(fmt.Sprint("events in pages of ", size), eventIDs(got), want)
		}
		first, cursor, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
			loci.Page{Limit: 5})
		b.must("Events", err)
		b.apply(loci.Change{Events: []loci.Event{event(loci.EventUpdated, record(1, ""))}})
		second, _, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
			loci.Page{Limit: 5, Cursor: cursor})
		b.must("Events", err)
		b.same("two pages with a write between", eventIDs(append(first, second...)), want[:10])
	}},
	{"the default page of events is 100", func(b *bench) {
		var c loci.Change
		for range 101 {
			c.Events = append(c.Events, event(loci.EventUpdated, record(1, "")))
		}
		b.apply(c)
		events, next, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere}, loci.Page{})
		b.must("Events", err)
		if len(events) != 100 || next == "" {
			b.Errorf("%d events, next %q; want 100 and a cursor", len(events), next)
		}
	}},
}

// events lists all events a filter selects; without a place, of the whole tenant.
func (b *bench) events(f loci.EventFilter) []loci.Event {
	b.Helper()
	if f.Within == nil {
		f.Within = everywhere
	}
	return allEvents(b.Context(), b, b.store, b.tenant, f, 1000)
}

// ascending requires that numbers fall strictly in a list that is newest first.
func (b *bench) ascending(events []loci.Event) {
	b.Helper()
	for i := range len(events) - 1 {
		if events[i].Seq <= events[i+1].Seq {
			b.Fatalf("event %d follows event %d", events[i].Seq, events[i+1].Seq)
		}
	}
}

func eventIDs(events []loci.Event) []loci.ID {
	out := make([]loci.ID, len(events))
	for i := range events {
		out[i] = events[i].ID
	}
	return out
}
