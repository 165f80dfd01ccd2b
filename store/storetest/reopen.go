package storetest

import (
	"github.com/loci-memory/loci"
)

var reopenCases = []testCase{
	{"everything is there after reopening, with the same scores", func(b *bench) {
		b.stockMore()
		before := b.state()
		for range 3 {
			b.reopen()
			b.same("state after reopening", b.state(), before)
		}
	}},
	{"what was decided holds after reopening", func(b *bench) {
		b.stockMore()
		last := b.events(loci.EventFilter{})[0].Seq
		b.reopen()
		b.conflict("taking a held slot", creation(holding(record(9, ""), "slot")))
		b.conflict("a stale version", creation(record(1, "")))
		again := creation(record(9, ""))
		again.Reply = reply("key 1", at(9))
		b.conflict("a stored key", again)
		b.put(record(9, "walrus"))
		if events := b.events(loci.EventFilter{}); events[0].Seq <= last {
			b.Errorf("event %d follows event %d", events[0].Seq, last)
		} else {
			b.ascending(events)
		}
		b.apply(erasure(holding(record(1, ""), "slot")))
		b.reopen()
		if b.get(id(1)) != nil {
			b.Error("the erased record is back")
		}
		b.same("hits", b.found(words("telescope")), ids(5))
	}},
	{"an erased tenant stays erased", func(b *bench) {
		b.stockMore()
		b.as("other", b.stockMore)
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		b.reopen()
		b.wantTenants("other")
		b.same("records", b.all(loci.Filter{Within: everywhere, NotLive: true}), nil)
	}},
	{"cursors outlive the process", func(b *bench) {
		for n := 1; n <= 6; n++ {
			b.put(record(n, ""))
		}
		f := loci.Filter{Within: everywhere}
		_, cursor := b.page(f, loci.Page{Limit: 3})
		_, log, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere}, loci.Page{Limit: 4})
		b.must("Events", err)
		b.reopen()
		rest, _ := b.page(f, loci.Page{Cursor: cursor})
		b.same("second page", recordIDs(rest), ids(3, 2, 1))
		events, _, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
			loci.Page{Cursor: log})
		b.must("Events", err)
		if len(events) != 2 || events[1].Entity != id(1) {
			b.Errorf("%d events on the second page; want 2", len(events))
		}
	}},
}

// reopen closes the store and opens the same data again.
func (b *bench) reopen() {
	b.Helper()
	b.hold(b.target.Reopen(b.T, b.store))
}
