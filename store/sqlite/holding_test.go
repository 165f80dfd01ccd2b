package sqlite

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// readsAll is a statement that counts all records.
var readsAll = regexp.MustCompile(`count\(\*\).*FROM record\b`)

// TestHoldingIsNotMeasured: a write under a quota never reads all records, though another
// process has written in between.
func TestHoldingIsNotMeasured(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	for range 3 {
		save(t, other, "walrus")
		c := note("walrus")
		c.Quota = &loci.Quota{Records: 100, Bytes: 10_000}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	if err := f.write(t.Context(), func(x *tx) error {
		for query := range x.stmts {
			if readsAll.MatchString(strings.Join(strings.Fields(query), " ")) {
				t.Errorf("the writer asked %s", query)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestWrongHoldingIsMeasuredAgain: a check finds what is kept wrong, and makes it right.
func TestWrongHoldingIsMeasuredAgain(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	want, err := s.Held(t.Context(), testTenant)
	if err != nil || want.Records != 1 {
		t.Fatal(want, err)
	}
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	for _, fault := range []string{"records = records - 1", "bytes = bytes + 1"} {
		if err := f.write(t.Context(), func(x *tx) error { return x.exec("UPDATE holding SET " + fault) }); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 0} {
			found, err := s.Check(t.Context(), testTenant)
			if err != nil || len(found) != n || n == 1 && !strings.Contains(found[0], "it is measured again") {
				t.Errorf("%s: %q, %v; want %d findings", fault, found, err, n)
			}
		}
		if held, err := s.Held(t.Context(), testTenant); err != nil || held != want {
			t.Errorf("it holds %+v, %v; want %+v", held, err, want)
		}
	}
}

// TestOldFilesGetAHolding: a file from before it was kept is measured once, when it is opened.
func TestOldFilesGetAHolding(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	oldFile(t, path, true)
	s := openFile(t, path)
	if held, err := s.Held(t.Context(), testTenant); err != nil || held != (loci.Holding{Records: 3, Bytes: 18}) {
		t.Errorf("it holds %+v, %v", held, err)
	}
	if found, err := s.Check(t.Context(), testTenant); err != nil || len(found) > 0 {
		t.Errorf("%q, %v", found, err)
	}
}
