package postgres_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// BenchmarkWarm compares a warm search with SQLite's and a round trip, in short turns: the goal is no more than
// the other two together. The least and the median of the turns say what each of them takes.
func BenchmarkWarm(b *testing.B) {
	d, s := durable(b)
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	// As the contexts of requests, which end: the driver watches them.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tn := locitest.Tenant(b, "warm")
	var last loci.ID
	for range 40 {
		var c loci.Change
		for range 500 {
			last = loci.NewID()
			one := creation(last)
			c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		}
		for _, store := range []loci.Store{s, file} {
			if err := store.Apply(ctx, tn, c); err != nil {
				b.Fatal(err)
			}
		}
	}
	search := func(store loci.Store) func() {
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		return func() {
			hits, err := store.Match(ctx, tn, loci.Probe{Text: wordOf(last)}, everywhere, 5)
			if err != nil || len(hits) != 1 {
				b.Fatalf("%d hits, %v", len(hits), err)
			}
		}
	}
	conn, err := pgconn.Connect(ctx, d.Server)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	trip := transaction(ctx, b, conn, postgres.KeyOf(tn))
	calls := []struct {
		name string
		call func()
		took []time.Duration
	}{{name: "ours", call: search(s)}, {name: "sqlite", call: search(file)}, {name: "trip", call: trip}}
	for b.Loop() {
		for i := range calls {
			began := time.Now()
			for range 10 {
				calls[i].call()
			}
			calls[i].took = append(calls[i].took, time.Since(began)/10)
		}
	}
	at := func(i int, of float64) float64 {
		took := calls[i].took
		slices.Sort(took)
		return float64(took[int(of*float64(len(took)-1))].Nanoseconds()) / 1000
	}
	for i, one := range calls {
		b.ReportMetric(at(i, 0), "least-µs-"+one.name)
		b.ReportMetric(at(i, 0.5), "µs-"+one.name)
	}
	b.ReportMetric(at(0, 0.5)/(at(1, 0.5)+at(2, 0.5)), "of-both")
	b.ReportMetric(at(0, 0)/(at(1, 0)+at(2, 0)), "least-of-both")
}
