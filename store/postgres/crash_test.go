package postgres_test

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/postgres"
)

// crashes ends a database server in the middle of writes, again and again, and returns how
// many acknowledged writes there were and how many of them are lost.
func crashes(t *testing.T, rounds int, settings ...string) (acked, lost int) {
	t.Helper()
	server, d := ownServer(t, pgtest.Options{Args: settings})
	execute(t, d.Super, "CHECKPOINT") // what is made so far survives any crash
	s, err := postgres.Open(t.Context(), d.Server, nil)
	if err != nil {
		t.Fatal(err)
	}
	tn := locitest.Tenant(t, "shared")
	var ids []loci.ID
	for range rounds {
		ids = append(ids, writeUntilCrash(t, s, server)...)
		if err := server.Launch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// The same store goes on: its callers do not notice lost connections.
	for _, id := range ids {
		records, _, err := s.Records(
			t.Context(),
			tn,
			loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{id}},
			loci.Page{},
		)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			lost++
		}
	}
	report, err := locitest.NewEngine(t, s, loci.Options{}).VerifyEvents(t.Context(), tn, loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the log after the crashes: %+v, %v", report, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return len(ids), lost
}

// writeUntilCrash returns what was acknowledged.
func writeUntilCrash(t *testing.T, s loci.Store, server *pgtest.Server) (ids []loci.ID) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for {
				line := storm.Write(ctx, s, "shared")
				text, _, _ := strings.Cut(line, " ")
				id, err := loci.ParseID(text)
				if err != nil {
					return // the server is gone
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	if err := server.Crash(); err != nil {
		t.Error(err)
	}
	group.Wait()
	return ids
}

// A database server that crashes under writes, and recovers, has every acknowledged one.
func TestDatabaseCrashesLoseNoAcknowledgedWrite(t *testing.T) {
	rounds := 2
	if os.Getenv("LOCI_LONG") != "" {
		rounds = 100
	}
	acked, lost := crashes(t, rounds)
	if lost > 0 || acked < rounds {
		t.Errorf("%d of %d acknowledged writes are lost", lost, acked)
	}
	t.Logf("%d writes, %d crashes", acked, rounds)
}

// The test of crashes notices a server that acknowledges before it has written.
func TestCrashesNoticeEarlyAcknowledgement(t *testing.T) {
	if acked, lost := crashes(
		t,
		1,
		"synchronous_commit=off",
		"wal_writer_delay=10000ms",
		"wal_writer_flush_after=1GB",
	); lost == 0 {
		t.Errorf("with synchronous_commit=off none of %d writes was lost", acked)
	}
}
