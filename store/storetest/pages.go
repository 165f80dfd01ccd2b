package storetest

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

// BenchmarkPages reads pages of 50 by slot, the last slot first, from the end and from
// the middle of a namespace of 100, 10,000 and 100,000 records. All should cost the same.
func BenchmarkPages(b *testing.B, open func(testing.TB) loci.Store) {
	s := open(b)
	acme := tenant(b, "acme")
	for _, n := range []int{100, 10_000, 100_000} {
		place := loci.Namespace{"talk", fmt.Sprint(n)}
		for first := 0; first < n; first += 1000 {
			var c loci.Change
			for i := first; i < min(first+1000, n); i++ {
				r := holding(record(n*10+i, "What a message says."), fmt.Sprintf("talk/%08d", i))
				r.Namespace, r.Passages = place, nil
				c.Put = append(c.Put, loci.Put{Record: r})
			}
			c.Events = []loci.Event{event(loci.EventCreated, c.Put[0].Record)}
			if err := s.Apply(b.Context(), acme, c); err != nil {
				b.Fatal(err)
			}
		}
		f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		middle := f
		middle.Slots.To = fmt.Sprintf("talk/%08d", n/2)
		_, cursor, err := s.Records(b.Context(), acme, middle, loci.Page{Limit: 1, Order: loci.SlotDescending})
		if err != nil {
			b.Fatal(err)
		}
		for name, at := range map[string]string{"end": "", "middle": cursor} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					records, _, err := s.Records(b.Context(), acme, f,
						loci.Page{Limit: 50, Order: loci.SlotDescending, Cursor: at})
					if err != nil || len(records) < 49 {
						b.Fatal(len(records), err)
					}
				}
			})
		}
	}
}
