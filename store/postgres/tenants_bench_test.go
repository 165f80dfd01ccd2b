package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// BenchmarkManyTenants searches tenants at random whose indexes take more together than they may: a tenth of 10,000
// tenants and of 256 MB, or all with LOCI_LONG. It says what the indexes held at most, what the process held then,
// and how many searches had to load.
func BenchmarkManyTenants(b *testing.B) {
	tenants, budget := 1000, int64(25<<20)
	if os.Getenv("LOCI_LONG") != "" {
		tenants, budget = 10_000, 256<<20
	}
	d, s := durable(b)
	words := make([]string, tenants)
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for i := k; i < tenants; i += 8 {
				var c loci.Change
				for range 50 {
					id := loci.NewID()
					one := creation(id)
					r := &one.Put[0].Record
					for range 10 {
						r.Text += fmt.Sprintf(" word%d", rand.N(10_000))
					}
					r.Passages = []loci.Span{{End: len(r.Text)}}
					c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
					words[i] = wordOf(id)
				}
				if err := s.Apply(context.Background(), locitest.Tenant(b, fmt.Sprint("t", i)), c); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	fresh := openWith(b, d.Server, &postgres.Options{IndexMemory: budget})
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	held, heap := int64(0), uint64(0)
	searches := 0
	for b.Loop() {
		i := rand.N(tenants)
		tn := locitest.Tenant(b, fmt.Sprint("t", i))
		hits, err := fresh.Match(context.Background(), tn, loci.Probe{Text: words[i]}, everywhere, 5)
		if err != nil || len(hits) == 0 {
			b.Fatalf("%d hits, %v", len(hits), err)
		}
		if searches++; searches%100 == 0 {
			held = max(held, fresh.Work().IndexBytes)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap = max(heap, m.HeapInuse)
		}
	}
	b.ReportMetric(float64(held)/(1<<20), "MB-of-indexes")
	b.ReportMetric(float64(heap)/(1<<20), "MB-of-heap")
	b.ReportMetric(float64(fresh.Work().ShardsLoaded)/float64(searches), "loads/search")
}
