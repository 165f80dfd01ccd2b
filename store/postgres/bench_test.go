package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// durable is a server that waits for its disk, and a store on it.
func durable(b *testing.B) (pgtest.Database, loci.Store) {
	server, err := pgtest.Start(context.Background(), pgtest.Options{Own: true, Args: []string{"fsync=on"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	d, _, err := server.Database(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := postgres.Migrate(context.Background(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		b.Fatal(err)
	}
	postgres.Observe(nil) // to note each statement takes time, too
	b.Cleanup(func() { postgres.Observe(watch) })
	b.Cleanup(cores.RoomyHeap(cores.ServerHeap)) // as a server does
	return d, openAt(b, d.Server)
}

// saves lets callers save records of tenants in turn; ns/op is of one save.
func saves(b *testing.B, s loci.Store, callers, tenants int) {
	var n atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for range callers {
		group.Go(func() {
			for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
				t, err := loci.NewTenant(fmt.Sprint("tenant ", i%int64(tenants)))
				if err == nil {
					err = s.Apply(context.Background(), t, creation(loci.NewID()))
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// byHand is the same rows in one transaction of plain pgx: three inserts and the tenant's row.
func byHand(b *testing.B, url string) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	key, hash := make([]byte, 16), make([]byte, 32)
	if _, err := conn.Exec(
		ctx,
		`INSERT INTO loci.tenant VALUES ($1, 0, 0, 0, 0, 0, 0, $2, $2, $1) ON CONFLICT DO NOTHING`,
		key,
		hash,
	); err != nil {
		b.Fatal(err)
	}
	var done []int64 // a benchmark runs several times, each longer than the one before
	query(b, url, "SELECT seq FROM loci.tenant WHERE tenant = '\\x00000000000000000000000000000000'", &done)
	b.ResetTimer()
	for i := done[0]; i < done[0]+int64(b.N); i++ {
		id := loci.NewID()
		batch := &pgx.Batch{}
		batch.Queue("UPDATE loci.tenant SET seq = seq + 1, events = events + 1, head = $2 WHERE tenant = $1", key, hash)
		batch.Queue(
			`INSERT INTO loci.record (tenant, id, namespace, version, created_at, updated_at, uses, passage_count, live, kind, slot_hash,
			slot_head, slot_tail, passages, text) VALUES ($1, $2, 1, 1, 1, 1, 0, 1, true, 'fact', $3, $4, '', '\x0024', $4)`,
			key,
			id[:],
			append(id[:], id[:]...),
			[]byte(wordOf(id)),
		)
		batch.Queue(
			`INSERT INTO loci.event (tenant, seq, id, namespace, occurred_at, type, kind, entity, actor, request_id, digest, sealed, payload)
			VALUES ($1, $2, $3, 1, 1, 'created', 'fact', $3, 'storm', '', $4, $4, '{}')`,
			key,
			-i,
			id[:],
			hash,
		)
		batch.Queue("INSERT INTO loci.change VALUES ($1, $2, $3, 1, false, 'fact')", key, i, id[:])
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSave compares a save with SQLite's and with the same rows by hand.
func BenchmarkSave(b *testing.B) {
	d, s := durable(b)
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	b.Run("by hand", func(b *testing.B) { byHand(b, d.Super) }) // past the wall, which only helps it
	for name, store := range map[string]loci.Store{"postgres": s, "sqlite": file} {
		b.Run(name+"/one caller", func(b *testing.B) { saves(b, store, 1, 1) })
		b.Run(name+"/64 callers of one tenant", func(b *testing.B) { saves(b, store, 64, 1) })
	}
	b.Run("postgres/64 callers of a thousand tenants", func(b *testing.B) { saves(b, s, 64, 1000) })
	var size []int64
	query(
		b,
		d.Super,
		`SELECT sum(pg_total_relation_size(c.oid))::bigint / greatest((SELECT count(*) FROM loci.record), 1)
		FROM pg_class c WHERE relnamespace = 'loci'::regnamespace AND relkind = 'r'`,
		&size,
	)
	b.Logf("%d bytes a record, indexes, events and changes included", size[0])
}

// BenchmarkSaveNotes is a save through the engine with the default embedder, without the surface that agents use: each note is
// looked at beside the notes that resemble it.
func BenchmarkSaveNotes(b *testing.B) {
	_, s := durable(b)
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	embedder, err := embedding.NewBuiltin()
	if err != nil {
		b.Fatal(err)
	}
	for name, store := range map[string]loci.Store{"postgres": s, "sqlite": file} {
		m := locitest.Bind(b, locitest.NewEngine(b, store, loci.Options{Embedder: embedder}), "user", "u")
		random := rand.New(rand.NewPCG(1, 2))
		words := rand.NewZipf(random, 1.1, 3, 30_000)
		var said atomic.Int64
		for _, callers := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/callers: %d", name, callers), func(b *testing.B) {
				texts := make([]string, b.N)
				for i := range texts {
					texts[i] = fmt.Sprint("Note ", said.Add(1))
					for range 20 {
						texts[i] += " the w" + strconv.FormatUint(words.Uint64()*7919, 26)
					}
				}
				var n atomic.Int64
				var group sync.WaitGroup
				b.ReportAllocs()
				b.ResetTimer()
				for range callers {
					group.Go(func() {
						for i := n.Add(1); i <= int64(b.N); i = n.Add(1) {
							note := loci.NewFact{Content: texts[i-1]}
							if _, err := m.StoreFact(context.Background(), note); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				group.Wait()
			})
		}
	}
}

// BenchmarkSearch compares a search with SQLite's: warm, and the first one in a process.
func BenchmarkSearch(b *testing.B) {
	d, s := durable(b)
	file, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	for _, size := range []int{1000, 20_000} {
		tn := locitest.Tenant(b, fmt.Sprint("of ", size))
		var last loci.ID
		for done := 0; done < size; done += 500 {
			var c loci.Change
			for range 500 {
				last = loci.NewID()
				one := creation(last)
				c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
			}
			for _, store := range []loci.Store{s, file} {
				if err := store.Apply(context.Background(), tn, c); err != nil {
					b.Fatal(err)
				}
			}
		}
		search := func(b *testing.B, store loci.Store) {
			hits, err := store.Match(context.Background(), tn, loci.Probe{Text: wordOf(last)}, everywhere, 5)
			if err != nil || len(hits) != 1 {
				b.Fatalf("%d hits, %v", len(hits), err)
			}
		}
		for name, store := range map[string]loci.Store{"postgres": s, "sqlite": file} {
			b.Run(fmt.Sprintf("warm/%d/%s", size, name), func(b *testing.B) {
				search(b, store)
				for b.Loop() {
					search(b, store)
				}
			})
		}
		b.Run(fmt.Sprintf("first/%d/postgres", size), func(b *testing.B) {
			for b.Loop() {
				fresh, err := postgres.Open(context.Background(), d.Server, nil)
				if err != nil {
					b.Fatal(err)
				}
				search(b, fresh)
				if err := fresh.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("round trip", func(b *testing.B) {
		conn, err := pgx.Connect(context.Background(), d.Server)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(context.Background())
		for b.Loop() {
			if _, err := conn.Exec(context.Background(), "SELECT 1"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("round trip of a transaction", func(b *testing.B) {
		transactions(b, d.Server, postgres.KeyOf(locitest.Tenant(b, "of 1000")))
	})
}

// transactions reads a row behind the wall, again and again.
func transactions(b *testing.B, url string, tenant []byte) {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	trip := transaction(ctx, b, conn, tenant)
	for b.Loop() {
		trip()
	}
}

// transaction is the four statements of a search, sent together by plain pgx.
func transaction(ctx context.Context, b *testing.B, conn *pgconn.PgConn, tenant []byte) func() {
	if _, err := conn.Prepare(ctx, "row", "SELECT seq FROM loci.tenant WHERE tenant = $1", nil); err != nil {
		b.Fatal(err)
	}
	wall := fmt.Sprintf("SET LOCAL loci.tenant = '%x'", tenant)
	return func() {
		p := conn.StartPipeline(ctx)
		p.SendQueryParams("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", nil, nil, nil, nil)
		p.SendQueryParams(wall, nil, nil, nil, nil)
		p.SendQueryPrepared("row", [][]byte{tenant}, []int16{1}, []int16{1})
		p.SendQueryParams("COMMIT", nil, nil, nil, nil)
		if err := p.Sync(); err != nil {
			b.Fatal(err)
		}
		if err := p.Close(); err != nil { // reads all that is answered
			b.Fatal(err)
		}
	}
}
