package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/postgres"
)

// unavailable requires an error that says so, with some words.
func unavailable(t *testing.T, what string, err error, says string) {
	t.Helper()
	e := loci.AsError(err)
	if e == nil || e.Code != loci.Unavailable || !strings.Contains(e.Error()+" "+e.Recovery, says) {
		t.Errorf("%s: %v; want %s and %q", what, err, loci.Unavailable, says)
	}
}

// A server that only reads, such as a standby, answers reads and searches; a write is
// Unavailable with that reason, and so is opening, until the URL names the primary.
func TestReadOnlyServer(t *testing.T) {
	server, d := ownServer(t, pgtest.Options{})
	s, tn, id := openAt(t, d.Server), locitest.Tenant(t, "frozen"), loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := server.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id)}, everywhere, 1)
	if err != nil || len(hits) != 1 {
		t.Errorf("a search of a standby finds %d, %v", len(hits), err)
	}
	unavailable(t, "a write to a standby", s.Apply(t.Context(), tn, creation(loci.NewID())), "read-only")
	unavailable(t, "a use on a standby", s.Touch(t.Context(), tn, []loci.Touch{{ID: id, At: time.Now()}}), "read-only")
	refused(t, d.Server, loci.Unavailable, "read-only")
}

// A database that its operator made read-only stays so.
func TestReadOnlyDatabase(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, d.Server)
	execute(t, d.Super, "ALTER DATABASE "+d.Name+" SET default_transaction_read_only = on")
	execute(t, pgtest.Shared(t).URL, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+d.Name+"'")
	tn := locitest.Tenant(t, "a")
	unavailable(t, "a write", s.Apply(t.Context(), tn, creation(loci.NewID())), "read-only")
	other, err := postgres.Open(t.Context(), d.Server, nil)
	if err == nil {
		_ = other.Close() // the test has failed
	}
	unavailable(t, "opening", err, "read-only")
	mayWrite := openAt(t, d.Server+"&options=-c%20default_transaction_read_only%3Doff")
	if err := mayWrite.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Errorf("a session that may write: %v", err)
	}
}

// A statement that hangs ends: a write by our own limit, a read by the server's. The store
// works again as soon as nothing is in the way.
func TestStatementsThatHangEnd(t *testing.T) {
	s, tn, id := open(t), locitest.Tenant(t, "slow"), loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	old := postgres.SetPatience(300 * time.Millisecond)
	defer postgres.SetPatience(old)
	slow := openAt(t, urlOf(t, s)+"&options=-c%20statement_timeout%3D300")
	conn, err := pgx.Connect(t.Context(), superOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	for _, sql := range []string{"BEGIN", "LOCK TABLE loci.record, loci.tenant"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	unavailable(t, "a write that waits", s.Apply(t.Context(), tn, creation(loci.NewID())), "took too long")
	_, err = slow.Count(t.Context(), tn, everywhere)
	unavailable(t, "a read that waits", err, "took too long")
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("they took %v", d)
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	postgres.SetPatience(old)
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
	if n, err := slow.Count(t.Context(), tn, everywhere); err != nil || n.Records != 2 {
		t.Errorf("a read afterwards: %+v, %v", n, err)
	}
}

// A write that takes the server long has no slot meanwhile: another request gets it.
func TestSlowWritesHoldNoSlot(t *testing.T) {
	s, tn, id := open(t), locitest.Tenant(t, "aside"), loci.NewID()
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), superOf(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, sql := range []string{"BEGIN", "LOCK TABLE loci.tenant"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: 10 * time.Second, Aside: 1})
	pass, refused := gate.Enter(t.Context(), "", 0)
	if refused != nil {
		t.Fatalf("%+v", refused)
	}
	visit, done := &admission.Visit{}, make(chan error, 1)
	visit.Let(pass)
	go func() { done <- s.Apply(admission.With(t.Context(), visit), tn, creation(loci.NewID())) }()
	other, refused := gate.Enter(t.Context(), "", 0)
	if refused != nil {
		t.Errorf("%+v", refused)
	} else {
		other.Leave()
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if l := gate.Load(); l.Running != 1 || l.Aside != 0 {
		t.Errorf("afterwards: %+v", l)
	}
}

// The texts of the database cannot hold zero bytes. Yet zero bytes come back wherever callers
// may put them.
func TestZeroBytesComeBack(t *testing.T) {
	tn, id := locitest.Tenant(t, "zero"), loci.NewID()
	c := creation(id)
	r := &c.Put[0].Record
	r.Text, r.Slot, r.Sequence, r.Scope, r.Status = "walrus\x00and\x00", "a\x00b", "x\x00", "s\x00", "t\x00"
	r.Passages, r.Tags, r.Heading = []loci.Span{{Start: 0, End: len(r.Text)}}, []string{"\x00", "a\x00"}, "h\x00"
	r.Attributes = []byte(`{"a":"\u0000"}`)
	c.Events[0].Actor, c.Events[0].RequestID = "a\x00", "\x00r"
	at := r.CreatedAt
	c.Reply = &loci.Reply{Key: "\x00k", Fingerprint: "\x00", Value: []byte(`1`), Record: id, At: at, ExpiresAt: at.Add(time.Hour)}
	look := func(s loci.Store) (out []any) {
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
		slot := "a\x00b"
		for _, f := range []loci.Filter{
			{Slot: &slot}, {Scopes: []string{"s\x00"}}, {Statuses: []string{"t"}}, {Sequences: []string{"x\x00"}}, {Tags: []string{"a\x00"}},
		} {
			f.Within = []loci.Namespace{{}}
			records, _, err := s.Records(t.Context(), tn, f, loci.Page{})
			out = append(out, records, err)
		}
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, loci.Filter{Within: []loci.Namespace{{}}}, 3)
		log, _, fault := s.Events(t.Context(), tn, loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{})
		reply, lost := s.Replied(t.Context(), tn, "\x00k")
		return append(out, hits, err, log[0].Actor, log[0].RequestID, fault, reply, lost)
	}
	if diff := cmp.Diff(look(memory.Open()), look(open(t))); diff != "" {
		t.Errorf("PostgreSQL says something else (-memory +postgres):\n%s", diff)
	}
}
