package storetest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

var lifecycleCases = []testCase{
	{"a count in parts tells of each kind and status", func(b *bench) {
		var puts []loci.Put
		for i, r := range []loci.Record{
			{Kind: "fact", Status: "active", Live: true, Tags: []string{"t"}}, {Kind: "fact", Status: "active", Live: true},
			{Kind: "fact", Status: "superseded", Tags: []string{"t"}}, {Kind: "rule", Live: true},
		} {
			r.ID, r.Namespace, r.Version, r.Text = id(i+1), loci.Namespace{"u"}, 1, "abc"
			puts = append(puts, loci.Put{Record: r})
		}
		b.apply(changeOf(puts...))
		for _, row := range []struct {
			tags []string // those of which a store may keep no counts
			want map[string]int64
		}{
			{nil, map[string]int64{"fact active": 2, "fact superseded": 1, "rule ": 1}},
			{[]string{"t"}, map[string]int64{"fact active": 1, "fact superseded": 1}},
		} {
			got, sum := map[string]int64{}, int64(0)
			f := loci.Filter{Within: []loci.Namespace{{"u"}}, NotLive: true, Tags: row.tags}
			f.Each = func(kind loci.Kind, status string, c loci.Counts) {
				got[string(kind)+" "+status] += c.Records
				sum += c.Records
			}
			n, err := b.store.Count(b.Context(), b.tenant, f)
			if err != nil || n.Records != sum || !maps.Equal(got, row.want) {
				b.Errorf("tags %q: %v of %d, %v; want %v", row.tags, got, n.Records, err, row.want)
			}
		}
	}},
	{"what filters ask of the lifecycle comes back, and changes with each put", func(b *bench) {
		r := decaying(1, 0.5, 0.008)
		r.Scope, r.Status = "health 🦭", "it's"
		b.put(r)
		b.comesBack(r)
		b.same("hits before", b.found(words("walrus")), ids(1))
		r = next(r)
		r.Scope, r.Status, r.Decay, r.EndsAt, r.DueAt = "", "", loci.Decay{}, time.Time{}, time.Time{}
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Revisions: -1}))
		b.comesBack(r)
	}},
	{"a record leaves the live set at its millisecond, in every read", func(b *bench) {
		r := decaying(1, 0.5, 0.008)
		b.put(r)
		for _, c := range []struct {
			what string
			set  func(f *loci.Filter)
			last time.Time // millisecond at which it is there
		}{
			{"live", func(*loci.Filter) {}, r.EndsAt},
			{"confidence of 0.2", func(f *loci.Filter) { f.MinConfidence = 0.2 }, r.Decay.Below(0.2)},
			{"confidence of 0.31", func(f *loci.Filter) { f.MinConfidence = 0.31 }, r.Decay.Below(0.31)},
			{"all its confidence", func(f *loci.Filter) { f.MinConfidence = 0.5 }, r.Decay.From.Add(time.Millisecond)},
		} {
			f := loci.Filter{Within: everywhere}
			c.set(&f)
			f.At = c.last.Add(-time.Millisecond)
			b.reads(c.what+", the last millisecond", f, 1)
			f.At = c.last
			b.reads(c.what+", the first millisecond without", f, 0)
		}
		b.reads("not live as well", loci.Filter{Within: everywhere, At: r.EndsAt, NotLive: true}, 1)
		b.reads("at no time", loci.Filter{Within: everywhere}, 1)
		b.reads("before the curve begins", loci.Filter{Within: everywhere, At: at(-1_000_000), MinConfidence: 0.5}, 1)
		b.reads("due", loci.Filter{Within: everywhere, Due: r.DueAt}, 1)
		b.reads("not yet due", loci.Filter{Within: everywhere, Due: r.DueAt.Add(-time.Millisecond)}, 0)
	}},
	{"a record without a curve counts as certain", func(b *bench) {
		b.put(record(1, "walrus"))
		b.reads("confidence of 1", loci.Filter{Within: everywhere, At: at(1_000_000_000), MinConfidence: 1}, 1)
		b.reads("due", loci.Filter{Within: everywhere, Due: at(1_000_000_000)}, 0)
	}},
	{"pages come oldest first when asked", func(b *bench) {
		var want []loci.ID
		for n := 1; n <= 25; n++ {
			r := record(n, "")
			r.CreatedAt = at(n / 4)
			b.put(r)
		}
		for _, r := range b.all(loci.Filter{Within: everywhere}) {
			want = append(want, r.ID)
		}
		slices.Reverse(want)
		for _, size := range []int{1, 3, 25, 1000} {
			var got []loci.ID
			for cursor := ""; ; {
				records, next, err := b.store.Records(b.Context(), b.tenant, loci.Filter{Within: everywhere},
					loci.Page{Limit: size, Cursor: cursor, Order: loci.OldestFirst})
				b.must("Records", err)
				got = append(got, recordIDs(records)...)
				if cursor = next; cursor == "" {
					break
				}
			}
			b.same(fmt.Sprint("records in pages of ", size), got, want)
		}
	}},
	{"a link needs both its ends", func(b *bench) {
		b.put(record(1, ""), record(2, ""))
		for _, l := range []loci.Link{{From: id(1), To: id(3)}, {From: id(3), To: id(1)}} {
			l.Type, l.At = loci.LinkSupports, at(1)
			b.conflict("a link to nothing", loci.Change{Links: []loci.Link{l}})
		}
		gone := erasure(record(2, ""))
		gone.Links = []loci.Link{{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(1)}}
		b.conflict("a link to what the change erases", gone)
	}},
}

// decaying is a record with a curve, created when the curve begins.
func decaying(n int, confidence, rate float64) loci.Record {
	r := record(n, "walrus")
	r.Decay = loci.Decay{Confidence: confidence, Rate: rate, From: r.CreatedAt}
	r.EndsAt, r.DueAt = r.Decay.Below(loci.LiveConfidence), r.Decay.Below(loci.ActiveConfidence)
	return r
}

// reads requires how many records every kind of read finds.
func (b *bench) reads(what string, f loci.Filter, want int) {
	b.Helper()
	if got := len(b.all(f)); got != want {
		b.Errorf("%s: Records finds %d; want %d", what, got, want)
	}
	counts, err := b.store.Count(b.Context(), b.tenant, f)
	b.must("Count", err)
	if counts.Records != int64(want) {
		b.Errorf("%s: Count says %d; want %d", what, counts.Records, want)
	}
	namespaces, err := b.store.Namespaces(b.Context(), b.tenant, f)
	b.must("Namespaces", err)
	if len(namespaces) != want {
		b.Errorf("%s: Namespaces finds %d; want %d", what, len(namespaces), want)
	}
	if f.NotLive {
		return // never of a search
	}
	if hits := b.match(words("walrus"), f, 10); len(hits) != want {
		b.Errorf("%s: Match finds %d; want %d", what, len(hits), want)
	}
}

var chainCases = []testCase{
	{"every event seals the one before, in the order given", func(b *bench) {
		b.stockMore()
		b.chained()
	}},
	{"a refused change leaves the chain as it was", func(b *bench) {
		b.put(record(1, ""))
		b.conflict("creating twice", creation(record(1, "")))
		b.put(record(2, ""))
		b.chained()
	}},
	{"an erase takes the payloads of earlier events along, and the chain stays", func(b *bench) {
		r, other := record(1, ""), record(2, "")
		for _, c := range []loci.Change{creation(r), creation(other)} {
			c.Events[0].Nonce = []byte("a nonce")
			b.apply(c)
		}
		before := b.events(loci.EventFilter{})
		b.apply(erasure(r))
		b.chained()
		after := b.events(loci.EventFilter{})
		if e := after[2]; len(e.Payload)+len(e.Nonce) > 0 || e.Digest != before[1].Digest {
			b.Errorf("the first event is %+v after the erase, was %+v", e, before[1])
		}
		if len(after[0].Payload) == 0 {
			b.Errorf("the payload of the erase is gone")
		}
		b.same("the event of another record", after[1], before[0])
	}},
	{"an erase that would take payloads without an event is refused, and names the record", func(b *bench) {
		a, plain, quiet := record(1, ""), record(2, ""), record(3, "")
		b.apply(creation(a))
		c := creation(plain, quiet)
		c.Events[0].Payload = nil
		c.Events[1].Payload, c.Events[1].Nonce = nil, []byte("a nonce")
		b.apply(c)
		gone := erasure(a, plain, quiet)
		events := gone.Events
		gone.Events = []loci.Event{event(loci.EventUpdated, a)}
		b.conflict("an erase without an erased event", gone)
		var untold *loci.UntoldError
		if err := b.store.Apply(b.Context(), b.tenant, gone); !errors.As(err, &untold) ||
			!slices.Equal(untold.IDs, ids(1, 3)) {
			b.Errorf("the refusal is %v with %v; want one about the first and the third record", err, untold)
		}
		gone.Events = []loci.Event{events[0], events[2]}
		b.apply(gone)
		b.chained()
		told, err := b.store.Untold(b.Context(), b.tenant, ids(4))
		b.must("Untold", err)
		b.same("never there", told, nil)
	}},
	{"an erased tenant's chain begins again", func(b *bench) {
		b.stockMore()
		before, err := b.store.Chain(b.Context(), b.tenant)
		b.must("Chain", err)
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		chain, err := b.store.Chain(b.Context(), b.tenant)
		b.must("Chain", err)
		b.same("chain", chain, loci.Chain{Names: chain.Names})
		if string(before.Names) == string(chain.Names) || len(chain.Names) == 0 {
			b.Errorf("the key of the names is %x after the erase, as before", chain.Names)
		}
		b.stockMore()
		b.chained()
	}},
	{"writers at the same time, through every handle, make one chain, without what was refused", func(b *bench) {
		handles := b.handles()
		for n := range 6 { // in turns, too: at the same time one may be done before the other begins
			b.must("Apply", handles[n%len(handles)].Apply(b.Context(), b.tenant, creation(record(5000+n, ""))))
		}
		done := make(chan error)
		for w := range 8 {
			go func() {
				var err error
				for n := range 10 {
					s, c := handles[w%len(handles)], creation(record(1+w*100+n, ""))
					if err == nil {
						err = s.Apply(b.Context(), b.tenant, c)
					}
					c = creation(record(50+w*100+n, "")) // refused after its events
					c.Links = []loci.Link{{From: id(9999), Type: loci.LinkSupports, To: id(1), At: at(1)}}
					if refused := s.Apply(b.Context(), b.tenant, c); codeOf(refused) != loci.Conflict {
						err = errors.Join(err, refused, errors.New("a link to nothing is not refused"))
					}
				}
				done <- err
			}()
		}
		for range 8 {
			b.must("Apply", <-done)
		}
		if n := b.chained(); n != 86 {
			b.Errorf("%d events are chained; want 86", n)
		}
	}},
}

// chained requires that the log is one chain up to the head, and returns its length.
func (b *bench) chained() int {
	b.Helper()
	events := b.events(loci.EventFilter{})
	chain, err := b.store.Chain(b.Context(), b.tenant)
	b.must("Chain", err)
	var head loci.Hash
	for _, e := range slices.Backward(events) {
		if !e.Unnamed && e.Mark != chain.Names.Mark(e.Namespace) {
			b.Errorf("event %d has another mark than its namespace %s", e.Seq, e.Namespace)
		}
		sealed := e
		sealed.Seal(head)
		if len(e.Payload)+len(e.Nonce) > 0 && sealed.Hash != e.Hash {
			b.Fatalf("event %d does not follow the one before it: %+v", e.Seq, e)
		}
		head = e.Hash
	}
	if chain.Head != head || head.IsZero() {
		b.Errorf("the head is %v; the last event has %v", chain.Head, head)
	}
	return len(events)
}
