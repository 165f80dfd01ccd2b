package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store"
)

// BenchmarkLongLife saves 100,000 notes by 64 callers in a process that searches beside them, with the built-in embedder.
// It says what its heap holds at most behind a fifth of them, and when a pass has followed the last one; and how long 99
// of 100 searches take beside eight callers that save without a pause, compared with searches alone.
func BenchmarkLongLife(b *testing.B) {
	for b.Loop() {
		live(b)
	}
}

func live(b *testing.B) {
	ctx := b.Context()
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(b.TempDir(), "x.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	builtin, err := embedding.NewBuiltin()
	if err != nil {
		b.Fatal(err)
	}
	e, err := loci.New(s, &loci.Options{Embedder: builtin, Content: loci.ContentOptions{KeepDuplicates: true}})
	if err != nil {
		b.Fatal(err)
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		b.Fatal(err)
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	text := func(words int) (out string) {
		for range words {
			out += fmt.Sprintf("w%x ", rand.N(2000)*rand.N(20))
		}
		return out
	}
	search := func() {
		if _, err := m.Search(ctx, loci.Query{Text: text(4)}); err != nil {
			b.Error(err)
		}
	}
	save := func() {
		if _, err := m.StoreFact(ctx, loci.NewFact{Content: text(15)}); err != nil {
			b.Error(err)
		}
	}
	heap := func() float64 {
		debug.FreeOSMemory()
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		return float64(now.HeapAlloc) / (1 << 20)
	}
	most := 0.0
	search()
	for range 5 {
		var group sync.WaitGroup
		for k := range 64 {
			group.Go(func() {
				for i := range 20_000 / 64 {
					if save(); k == 0 && i%20 == 0 {
						search()
					}
				}
			})
		}
		group.Wait()
		most = max(most, heap())
	}
	time.Sleep(5 * time.Second) // a pass begins a second behind the last save
	search()
	b.ReportMetric(most, "MB-at-most")
	b.ReportMetric(heap(), "MB-behind")
	b.ReportMetric(beside(save, search), "p99-beside/alone")
}

// beside measures searches alone, and beside eight callers that save.
func beside(save, search func()) float64 {
	alone := slow(search)
	var stop atomic.Bool
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for !stop.Load() {
				save()
			}
		})
	}
	defer group.Wait()
	defer stop.Store(true)
	return float64(slow(search)) / float64(alone)
}

// slow is how long 99 of 100 calls take at most.
func slow(call func()) time.Duration {
	var took []time.Duration
	for range 2000 {
		begin := time.Now()
		call()
		took = append(took, time.Since(begin))
		time.Sleep(2 * time.Millisecond)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
