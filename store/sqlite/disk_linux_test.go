package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
)

// smallDisk mounts a file system of 12 MiB. Where that is not permitted, injected limits play
// the same.
func smallDisk(t *testing.T) (dir string, mounted bool) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=12m"); err != nil {
		t.Logf("limits are injected, since no file system can be mounted: %v", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// pretend makes a store believe that its disk has 12 MiB.
func pretend(t *testing.T, s *Store, dir string) {
	t.Helper()
	const size = 12 << 20
	s.ballast.free = func(string) (int64, bool) {
		left := int64(size)
		for _, name := range []string{"x.db", "x.db-wal", ballastName} {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				left -= info.Size()
			}
		}
		return max(0, left), true
	}
	f, err := s.acquire(context.Background(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	if err := f.erase(context.Background(), func(tx *tx) error { return tx.limitPages(1000) }); err != nil {
		t.Fatal(err)
	}
}

// On a full disk every delete succeeds, also after a restart; then saves do.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	dir, mounted := smallDisk(t)
	path := filepath.Join(dir, "x.db")
	open := func() *Store {
		s := openFile(t, path)
		if !mounted {
			pretend(t, s, dir)
		}
		return s
	}
	s := open()
	text := strings.Repeat("filler ", 700)
	var saved []loci.ID
	fill := func() {
		t.Helper()
		for refused := 0; refused < 30; {
			c := note(text)
			if err := s.Apply(t.Context(), testTenant, c); err != nil {
				wantCode(t, err, loci.Unavailable, "full")
				refused++
				continue
			}
			saved = append(saved, c.Put[0].Record.ID)
		}
	}
	for round := range diskRounds {
		fill()
		if round%2 == 1 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
		}
		for n, id := range saved[:20] {
			if err := s.Apply(
				t.Context(),
				testTenant,
				loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}},
			); err != nil {
				t.Fatalf("round %d, delete %d: %v (%v)", round, n, err, errors.Unwrap(err))
			}
		}
		saved = saved[20:]
		for n := range 10 {
			c := note(text)
			if err := s.Apply(t.Context(), testTenant, c); err != nil {
				t.Fatalf("round %d, save %d after the deletes: %v (%v)", round, n, err, errors.Unwrap(err))
			}
			saved = append(saved, c.Put[0].Record.ID)
		}
	}
	if n := count(t, s); n != int64(len(saved)) {
		t.Errorf("%d memories are there; %d were acknowledged", n, len(saved))
	}
}
