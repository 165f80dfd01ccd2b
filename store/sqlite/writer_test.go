package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// TestFailedWritesLeaveNoNumbers: the number that a failed write gave to a new namespace is
// forgotten, whether the write had a transaction of its own or shared it with others. What is
// then stored in that namespace is there, and in no namespace that comes later.
func TestFailedWritesLeaveNoNumbers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "in another namespace")
	f := s.files[testTenant]
	in := func(label string) loci.Change {
		c := note("in " + label)
		c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{label}, loci.Namespace{label}
		c.Put[0].Vectors = []loci.Vectors{{Space: loci.Space{Model: label, Dims: 2}, Rows: [][]float32{{1, 0}}}}
		return c
	}
	failed := errors.New("it fails after all")
	failing := func(label string) func(tx *tx) error {
		c := in(label)
		return func(tx *tx) error { return errors.Join(tx.apply(&c), failed) }
	}
	if err := f.write(ctx, failing("alone")); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	c := in("alone")
	must(t, s.Apply(ctx, testTenant, c))
	c = in("shared")
	jobs := []*job{{run: failing("shared")}, {run: func(tx *tx) error { return tx.apply(&c) }}}
	must(t, f.write(ctx, func(tx *tx) error {
		outcome, broken := tx.runAll(jobs, false)
		if !errors.Is(outcome[jobs[0]], failed) || outcome[jobs[1]] != nil {
			t.Errorf("outcomes %v", outcome)
		}
		return broken
	}))
	must(t, s.Apply(ctx, testTenant, in("later")))
	for _, label := range []string{"alone", "shared", "later"} {
		filter := loci.Filter{Within: []loci.Namespace{{label}}}
		found, _, err := s.Records(ctx, testTenant, filter, loci.Page{Limit: 10})
		if err != nil || len(found) != 1 || found[0].Text != "in "+label {
			t.Errorf("%s has %+v: %v", label, found, err)
		}
		probe := loci.Probe{Space: loci.Space{Model: label, Dims: 2}, Vector: []float32{1, 0}}
		if hits, err := s.Match(ctx, testTenant, probe, filter, 10); err != nil || len(hits) != 1 {
			t.Errorf("by its vector %s finds %+v: %v", label, hits, err)
		}
	}
	if findings, err := s.Check(ctx, testTenant); err != nil || len(findings) > 0 {
		t.Errorf("%q, %v", findings, err)
	}
}

// Where too many files are open, those go that no call uses, the one first that was not used for
// longest.
func TestWhichFilesAreClosed(t *testing.T) {
	t.Parallel()
	files := map[loci.Tenant]*file{}
	s := &Store{opts: Options{MaxOpen: 2}, files: files}
	open := func(name string, users int, used int64) {
		tenant, err := loci.NewTenant(name)
		must(t, err)
		files[tenant] = &file{tenant: tenant, users: users, used: used}
	}
	open("busy", 1, 1)
	open("newest", 0, 9)
	if gone := s.evict(); len(gone) > 0 {
		t.Errorf("%d of two are closed; two may be open", len(gone))
	}
	for n := range 3 {
		open(fmt.Sprint("idle", n), 0, int64(5-n))
	}
	for i, f := range s.evict() {
		if want := fmt.Sprint("idle", 2-i); f.tenant.String() != want {
			t.Errorf("%s is closed; want %s", f.tenant, want)
		}
	}
	for _, f := range files {
		f.users = 1
	}
	open("one more", 2, 10)
	if gone := s.evict(); len(files) != 3 || len(gone) > 0 {
		t.Errorf("%d are open, and %d of those in use are closed", len(files), len(gone))
	}
}

// Whoever closes a store waits for the last call that is under way, too: what it does until its end
// succeeds.
func TestCloseWaitsForTheLastCall(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	f, err := s.acquire(ctx, testTenant)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	for closed := false; !closed; {
		s.mu.Lock()
		closed = s.closed
		s.mu.Unlock()
	}
	for n := range 50 {
		c := note("walrus")
		if err := f.write(ctx, func(tx *tx) error { return tx.apply(&c) }); err != nil {
			t.Fatalf("write %d: %v", n, err)
		}
	}
	s.release(f)
	must(t, <-done)
}

// TestABrokenBeginIsToldAtOnce: a write waits for others who hold the file, and for nothing else.
func TestABrokenBeginIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	within(t, f, func(tx *tx) error {
		begun := time.Now()
		err := f.begin(tx, []*job{{}}) // within a transaction there is no other one
		if took := time.Since(begun); err == nil || isBusy(err) || took > busyTimeout/2 {
			t.Errorf("%v, after %v", err, took)
		}
		return nil
	})
}
