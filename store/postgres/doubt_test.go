package postgres_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
)

// A commit whose answer is lost may be under way still: it is looked for behind it, under the
// tenant's lock, and then acknowledged, once.
func TestLostCommitThatStillRuns(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	p := newProxy(t, pgtest.Shared(t).Address())
	over := openAt(t, changed(t, d.Server, func(u *url.URL) { u.Host = p.listener.Addr().String() }))
	straight := openAt(t, d.Server)
	ctx, tn := context.WithoutCancel(t.Context()), locitest.Tenant(t, "lost")
	for range 3 { // the process then knows the tenant, and sends a write with its commit
		if err := over.Apply(ctx, tn, creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := pgx.Connect(ctx, d.Super)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	for n := int64(4); n < 8; n++ {
		if _, err := conn.Exec(ctx, "BEGIN; SELECT 1 FROM loci.tenant FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- over.Apply(ctx, tn, creation(loci.NewID())) }()
		untilLocked(t, conn, 1)
		p.set(down)
		time.Sleep(100 * time.Millisecond) // the client asks in vain that what it sent is given up
		p.set(passes)
		untilLocked(t, conn, 2) // the write, and the look for it
		if _, err := conn.Exec(ctx, "COMMIT"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("a write whose answer was lost while it waited: %v (cause: %v)", err, errors.Unwrap(err))
		}
		if records, events := count(t, straight, tn); records != n || int64(events) != n {
			t.Errorf("%d records and %d events; want %d", records, events, n)
		}
	}
}

// untilLocked returns when so many wait for a lock.
func untilLocked(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	const ask = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	n := 0
	for end := time.Now().Add(20 * time.Second); n < want; time.Sleep(5 * time.Millisecond) {
		// In a transaction the server shows what it showed before.
		if _, err := conn.Exec(context.Background(), "SELECT pg_stat_clear_snapshot()"); err != nil {
			t.Fatal(err)
		}
		if err := conn.QueryRow(context.Background(), ask).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(end) {
			t.Fatalf("%d wait for a lock; want %d", n, want)
		}
	}
}
