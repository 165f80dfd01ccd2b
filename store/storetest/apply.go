package storetest

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/loci-memory/loci"
)

var applyCases = []testCase{
	{"an empty change is no error", func(b *bench) {
		b.unchanged("an empty change", func() { b.apply(loci.Change{}) })
	}},
	{"a change may hold events alone", func(b *bench) {
		b.apply(loci.Change{Events: []loci.Event{event(loci.EventElevated, record(1, ""))}})
		if s := b.state(); len(s.Events) != 1 || len(s.Records) != 0 {
			b.Errorf("%d events and %d records; want 1 and 0", len(s.Events), len(s.Records))
		}
	}},
	{"a change that conflicts anywhere leaves no trace", allOrNothing},
	{"a version must be the stored one plus one", versions},
	{"an erase names the stored version", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.put(next(r))
		b.conflict("erasing version 1 of 2", erasure(r))
		b.conflict("erasing version 3 of 2", erasure(next(next(r))))
		b.conflict("erasing what is not there", erasure(record(2, "")))
		b.apply(erasure(next(r)))
		b.conflict("erasing twice", erasure(next(r)))
	}},
	{"a change that goes on with another one is made at once", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		more := erasure(r)
		more.More = true
		b.apply(more)
		if b.get(r.ID) != nil {
			b.Error("the record is still there")
		}
		b.put(r)
	}},
	{"a change that only waits for what others erased changes nothing", func(b *bench) {
		settled := loci.Change{Settled: true}
		b.as("nobody", func() { b.apply(settled) })
		b.wantTenants()
		r := record(1, "walrus")
		b.put(r, record(2, "telescope"))
		b.apply(erasure(r))
		b.unchanged("a change that waits", func() { b.apply(settled) })
	}},
	{"an id is free again after an erase", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.apply(erasure(r))
		b.conflict("version 2 of an erased record", creation(next(r)))
		again := record(1, "telescope")
		b.put(again)
		b.same("record", b.get(r.ID), &again)
	}},
	{"a change of many records is one change", func(b *bench) {
		const n = 500
		var records []loci.Record
		for i := range n {
			records = append(records, record(i+1, "walrus"))
		}
		last := creation(records...)
		last.Put[n-1].Record.Version = 7
		b.conflict("a large change with one stale version", last)
		b.apply(creation(records...))
		if got := b.all(loci.Filter{Within: everywhere}); len(got) != n {
			b.Errorf("%d records; want %d", len(got), n)
		}
	}},
	{"one event may speak of a thousand records", func(b *bench) {
		var c loci.Change
		for n := 1; n <= 1000; n++ {
			c.Put = append(c.Put, loci.Put{Record: record(n, "")})
		}
		about := record(5000, "") // of something that is no record
		c.Events = []loci.Event{event(loci.EventCreated, about)}
		b.apply(c)
		if got := len(b.all(loci.Filter{Within: everywhere})); got != 1000 {
			b.Errorf("%d records; want 1000", got)
		}
		if events := b.events(loci.EventFilter{}); len(events) != 1 || events[0].Entity != about.ID {
			b.Errorf("events %+v", events)
		}
	}},
	{"a put may change all but id, kind and namespace", func(b *bench) {
		b.put(fullRecord(1))
		moved, turned := next(fullRecord(1)), next(fullRecord(1))
		moved.Namespace, turned.Kind = loci.Namespace{"user"}, "item"
		for _, r := range []loci.Record{moved, turned} {
			b.unchanged("a put of another kind or namespace", func() {
				b.refused("Apply", b.store.Apply(b.Context(), b.tenant, creation(record(2, ""), r)), loci.Invalid)
			})
		}
		r := next(fullRecord(1))
		r.Slot, r.Live = "another", false
		r.CreatedAt, r.ExpiresAt = at(-5), at(5)
		r.Text, r.Passages = cut("entirely ", "different")
		r.Heading = "another"
		r.Tags, r.Attributes, r.Body = nil, nil, nil
		b.put(r)
		b.same("record", b.get(r.ID), &r)
	}},
	{"a change names a record once", func(b *bench) {
		r := record(1, "walrus")
		for what, c := range map[string]loci.Change{"two puts of one record": creation(r, next(r)), "the same put twice": creation(r, r)} {
			b.unchanged(what, func() { b.refusedOrConflict(what, b.store.Apply(b.Context(), b.tenant, c)) })
		}
		b.put(r)
		b.unchanged("two erases of one record", func() {
			b.refusedOrConflict("two erases of one record", b.store.Apply(b.Context(), b.tenant, erasure(r, r)))
		})
	}},
	{"malformed vectors are refused", malformedVectors},
	{"a store keeps its own copy", ownCopy},
}

// allOrNothing tries changes of everything a change can hold, of which one part
// conflicts, at every place where it can stand.
func allOrNothing(b *bench) {
	kept, erased := record(1, "walrus"), record(2, "telescope")
	b.apply(changeOf(embedded(holding(kept, "slot"), 0.5), embedded(erased, 0.25)))
	stored := creation(record(3, "harbour"))
	stored.Reply = reply("key 1", at(3))
	b.apply(stored)

	full := func() loci.Change {
		c := changeOf(embedded(record(4, "walrus telescope"), 0.9), embedded(record(5, "harbour walrus"), 0.8),
			loci.Put{Record: next(holding(kept, "slot")), Revisions: 3})
		gone := erasure(erased)
		c.Erase, c.Events = gone.Erase, append(c.Events, gone.Events...)
		c.Links = []loci.Link{{From: id(4), Type: loci.LinkSupports, To: id(1), At: at(4)}}
		c.Reply = reply("key 2", at(4))
		c.Reply.Record = id(4)
		return c
	}
	stale := func(c *loci.Change, position int) {
		bad := loci.Put{Record: record(6, "stale")}
		bad.Record.Version = 5
		c.Put = append(c.Put[:position:position], append([]loci.Put{bad}, c.Put[position:]...)...)
		c.Events = append(c.Events, event(loci.EventUpdated, bad.Record))
	}
	breaks := map[string]func(c *loci.Change){
		"the first put is stale":    func(c *loci.Change) { stale(c, 0) },
		"the last put is stale":     func(c *loci.Change) { stale(c, len(c.Put)) },
		"a put exists already":      func(c *loci.Change) { c.Put = append(c.Put, loci.Put{Record: record(3, "again")}) },
		"the last erase is stale":   func(c *loci.Change) { c.Erase = append(c.Erase, loci.Erase{ID: id(3), Version: 2}) },
		"an erase names nothing":    func(c *loci.Change) { c.Erase = append(c.Erase, loci.Erase{ID: id(9), Version: 1}) },
		"the last put's slot taken": func(c *loci.Change) { c.Put = append(c.Put, loci.Put{Record: holding(record(6, ""), "slot")}) },
		"the reply's key is stored": func(c *loci.Change) { c.Reply.Key = "key 1" },
	}
	for name, spoil := range breaks {
		c := full()
		spoil(&c)
		b.conflict(name, c)
	}
	b.apply(full()) // nothing but the spoiled part was in the way
	if b.get(erased.ID) != nil || b.get(id(4)) == nil {
		b.Error("the sound change was not applied")
	}
}

func versions(b *bench) {
	r := record(1, "walrus")
	b.unchanged("new records of other versions than 1", func() {
		for _, version := range []int64{2, 0, -1, 1 << 40} {
			r.Version = version
			b.refused("a new record", b.store.Apply(b.Context(), b.tenant, creation(r)), loci.Conflict)
		}
	})
	r.Version = 1
	b.put(r)
	b.conflict("creating a record twice", creation(r))
	for want := int64(2); want <= 4; want++ {
		b.unchanged("puts of stale and future versions", func() {
			for _, version := range []int64{0, 1, want - 1, want + 1, want + 100} {
				stale := record(1, "stale")
				stale.Version = version
				b.refused("a put", b.store.Apply(b.Context(), b.tenant, creation(stale)), loci.Conflict)
			}
		})
		r = next(r)
		b.put(r)
		b.same("record", b.get(r.ID), &r)
	}
}

func malformedVectors(b *bench) {
	text, passages := cut("first ", "second")
	r := record(1, text)
	r.Passages = passages
	row := axis(spaceA)
	malformed := map[string][]loci.Vectors{
		"fewer rows than passages":     vectors(spaceA, row),
		"more rows than passages":      vectors(spaceA, row, row, row),
		"a row of too few dimensions":  vectors(spaceA, row, row[:4]),
		"a row of too many dimensions": vectors(spaceC, row[:4], row),
		"no space":                     vectors(loci.Space{}, row, row),
		"a second space that does not": append(vectors(spaceA, row, row), vectors(spaceB, row)...),
	}
	for name, v := range malformed {
		b.unchanged(name, func() {
			err := b.store.Apply(b.Context(), b.tenant, changeOf(loci.Put{Record: r, Vectors: v}))
			b.refused(name, err, loci.Invalid)
		})
	}
	twice := changeOf(loci.Put{Record: r, Vectors: append(vectors(spaceA, row, row), vectors(spaceA, row, row)...)})
	b.unchanged("a space twice", func() { b.refused("a space twice", b.store.Apply(b.Context(), b.tenant, twice), loci.Invalid) })
	b.put(r)
	for name, entries := range malformed {
		v := entries[len(entries)-1]
		b.unchanged(name, func() {
			err := b.store.PutVectors(b.Context(), b.tenant, []loci.RecordVectors{{ID: r.ID, Version: 1, Vectors: v}})
			if len(v.Rows) != len(passages) && err == nil {
				return // passed over, as vectors of another text are
			}
			b.refused(name, err, loci.Invalid)
		})
	}
	for name, p := range map[string]loci.Probe{
		"a probe of too few dimensions":  {Vector: row[:4], Space: spaceA},
		"a probe of too many dimensions": {Vector: row, Space: spaceC},
		"a probe without a space":        {Vector: row},
	} {
		_, err := b.store.Match(b.Context(), b.tenant, p, loci.Filter{Within: everywhere}, 10)
		b.refused(name, err, loci.Invalid)
	}
}

// ownCopy changes what went in and what came out: neither may be the store's own.
func ownCopy(b *bench) {
	scribble := func(r *loci.Record) {
		r.Namespace[0], r.Tags[0], r.Passages[0] = "scribble", "scribble", loci.Span{}
		for i := range r.Attributes {
			r.Attributes[i] = '!'
		}
		for i := range r.Body {
			r.Body[i] = '!'
		}
	}
	row := leaning(spaceA, 0.5)
	c := changeOf(loci.Put{Record: fullRecord(1), Vectors: vectors(spaceA, row, row)})
	c.Links = []loci.Link{{From: id(1), Type: loci.LinkSupports, To: id(1), At: at(1)}}
	c.Reply = reply("key 1", at(1))
	b.apply(c)
	b.apply(changeOf(loci.Put{Record: next(fullRecord(1)), SameText: true, Revisions: 5}))
	b.watch.keys = []string{"key 1"}
	want := render(b.state()) // as text, which shares nothing with the store

	scribble(&c.Put[0].Record)
	row[0], row[1] = 0, 0
	c.Events[0].Namespace, c.Links[0].Type = loci.Namespace{"scribble"}, "scribble"
	wipe(c.Reply.Value)
	wipe(c.Events[0].Payload)
	b.same("state after changing what was put", render(b.state()), want)

	got := b.state()
	scribble(&got.Records[0])
	for i := range got.Events {
		wipe(got.Events[i].Payload)
		got.Events[i].Namespace[0] = "scribble"
	}
	got.Revisions[id(1)][0].Tags[0] = "scribble"
	got.Links[id(1)][0].Type = "scribble"
	got.Replies["key 1"].Key = "scribble"
	wipe(got.Replies["key 1"].Value)
	got.Namespaces[0][0] = "scribble"
	delete(got.Spaces, spaceA)
	b.same("state after changing what was read", render(b.state()), want)
}

// render writes a state down.
func render(s state) string {
	data, err := json.MarshalIndent([]any{s.Records, s.Events, s.Revisions, s.Links, s.Replies, s.Namespaces}, "", " ")
	return fmt.Sprint(string(data), err, s.Spaces, s.Counts)
}

// refusedOrConflict requires that a change which contradicts itself failed, as
// itself wrong or as not fitting what is stored.
func (b *bench) refusedOrConflict(what string, err error) {
	b.Helper()
	if code := codeOf(err); code != loci.Invalid && code != loci.Conflict {
		b.Errorf("%s: error %v; want Invalid or Conflict", what, err)
	}
}

func wipe(data json.RawMessage) {
	for i := range data {
		data[i] = '!'
	}
}

// fullRecord sets every field.
func fullRecord(n int) loci.Record {
	r := record(n, "")
	r.Text, r.Passages = cut("The walrus looked ", "through the telescope.")
	r.Heading = "sailor favorite_hat"
	r.Slot = "slot"
	r.ExpiresAt = at(1_000_000)
	r.Uses, r.UsedAt = 7, at(n+100)
	r.Sequence, r.Position = "talk \x00\xff", math.MaxInt64
	r.Tags = []string{"zoo", "Astronomy"}
	r.Attributes = json.RawMessage(`{"category":"preference","n":12345678901234567890,"deep":{"list":[1,"two",null,true,{}]}}`)
	r.Body = json.RawMessage(`{"subject":"walrus","confirmed":false}`)
	return r
}
