package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// TestPointInTimeRecovery: what docs/operations.md says of base backups and archived logs. The
// database comes back as it was at a moment, with a log that is whole, and a store goes on.
func TestPointInTimeRecovery(t *testing.T) {
	locitest.Unshared(t)
	ctx := context.Background()
	server, err := pgtest.Start(ctx, pgtest.Options{Own: true, Args: pgtest.Archiving()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	d, _, err := server.Database(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(ctx, d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, d.Server)
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "user", "ada")
	locitest.Save(t, m, "before the base backup")
	if err := server.BaseBackup(ctx); err != nil {
		t.Fatal(err)
	}
	kept := locitest.Save(t, m, "after the base backup")
	execute(t, d.Super, "SELECT pg_create_restore_point('before')")
	locitest.Save(t, m, "after the moment")
	if err := m.Erase(ctx, kept); err != nil {
		t.Fatal(err)
	}
	archived(t, d.Super)

	recovered, err := server.Recover(ctx, "before")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recovered.Stop(); err != nil {
			t.Error(err)
		}
	})
	again := openAt(t, strings.Replace(d.Server, server.Address(), recovered.Address(), 1))
	e := locitest.NewEngine(t, again, loci.Options{})
	m = locitest.Bind(t, e, "user", "ada")
	var texts []string
	for _, f := range locitest.AllFacts(t, m) {
		texts = append(texts, f.Content)
	}
	if len(texts) != 2 || strings.Contains(strings.Join(texts, "\n"), "after the moment") {
		t.Errorf("recovered are %q", texts)
	}
	locitest.LogIsWhole(t, e, locitest.Tenant(t, "t"))
	if found, err := again.Check(ctx, locitest.Tenant(t, "t")); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if err := m.Erase(ctx, kept); err != nil { // what was erased since is back, and erased again
		t.Errorf("the erase again: %v", err)
	}
	locitest.Save(t, m, "after the recovery")
}

// archived waits until all of the log so far is in the archive.
func archived(t *testing.T, super string) {
	t.Helper()
	var file []string
	query(t, super, "SELECT pg_walfile_name(pg_switch_wal())", &file)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		var done []bool
		query(t, super, "SELECT coalesce(last_archived_wal >= '"+file[0]+"', false) FROM pg_stat_archiver", &done)
		if done[0] {
			return
		}
	}
	t.Fatal("the log is not archived")
}
