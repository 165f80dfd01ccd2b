package storetest

import (
	"fmt"

	"github.com/loci-memory/loci"
)

var sharedCases = []testCase{
	{"a second handle sees every write at once", func(b *bench) {
		handles := b.handles()
		for n := 1; n <= 10; n++ {
			b.store = handles[n%2]
			r := record(n, fmt.Sprintf("walrus number%d", n))
			b.apply(changeOf(embedded(holding(r, fmt.Sprint("slot ", n)), 0.5)))
			b.store = handles[(n+1)%2]
			b.same("hits of the other's put", b.found(words(fmt.Sprint("number", n))), ids(n))
			b.conflict("a slot the other took", creation(holding(record(1000, ""), fmt.Sprint("slot ", n))))
			b.touch(loci.Touch{ID: id(n), ExpiresAt: at(2000)})
			r = next(r)
			r.ExpiresAt = at(2000)
			r.Text, r.Passages = cut(fmt.Sprintf("telescope other%d", n))
			b.apply(changeOf(embedded(r, 0.9)))
			b.store = handles[n%2]
			b.same("hits of the old word", b.found(words(fmt.Sprint("number", n))), nil)
			b.same("hits of the new word", b.found(words(fmt.Sprint("other", n))), ids(n))
			b.same("hits after the expiry", hitIDs(b.match(words(fmt.Sprint("other", n)), loci.Filter{At: at(3000)}, 10)), nil)
			b.same("best by similarity", hitIDs(b.match(direction(spaceA), loci.Filter{}, 1)), ids(n))
			b.putVectors(rowsOf(r, spaceB, 0.5))
			b.store = handles[(n+1)%2]
			b.same("hits in the other space", b.found(direction(spaceB)), ids(n))
			b.apply(erasure(r))
			b.store = handles[n%2]
			b.same("hits after the erase", b.found(words(fmt.Sprint("other", n))), nil)
		}
		b.store = handles[0]
	}},
	{"kinds are followed whether they were searched before or not", func(b *bench) {
		handles := b.handles()
		fact, item := loci.Filter{Kinds: []loci.Kind{loci.KindFact}}, loci.Filter{Kinds: []loci.Kind{"item"}}
		look := func(what string, facts, items, all []loci.ID) {
			b.Helper()
			b.store = handles[1]
			b.same("facts "+what, hitIDs(b.match(words("walrus"), fact, 10)), facts)
			if items != nil { // else this kind is not searched yet
				b.same("items "+what, hitIDs(b.match(words("walrus"), item, 10)), items)
				b.same("all "+what, b.found(words("walrus")), all)
			}
			b.store = handles[0]
		}
		items := make([]loci.Record, 10)
		for n := range items {
			items[n] = record(n, "walrus")
			items[n].Kind = "item"
		}
		b.put(record(1, "walrus"), items[2])
		look("at first", ids(1), nil, nil)
		b.put(record(3, "walrus"), items[4], items[5])
		b.apply(erasure(items[2]))
		look("before items are searched", ids(3, 1), nil, nil)
		look("when items are searched first", ids(3, 1), ids(5, 4), ids(5, 4, 3, 1))
		b.apply(erasure(record(3, ""), items[5]))
		quiet, ended := next(record(1, "walrus bytes")), next(items[4])
		quiet.Passages, ended.Live = nil, false
		b.put(quiet, ended, items[6])
		look("when some are no longer searched", []loci.ID{}, ids(6), ids(6))
		b.put(placed(record(7, "walrus"), "new"))
		loud, back := next(quiet), next(ended)
		loud.Passages, back.Live = whole(loud.Text), true
		b.put(loud, back)
		look("when they are again", ids(7, 1), ids(6, 4), ids(7, 6, 4, 1))
	}},
	{"both handles read the same", func(b *bench) {
		handles := b.handles()
		handles[1].Match(b.Context(), b.tenant, both("walrus", spaceA), loci.Filter{Within: everywhere}, 10) // fills what it may keep in memory
		b.stockMore()
		first := b.state()
		b.store = handles[1]
		b.same("state through the second handle", b.state(), first)
		b.store = handles[0]
	}},
	{"an erased tenant is gone from both", func(b *bench) {
		handles := b.handles()
		b.stockMore()
		b.store = handles[1]
		b.state()
		b.must("EraseTenant", handles[0].EraseTenant(b.Context(), b.tenant))
		s := b.state()
		if len(s.Records)+len(s.Events)+len(s.Spaces) > 0 || len(b.found(both("walrus", spaceA))) > 0 {
			b.Errorf("the second handle still reads %+v", s)
		}
		b.stock() // and the tenant may come again through it
		b.store = handles[0]
		b.same("hits", b.found(words("walrus")), ids(2, 1))
	}},
	{"a tenant that comes again is not mistaken for the old one", func(b *bench) {
		handles := b.handles()
		b.store = handles[1]
		b.stockMore()
		b.put(record(40, "walrus")) // the second handle has read and written: it may remember
		b.same("the newest hit before", b.found(words("walrus"))[0], id(40))
		b.must("EraseTenant", handles[0].EraseTenant(b.Context(), b.tenant))
		b.same("hits of the erased", b.found(words("walrus")), nil)
		// First another namespace comes: what the second handle remembers of the old
		// ones must neither send its writes there nor hide it.
		b.store = handles[0]
		other := record(50, "walrus")
		other.Namespace = loci.Namespace{"somebody", "else"}
		b.put(other)
		b.store = handles[1]
		b.stock()
		for _, b.store = range handles {
			b.same("hits", b.found(words("walrus")), ids(50, 2, 1))
			b.same("the other namespace", hitIDs(b.match(words("walrus"), loci.Filter{Within: []loci.Namespace{other.Namespace}}, 10)), ids(50))
			b.same("the other namespace's records", b.all(loci.Filter{Within: []loci.Namespace{other.Namespace}}), []loci.Record{other})
		}
		b.store = handles[0]
	}},
	{"concurrent edits through both handles are all there", func(b *bench) { increments(b, b.handles()) }},
	{"one of many takes a slot, through either handle", func(b *bench) { slotRace(b, b.handles()) }},
	{"readers of another handle never see half a change", func(b *bench) { halves(b, b.handles()) }},
	{"closing one handle leaves the other", func(b *bench) {
		b.stock()
		second := b.share()
		b.must("Close", second.Close())
		b.put(record(3, "walrus"))
		third := b.share()
		b.must("Close", b.store.Close())
		b.store = third
		b.same("hits", b.found(words("walrus")), ids(3, 2, 1))
	}},
}
