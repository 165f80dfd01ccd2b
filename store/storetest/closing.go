package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
)

var closeCases = []testCase{
	{"a closed store is unavailable", func(b *bench) {
		b.stock()
		for range 3 {
			b.must("Close", b.store.Close())
			for _, c := range calls {
				b.refused(c.name+" after Close", c.call(b.Context(), b.store, b.tenant), loci.Unavailable)
			}
			_, err := tenants(b.Context(), b.store)
			b.refused("Tenants after Close", err, loci.Unavailable)
		}
	}},
	{"an unused store closes", func(b *bench) { b.must("Close", b.store.Close()) }},
	{"a store closes while it is used", func(b *bench) {
		b.stock()
		var calling, closing sync.WaitGroup
		var finished atomic.Int64
		for w := range 8 {
			calling.Go(func() {
				for n := 0; ; n++ {
					c := calls[(w+n)%(len(calls)-1)] // all but EraseTenant
					err := c.call(b.Context(), b.store, b.tenant)
					if c.name == "Apply" {
						err = b.store.Apply(b.Context(), b.tenant, creation(record(1000+w*1_000_000+n, "walrus")))
					}
					switch codeOf(err) {
					case "", loci.Conflict:
						finished.Add(1)
					case loci.Unavailable:
						return
					default:
						b.Errorf("%s beside Close: %v", c.name, err)
						return
					}
				}
			})
		}
		for finished.Load() < 100 {
			if b.Failed() {
				break
			}
		}
		for range 3 {
			closing.Go(func() {
				if err := b.store.Close(); err != nil {
					b.Errorf("Close: %v", err)
				}
			})
		}
		closing.Wait()
		calling.Wait()
	}},
	{"stores do not share what they hold", func(b *bench) {
		b.stock()
		other := newBench(b.T, b.target)
		other.same("records of another store", other.all(loci.Filter{Within: everywhere}), nil)
		other.must("Close", other.store.Close())
		if got := b.all(loci.Filter{Within: everywhere}); len(got) != 2 {
			b.Errorf("%d records after another store was closed; want 2", len(got))
		}
	}},
	{"a store may be opened and closed many times", func(b *bench) {
		for n := range 5 {
			other := newBench(b.T, b.target)
			other.put(record(1, fmt.Sprint("walrus ", n)))
			other.same("hits", other.found(words("walrus")), ids(1))
			other.must("Close", other.store.Close())
		}
	}},
}
