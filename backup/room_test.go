package backup_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
)

// TestRoomsOfTheDeadGo: what a process that was killed has left of its work goes with the next work at that place. It
// can be read, and what is erased since would stay in it. Whatever may be of somebody who lives, or is not ours, stays.
func TestRoomsOfTheDeadGo(t *testing.T) {
	place := filepath.Join(t.TempDir(), "odd [name]*")
	for _, name := range []string{".loci-backup-dead", ".loci-backup-alive", ".loci-backup-old", ".loci-backup-full"} {
		must(t, os.MkdirAll(filepath.Join(place, name, "inside"), 0o700))
		must(t, os.WriteFile(filepath.Join(place, name, "t-acme.db"), []byte("walrus"), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(place, ".loci-backup-dead.lock"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(place, ".loci-backup-full.lock"), []byte("not ours"), 0o600))
	alive := flock.New(filepath.Join(place, ".loci-backup-alive.lock"))
	held, err := alive.TryLock()
	if must(t, err); !held {
		t.Fatal("the lock is not free")
	}
	from := empty["sqlite"](t)
	with(t, from, func(_ loci.Store, e *loci.Engine) { fill(t, e, "acme") })
	_, err = backup.Create(t.Context(), from, filepath.Join(place, "backup"), nil, options())
	must(t, err)
	must(t, alive.Close())
	entries, err := os.ReadDir(place)
	must(t, err)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{".loci-backup-alive", ".loci-backup-alive.lock", ".loci-backup-full", ".loci-backup-full.lock", ".loci-backup-old", "backup"}
	if !slices.Equal(left, want) {
		t.Errorf("there is %q; want %q", left, want)
	}
}
