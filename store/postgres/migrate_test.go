package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/postgres"
)

// beforeOrder makes the schema that of version 3.
const beforeOrder = `DROP INDEX loci.record_order;
	CREATE INDEX record_shard ON loci.record (tenant, namespace, kind) WHERE live AND passage_count > 0;
	UPDATE loci.setting SET value = '3' WHERE name = 'schema'`

// snapshot keeps one of a database until it is ended, and reads a table behind it.
func snapshot(t *testing.T, at, table string) (end func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), at)
	if err == nil {
		_, err = conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM "+table)
	}
	if err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(end)
	return end
}

// A step that builds an index does so beside servers that write, is taken up again when it ended
// halfway, and is made once however many migrate.
func TestMigrateBesideServers(t *testing.T) {
	const (
		building = "EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE datname = current_database() AND phase LIKE 'waiting for%')"
		dropping = "EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'DROP INDEX CONCURRENTLY%')"
		invalid  = "EXISTS (SELECT 1 FROM pg_index WHERE NOT indisvalid)"
		done     = "to_regclass('loci.record_order') IS NOT NULL AND to_regclass('loci.record_shard') IS NULL"
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	d := pgtest.Shared(t).NewDatabase(t)
	migrate := func(ctx context.Context) (postgres.MigrationReport, error) {
		return postgres.Migrate(ctx, d.Owner, postgres.Migration{Role: d.Role})
	}
	if _, err := migrate(ctx); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, d.Server)
	execute(t, d.Owner, beforeOrder)
	write := func(name string) {
		t.Helper()
		soon, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		text, _, _ := strings.Cut(storm.Write(soon, s, name), " ")
		id, err := loci.ParseID(text)
		if err != nil || !found(t, s, name, id) {
			t.Errorf("a write beside the migration: %s, %v", text, err)
		}
	}
	write("before")

	// The index waits for whoever reads, and writers wait for nobody. There the migration is ended.
	endRead := snapshot(t, d.Owner, "loci.record")
	interrupted, interrupt := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := migrate(interrupted); err == nil {
			t.Error("the index did not wait for the reader")
		}
	})
	waitFor(t, d.Super, building)
	write("beside the index")
	interrupt()
	group.Wait()
	waitFor(t, d.Super, invalid)

	// Two take it up: the half index goes, and is built from the start.
	reports := make(chan postgres.MigrationReport, 2)
	for range 2 {
		group.Go(func() {
			report, err := migrate(ctx)
			if err != nil {
				t.Error(err)
			}
			reports <- report
		})
	}
	waitFor(t, d.Super, dropping)
	write("beside the drop")
	endOther := snapshot(t, d.Owner, "loci.setting")
	endRead()
	waitFor(t, d.Super, building)
	endOther()
	group.Wait()
	first, other := <-reports, <-reports
	if first.From > other.From {
		first, other = other, first
	}
	if first.From != 3 || strings.Join(first.Steps, " ") != "0004_shard_order 0005_lane_order 0006_tally 0007_event_span 0008_time_order" || other.From < 4 {
		t.Errorf("who came first made %+v, and the other %+v", first, other)
	}
	waitFor(t, d.Super, "NOT "+invalid)
	waitFor(t, d.Super, done)
	write("after")
}
