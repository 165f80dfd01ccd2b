package store_test

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store"
)

// BenchmarkQuotaBesideAnother is a write under a quota to a tenant that another process has
// just written to; what that one does is not counted.
func BenchmarkQuotaBesideAnother(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres", "mongo"} {
		for _, size := range []int{1_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				url, tn := emptyStores[kind](b), locitest.Tenant(b, "bench")
				var stores [2]loci.Store
				for i := range stores {
					s, err := store.Open(b.Context(), url, nil)
					must(b, err)
					b.Cleanup(func() { must(b, s.Close()) })
					stores[i] = s
				}
				for n := 0; n < size; n += 500 {
					var c loci.Change
					for range 500 {
						one := storm.Creation(loci.NewID())
						c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
					}
					must(b, stores[0].Apply(b.Context(), tn, c))
				}
				b.ResetTimer()
				for range b.N {
					b.StopTimer()
					must(b, stores[0].Apply(b.Context(), tn, storm.Creation(loci.NewID())))
					b.StartTimer()
					c := storm.Creation(loci.NewID())
					c.Quota = &loci.Quota{Bytes: 1 << 50}
					must(b, stores[1].Apply(b.Context(), tn, c))
				}
			})
		}
	}
}
