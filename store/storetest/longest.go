package storetest

import (
	"bytes"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// longestSlot is more than the slot of any kind takes: the path of a file ends at 8,191
// bytes, a checkpoint's slot below that.
const longestSlot = 10_000

// noise are n bytes that no index can make smaller, none of them zero.
func noise(seed uint64, n int) string {
	r := random(seed)
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + r.IntN(255))
	}
	return string(b)
}

// letters are n of them in an order that no index can make smaller.
func letters(seed uint64, n int) string {
	r := random(seed)
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[r.IntN(64)]
	}
	return string(b)
}

// longestCases are about the longest keys there can be, and those that differ behind what
// an index of some databases holds of them.
var longestCases = []testCase{
	{"the longest slots are held once and listed in order", func(b *bench) {
		common := noise(1, longestSlot-2)
		var slots []string
		for _, end := range []string{"", "\x00", "a", "aa", "ab", "b", "\xff\xff"} {
			slots = append(slots, common+end)
		}
		for _, n := range []int{1023, 1024, 1025, 2047, 2704, 5000, 8191} { // prefixes of the others
			slots = append(slots, common[:n])
		}
		holders := map[string]int{}
		for i, slot := range slots {
			holders[slot] = i + 1
			b.put(holding(record(i+1, "walrus"), slot))
		}
		for i, slot := range slots {
			b.conflict("taking a long slot", creation(holding(record(100+i, ""), slot)))
			b.wantSlot(slot, i+1)
		}
		slices.Sort(slots)
		want := make([]loci.ID, len(slots))
		for i, slot := range slots {
			want[i] = id(holders[slot])
		}
		f := loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		for _, f.Exact = range []bool{true, false} {
			for _, size := range []int{1, 3, 100} {
				up := recordsInOrder(b.Context(), b, b.store, b.tenant, f, loci.SlotAscending, size)
				b.same("ascending", recordIDs(up), want)
				down := recordsInOrder(b.Context(), b, b.store, b.tenant, f, loci.SlotDescending, size)
				slices.Reverse(down)
				b.same("descending", recordIDs(down), want)
			}
			for from := range slots {
				for to := from; to < len(slots); to++ {
					f.Slots = loci.SlotRange{From: slots[from], To: slots[to]}
					got := recordsInOrder(b.Context(), b, b.store, b.tenant, f, loci.SlotAscending, 4)
					b.same("a range", recordIDs(got), want[from:to])
				}
			}
			f.Slots = loci.SlotRange{}
		}
	}},
	{"a long slot moves, is freed and taken again", func(b *bench) {
		long, other := noise(2, longestSlot), noise(2, longestSlot-1)+"\x01"
		one, two := holding(record(1, ""), long), holding(record(2, ""), other)
		b.apply(creation(one, two))
		one, two = next(holding(one, other)), next(holding(two, long))
		b.apply(creation(one, two)) // they change places
		b.wantSlot(long, 2)
		b.wantSlot(other, 1)
		b.apply(erasure(two))
		b.put(holding(record(3, ""), long))
		b.wantSlot(long, 3)
	}},
	{"the longest places are told apart", func(b *bench) {
		var common loci.Namespace
		for n := range loci.MaxLabels - 1 {
			common = append(common, letters(uint64(10+n), loci.MaxLabelBytes))
		}
		last := letters(99, loci.MaxLabelBytes-1)
		places := []loci.Namespace{
			common.Child(last + "a"),
			common.Child(last + "b"),
			common.Child(last),
			common,
			common[:5],
			{last},
		}
		for i, place := range places {
			b.put(holding(placed(record(i+1, "walrus"), place...), "slot"))
		}
		for i, place := range places {
			exact := loci.Filter{Within: []loci.Namespace{place}, Exact: true}
			b.same("records of a long place", recordIDs(b.all(exact)), ids(i+1))
			b.same("hits of a long place", hitIDs(b.match(words("walrus"), exact, 10)), ids(i+1))
			log := b.events(loci.EventFilter{Within: []loci.Namespace{place}})
			if len(log) == 0 ||
				!slices.ContainsFunc(
					log,
					func(e loci.Event) bool { return e.Entity == id(i+1) && e.Namespace.Equal(place) },
				) {
				b.Errorf("the log of a long place has %d events and not that of its record", len(log))
			}
		}
		b.same("records below", recordIDs(b.all(loci.Filter{Within: []loci.Namespace{common}})), ids(4, 3, 2, 1))
		b.same(
			"hits below",
			hitIDs(b.match(words("walrus"), loci.Filter{Within: []loci.Namespace{common[:5]}}, 10)),
			ids(5, 4, 3, 2, 1),
		)
		got, err := b.store.Namespaces(b.Context(), b.tenant, loci.Filter{Within: everywhere})
		b.must("Namespaces", err)
		want := slices.SortedFunc(
			slices.Values(places),
			func(x, y loci.Namespace) int { return strings.Compare(x.Key(), y.Key()) },
		)
		b.same("namespaces", got, want)
		b.apply(erasure(placed(record(1, ""), places[0]...)))
		b.put(placed(record(9, "walrus"), places[0]...)) // its name comes back
		b.same(
			"records of a place that came back",
			recordIDs(b.all(loci.Filter{Within: places[:1], Exact: true})),
			ids(9),
		)
		b.same(
			"hits of a place that came back",
			hitIDs(b.match(words("walrus"), loci.Filter{Within: places[:1]}, 10)),
			ids(9),
		)
	}},
	{"the longest keys of replies are told apart", func(b *bench) {
		common := noise(3, 2*longestSlot)
		keys := []string{common + "a", common + "b", common, common[:2704]}
		for i, key := range keys {
			c := creation(record(i+1, ""))
			c.Reply = reply(key, at(i))
			c.Reply.Fingerprint, c.Reply.Record = noise(4, longestSlot), id(i+1)
			b.apply(c)
		}
		for i, key := range keys {
			got, err := b.store.Replied(b.Context(), b.tenant, key)
			b.must("Replied", err)
			if got == nil || got.Record != id(i+1) {
				b.Errorf("the reply of a long key is %+v; want that of record %d", got, i+1)
			}
		}
		again := creation(record(50, ""))
		again.Reply = reply(keys[0], at(9))
		b.conflict("a long key that is stored", again)
	}},
	{"names of every kind may be long", func(b *bench) {
		r := record(1, "walrus")
		r.Kind, r.Scope, r.Status = loci.Kind(noise(5, 300)), noise(6, longestSlot), noise(7, longestSlot)
		r.Sequence, r.Position = noise(8, loci.MaxLabelBytes), 3
		r.Tags = []string{letters(9, longestSlot)}
		r.Text = letters(10, 100_000)
		r.Passages = whole(r.Text)
		c := creation(r)
		c.Events[0].Actor, c.Events[0].RequestID = letters(11, longestSlot), letters(12, longestSlot)
		c.Events[0].Payload = []byte(`"` + letters(13, longestSlot) + `"`)
		c.Links = []loci.Link{{From: id(1), Type: loci.LinkType(noise(14, 300)), To: id(1), At: at(1)}}
		b.apply(c)
		b.same("record", *b.get(id(1)), r)
		f := loci.Filter{
			Within: everywhere, Kinds: []loci.Kind{r.Kind}, Scopes: []string{r.Scope}, Statuses: []string{r.Status},
			Sequences: []string{r.Sequence}, Tags: r.Tags,
		}
		b.same("what they select", recordIDs(b.all(f)), ids(1))
		log := b.events(loci.EventFilter{})
		if len(log) != 1 || log[0].Actor != c.Events[0].Actor || !bytes.Equal(log[0].Payload, c.Events[0].Payload) {
			b.Errorf("%d events, not the one that was written", len(log))
		}
		links, err := b.store.Links(b.Context(), b.tenant, id(1))
		b.must("Links", err)
		b.same("links", links, c.Links)
	}},
}
