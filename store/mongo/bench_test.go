package mongo_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// durableStores are a store of each kind, whose writes survive a power cut when they are acknowledged.
func durableStores(b *testing.B) map[string]loci.Store {
	b.Helper()
	ctx := context.Background()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	stop := func(end func() error) {
		b.Cleanup(func() {
			if err := end(); err != nil {
				b.Error(err)
			}
		})
	}
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
	must(err)
	stop(file.Close)
	pg, err := pgtest.Start(ctx, pgtest.Options{Own: true, Args: []string{"fsync=on"}})
	must(err)
	stop(pg.Stop)
	d, _, err := pg.Database(ctx)
	must(err)
	_, err = postgres.Migrate(ctx, d.Owner, postgres.Migration{Role: d.Role})
	must(err)
	tables, err := postgres.Open(ctx, d.Server, nil)
	must(err)
	stop(tables.Close)
	server, err := mongotest.Start(ctx, mongotest.Options{Args: []string{"--sync-on-commit"}})
	must(err)
	stop(server.Stop)
	at := server.Database()
	_, err = mongo.Migrate(ctx, at, false)
	must(err)
	documents, err := mongo.Open(ctx, at, nil)
	must(err)
	stop(documents.Close)
	return map[string]loci.Store{"sqlite": file, "postgres": tables, "mongo": documents}
}

// BenchmarkBeside compares MongoDB with PostgreSQL and SQLite: saves of one tenant by one caller
// and by eight, a record by its id, and a warm search among 1,000.
func BenchmarkBeside(b *testing.B) {
	tn := locitest.Tenant(b, "bench")
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	for name, s := range durableStores(b) {
		for callers, what := range map[int]string{1: "save", 8: "save by 8"} {
			b.Run(what+"/"+name, func(b *testing.B) {
				var n atomic.Int64
				var group sync.WaitGroup
				for range callers {
					group.Go(func() {
						for n.Add(1) <= int64(b.N) {
							if err := s.Apply(context.Background(), tn, storm.Creation(loci.NewID())); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
			})
		}
		var c loci.Change
		var last loci.ID
		for range 1000 {
			last = loci.NewID()
			one := storm.Creation(last)
			c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		}
		if err := s.Apply(context.Background(), tn, c); err != nil {
			b.Fatal(err)
		}
		b.Run("read/"+name, func(b *testing.B) {
			only := everywhere
			only.IDs = []loci.ID{last}
			for b.Loop() {
				found, _, err := s.Records(context.Background(), tn, only, loci.Page{Limit: 1})
				if err != nil || len(found) != 1 {
					b.Fatalf("%d records, %v", len(found), err)
				}
			}
		})
		b.Run("search/"+name, func(b *testing.B) {
			for b.Loop() {
				hits, err := s.Match(context.Background(), tn, loci.Probe{Text: storm.WordOf(last)}, everywhere, 5)
				if err != nil || len(hits) != 1 {
					b.Fatalf("%d hits, %v", len(hits), err)
				}
			}
		})
	}
}
