package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

var contextCases = []testCase{
	{"a cancelled context stops every call", func(b *bench) {
		b.stock()
		cancelled, cancel := context.WithCancel(b.Context())
		cancel()
		late, cancel := context.WithDeadline(b.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for _, c := range calls {
			b.unchanged("a cancelled "+c.name, func() {
				for _, ctx := range []context.Context{cancelled, late} {
					err := c.call(ctx, b.store, b.tenant)
					b.refused("a cancelled "+c.name, err, loci.Unavailable)
					if !errors.Is(err, ctx.Err()) {
						b.Errorf("%s: the cause is %v; want %v", c.name, errors.Unwrap(err), ctx.Err())
					}
				}
			})
		}
		_, err := tenants(cancelled, b.store)
		b.refused("a cancelled Tenants", err, loci.Unavailable)
		for _, c := range calls { // and each works when it is not
			b.must(c.name, c.call(b.Context(), b.store, b.tenant))
		}
	}},
	{"deadlines in the middle of writes leave all or nothing", deadlines},
}

// deadlines writes pairs of records from many goroutines, each with a deadline
// that may pass at any moment.
func deadlines(b *bench) {
	const writers, rounds = 8, 40
	outcomes := make([]error, writers*rounds)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 4))
			for round := range rounds {
				n := w*rounds + round
				ctx, cancel := context.WithTimeout(b.Context(), time.Duration(r.IntN(3000))*time.Microsecond)
				c := creation(record(2*n+1, "walrus"), record(2*n+2, "walrus"))
				c.Reply = reply(string(rune('a'+n)), at(1))
				outcomes[n] = b.store.Apply(ctx, b.tenant, c)
				cancel()
			}
		})
	}
	group.Wait()
	there := map[loci.ID]bool{}
	for _, r := range b.all(loci.Filter{Within: everywhere}) {
		there[r.ID] = true
	}
	found := map[loci.ID]bool{}
	for _, h := range b.match(words("walrus"), loci.Filter{}, 10_000) {
		found[h.ID] = true
	}
	events := map[loci.ID]int{}
	for _, e := range b.events(loci.EventFilter{}) {
		events[e.Entity]++
	}
	for n, err := range outcomes {
		one, two := id(2*n+1), id(2*n+2)
		if err != nil {
			b.refused("a write past its deadline", err, loci.Unavailable)
		}
		reply, replyErr := b.store.Replied(b.Context(), b.tenant, string(rune('a'+n)))
		b.must("Replied", replyErr)
		stored := there[one]
		if err == nil && !stored {
			b.Errorf("write %d was acknowledged and is not there", n)
		}
		if there[two] != stored || found[one] != stored || found[two] != stored || (reply != nil) != stored ||
			events[one] != events[two] || (events[one] == 1) != stored {
			b.Errorf("write %d (error %v) is there in part", n, err)
		}
	}
}
