package sqlite

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
)

// BenchmarkManyTenants searches tenants at random, each of them a file of 50 notes: 200, or 10,000 with LOCI_LONG. It
// says how much memory the process held at most, and the indexes.
func BenchmarkManyTenants(b *testing.B) {
	tenants := 200
	if os.Getenv("LOCI_LONG") != "" {
		tenants = 10_000
	}
	dir := b.TempDir()
	filled, err := Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	tenant := func(i int) loci.Tenant {
		t, err := loci.NewTenant(fmt.Sprint("t", i))
		if err != nil {
			b.Error(err)
		}
		return t
	}
	word := func(i, n int) string { return fmt.Sprintf("walrus%d", i*50+n) }
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for i := k; i < tenants; i += 8 {
				var all loci.Change
				for n := range 50 {
					text := word(i, n)
					for range 10 {
						text += fmt.Sprint(" word", rand.N(10_000))
					}
					c := note(text)
					all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
				}
				if err := filled.Apply(context.Background(), tenant(i), all); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if err := filled.Close(); err != nil || b.Failed() {
		b.Fatal(err)
	}
	s, err := Open(dir, &Options{IndexMemory: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil { // the peak begins again
		b.Fatal(err)
	}
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	indexes := int64(0)
	for b.Loop() {
		i, n := rand.N(tenants), rand.N(50)
		hits, err := s.Match(context.Background(), tenant(i), loci.Probe{Text: word(i, n)}, everywhere, 5)
		if err != nil || len(hits) != 1 {
			b.Fatalf("%d hits, %v", len(hits), err)
		}
		indexes = max(indexes, s.Work().IndexBytes)
	}
	b.ReportMetric(float64(indexes)/(1<<20), "MB-of-indexes")
	b.ReportMetric(peak(b), "MB-of-the-process")
}

// peak is how much memory the process has held at most, in MB.
func peak(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		b.Fatal("the system does not say how much memory a process has held")
	}
	kilobytes, err := strconv.Atoi(string(m[1]))
	if err != nil {
		b.Fatal(err)
	}
	return float64(kilobytes) / 1024
}
