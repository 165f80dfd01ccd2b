package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A commit of this process is in the next search without being read again. A commit of another
// process, or one that is not at hand as a whole, is read. grown counts the records that were
// handed over since the file was read.
func TestCommitsAreHandedToTheIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	hits := func(want, grown int) {
		t.Helper()
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		found, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everywhere, 100)
		if err != nil || len(found) != want {
			t.Errorf("%d hits, want %d, %v", len(found), want, err)
		}
		if have := s.files[testTenant].search.grown; have != grown {
			t.Errorf("%d records were handed since the file was read, want %d", have, grown)
		}
	}
	first := save(t, s, "walrus one")
	hits(1, 0) // the index is made from the file
	save(t, s, "walrus two")
	save(t, s, "walrus three")
	hits(3, 2)
	if err := s.Apply(t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: first, Version: 1}}}); err != nil {
		t.Fatal(err)
	}
	hits(2, 3)

	// A write that failed is in no search, though others of its transaction are.
	failed := note("walrus failed")
	f := s.files[testTenant]
	if err := f.write(t.Context(), func(tx *tx) error {
		return errors.Join(tx.apply(&failed), errors.New("and then it failed"))
	}); err == nil {
		t.Fatal("it did not fail")
	}
	hits(2, 3)
	last := note("walrus four")
	if err := s.Apply(t.Context(), testTenant, last); err != nil {
		t.Fatal(err)
	}
	hits(3, 4)

	save(t, other, "walrus of another process")
	hits(4, 0)
	save(t, s, "walrus five")
	hits(5, 1)

	// If the text of a record stays, its vectors are in the file alone.
	again := last.Put[0]
	again.Record.Version, again.SameText = 2, true
	change := loci.Change{Put: []loci.Put{again}, Events: note("x").Events}
	if err := s.Apply(t.Context(), testTenant, change); err != nil {
		t.Fatal(err)
	}
	hits(5, 0)
}

// If nobody searches, commits do not pile up in memory.
func TestHandedRecordsAreBounded(t *testing.T) {
	t.Parallel()
	var h handover
	h.want()
	for seq := range int64(3 * maxHanded) {
		h.add(handedBatch{seq: seq, records: make([]handed, 1), whole: true})
		if len(h.batches) > maxHanded {
			t.Fatalf("%d batches wait", len(h.batches))
		}
	}
	if len(h.take()) != 0 {
		t.Error("after some were let go the rest waits")
	}
}

// What is written while nobody searches is taken in if it is much: the next search pays for little of it, and finds all.
func TestMuchIsTakenInBeforeASearch(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus one")
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	search := func(want int) {
		t.Helper()
		found, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everywhere, 100)
		if err != nil || len(found) != want {
			t.Errorf("%d hits, want %d, %v", len(found), want, err)
		}
	}
	search(1)
	x := &s.files[testTenant].search
	waits := func() int {
		x.handover.settling.Lock() // behind whoever takes in
		defer x.handover.settling.Unlock()
		x.handover.mu.Lock()
		defer x.handover.mu.Unlock()
		return x.handover.held
	}
	save(t, s, "walrus two")
	if n := waits(); n != 1 {
		t.Errorf("%d records wait behind a small write, want 1", n)
	}
	large := "walrus " + strings.Repeat("x", mostWaiting/2)
	save(t, s, large)
	save(t, s, large+" again")
	if n, taken := waits(), x.grown; n > 1 || taken+n != 3 {
		t.Errorf("%d records wait behind large writes, and %d are taken in; want at most 1 of 3", n, taken)
	}
	search(4)
	for i := range maxHanded + 2 {
		save(t, s, fmt.Sprint("seal ", i))
	}
	if n := waits(); n > mostWaitingRecords {
		t.Errorf("%d records wait behind many small writes, want %d at most", n, mostWaitingRecords)
	}
	search(4)
	if x.grown != maxHanded+5 {
		t.Errorf("%d records were handed over, want %d: the file was read again", x.grown, maxHanded+5)
	}
	if err := s.Close(); err != nil { // waits for whoever takes in
		t.Error(err)
	}
}

// Whoever commits waits while too much waits for a search.
func TestTooMuchIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus one")
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	if _, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everywhere, 1); err != nil {
		t.Fatal(err)
	}
	x := &s.files[testTenant].search
	for range 3 {
		save(t, s, strings.Repeat("seal walrus ", tooMuchWaiting*mostWaiting/10))
		if _, tooHeavy := x.handover.heavy(); tooHeavy {
			t.Error("who commits too much returns while it waits for a search")
		}
	}
}
