package storetest

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/loci-memory/loci"
)

// bounded is a change under a quota.
func bounded(c loci.Change, records, bytes int64) loci.Change {
	c.Quota = &loci.Quota{Records: records, Bytes: bytes}
	return c
}

// wantHeld requires what the tenant holds.
func (b *bench) wantHeld(records, bytes int64) {
	b.Helper()
	held, err := b.store.Held(b.Context(), b.tenant)
	b.must("Held", err)
	b.same("what the tenant holds", held, loci.Holding{Records: records, Bytes: bytes})
}

// overQuota makes a change that must be refused for a quota, and leave no trace.
func (b *bench) overQuota(of string, limit, used int64, c loci.Change) {
	b.Helper()
	b.unchanged("a change beyond a quota", func() {
		b.Helper()
		err := b.store.Apply(b.Context(), b.tenant, c)
		b.refused("a change beyond a quota", err, loci.TooLarge)
		var quota *loci.QuotaError
		if !errors.As(err, &quota) || *quota != (loci.QuotaError{Of: of, Limit: limit, Used: used}) {
			b.Errorf("%v: %+v", err, quota)
		}
	})
}

// large is a record with a text of 5 bytes, a heading of 2 and 9 bytes of JSON.
func large(n int) loci.Record {
	r := record(n, "walru")
	r.Heading, r.Attributes, r.Body = "he", []byte(`{"a":1}`), []byte(`{}`)
	return r
}

var quotaCases = []testCase{
	{"a store measures what a tenant holds", func(b *bench) {
		b.wantHeld(0, 0)
		one, two := large(1), record(2, "telescope")
		two.Live = false
		b.put(one, two)
		b.wantHeld(2, 5+2+7+2+9)
		b.as("another", func() {
			b.put(record(3, "harbour"))
			b.wantHeld(1, 7)
		})
		again := next(one)
		again.Attributes, again.Body = nil, []byte(`{"b":2}`)
		b.apply(changeOf(loci.Put{Record: again, SameText: true, Revisions: 5}))
		b.wantHeld(2, 5+2+7+9)
		again = next(again)
		again.Text, again.Passages = cut("x")
		again.Heading = ""
		b.apply(changeOf(loci.Put{Record: again, Revisions: 5})) // earlier states are not counted
		b.wantHeld(2, 1+7+9)
		b.apply(erasure(two))
		b.wantHeld(1, 1+7)
		b.must("EraseTenant", b.store.EraseTenant(b.Context(), b.tenant))
		b.wantHeld(0, 0)
	}},
	{"what a tenant holds is kept, whatever changes it", func(b *bench) {
		handles := b.handles()
		for round := range 3 {
			b.store = handles[round%len(handles)]
			var many []loci.Record
			for n := range []int{300, 30, 30}[round] { // once more than a store erases at once
				many = append(many, large(1000*round+n+1))
			}
			b.apply(creation(many...))
			old, imported := many[0], large(1000*round+500)
			old.Version, imported.Version = 2, 7
			b.apply(changeOf(loci.Put{Record: old, SameText: true, Revisions: 2}))
			c := changeOf(loci.Put{Record: imported, History: []loci.Revision{{Version: 6, Text: "not counted"}}})
			b.apply(c)
			shorter := next(imported)
			shorter.Text, shorter.Passages = cut("w")
			swap := erasure(many[len(many)-1]) // an erase and a change of another one together
			swap.Put = []loci.Put{{Record: shorter, Revisions: -1}}
			swap.Events = append(swap.Events, event(loci.EventUpdated, shorter))
			b.apply(swap)
			b.apply(erasure(many[1 : len(many)-1]...))
			b.touch(loci.Touch{ID: old.ID, At: at(5), ExpiresAt: at(2000)})
			b.conflict("a slip", creation(old, large(9999)))
		}
		for _, b.store = range handles {
			b.wantHeld(6, 3*(16+12))
		}
		b.must("EraseTenant", handles[0].EraseTenant(b.Context(), b.tenant))
		b.apply(creation(large(1)))
		b.wantHeld(1, 16)
		b.store = handles[0]
	}},
	{"a quota bounds records and bytes, to the last one", func(b *bench) {
		b.apply(bounded(creation(large(1), large(2)), 3, 0))
		b.overQuota("records", 3, 2, bounded(creation(record(3, ""), record(4, "")), 3, 0))
		b.apply(bounded(creation(record(3, "")), 3, 0))
		b.overQuota("records", 3, 3, bounded(creation(record(4, "")), 3, 0))
		b.apply(bounded(creation(record(4, "12345678")), 0, 40))
		b.wantHeld(4, 40)
		b.overQuota("bytes", 40, 40, bounded(creation(record(5, "1")), 0, 40))
		// What is no larger may always come, also where the quota was lowered.
		shorter := next(record(4, "123"))
		b.apply(bounded(creation(shorter), 1, 1))
		b.wantHeld(4, 35)
		longer := shorter
		longer.Text, longer.Passages = cut("1234")
		b.overQuota("bytes", 1, 35, bounded(creation(next(longer)), 9, 1))
		same := next(shorter)
		b.apply(bounded(changeOf(loci.Put{Record: same, SameText: true}), 1, 1))
		b.overQuota("records", 1, 4, bounded(creation(record(6, "")), 1, 1))
		swap := erasure(large(1))
		swap.Put, swap.Events = creation(record(7, "")).Put, append(swap.Events, creation(record(7, "")).Events...)
		b.apply(bounded(swap, 1, 1))
		b.wantHeld(4, 19)
		b.apply(bounded(erasure(large(2)), 1, 1))
		b.wantHeld(3, 3)
		b.apply(creation(record(8, "nobody asks"))) // without a quota
		b.overQuota("bytes", 14, 14, bounded(creation(record(9, "1")), 0, 14))
		b.apply(bounded(loci.Change{Events: []loci.Event{event(loci.EventCreated, record(9, ""))}}, 1, 1))
	}},
	{"a change that does not fit is a conflict, whatever its quota", func(b *bench) {
		b.put(record(1, "walrus"))
		b.conflict("a put of another version", bounded(creation(record(1, "telescope")), 1, 1))
		b.conflict("an erase of another version", bounded(erasure(next(record(1, ""))), 1, 1))
	}},
	{"a quota counts what others wrote in between", func(b *bench) {
		handles := b.handles()
		first, second := handles[0], handles[len(handles)-1]
		for n := range 6 { // what a process knows of it is worth nothing when another has written
			b.must("Apply", first.Apply(b.Context(), b.tenant, bounded(creation(record(2*n+1, "1")), 12, 12)))
			c := creation(record(2*n+2, "2"))
			if n%2 == 0 {
				c = bounded(c, 12, 12)
			}
			b.must("Apply", second.Apply(b.Context(), b.tenant, c))
		}
		b.overQuota("records", 12, 12, bounded(creation(record(99, "")), 12, 12))
		b.must("EraseTenant", second.EraseTenant(b.Context(), b.tenant))
		b.must("Apply", first.Apply(b.Context(), b.tenant, bounded(creation(record(1, "1")), 12, 12)))
		b.wantHeld(1, 1)
	}},
	{"a quota counts what writers without one add beside it", func(b *bench) {
		for round := range 40 {
			b.together(b.handles(), func(w int, s loci.Store) error {
				c := creation(record(100*round+w+1, "walrus"))
				if w/2%2 == 0 { // on each handle there are both
					c = bounded(c, 1<<40, 1<<40)
				}
				err := s.Apply(b.Context(), b.tenant, c)
				for codeOf(err) == loci.Conflict {
					err = s.Apply(b.Context(), b.tenant, c)
				}
				return err
			})
			err := b.store.Apply(b.Context(), b.tenant, bounded(creation(record(100*round+99, "")), 1, 0))
			b.refused("a change beyond a quota", err, loci.TooLarge)
			var quota *loci.QuotaError
			if held := int64((round + 1) * writers); !errors.As(err, &quota) || quota.Used != held {
				b.Fatalf("after %d rounds: %v; the tenant holds %d", round+1, err, held)
			}
		}
	}},
	{"writers at the same time never pass a quota", func(b *bench) {
		const most, each = 2 * writers, 6
		var made, refused atomic.Int64
		b.together(b.handles(), func(w int, s loci.Store) error {
			for n := range each {
				c := bounded(creation(record(1000*(w+1)+n, "walrus")), most, 6*most)
				if n%2 == 1 {
					c.Quota.Records = 0 // the bytes alone are as tight
				}
				err := s.Apply(b.Context(), b.tenant, c)
				for codeOf(err) == loci.Conflict {
					err = s.Apply(b.Context(), b.tenant, c)
				}
				switch {
				case err == nil:
					made.Add(1)
				case codeOf(err) == loci.TooLarge && strings.Contains(err.Error(), "holds"):
					refused.Add(1)
				default:
					return err
				}
			}
			return nil
		})
		if made.Load() != most || refused.Load() != writers*each-most {
			b.Errorf("%d were made and %d refused, of %d with room for %d", made.Load(), refused.Load(), writers*each, most)
		}
		b.wantHeld(most, 6*most)
	}},
}
