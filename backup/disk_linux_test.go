package backup_test

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestNothingWholeIsLeft: where the disk is full while a backup is written, the place stays
// empty; the same for a restoration.
func TestNothingWholeIsLeft(t *testing.T) {
	from := empty["sqlite"](t)
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		for range 6 {
			locitest.Save(t, at(t, e, "acme"), strings.Repeat(loci.NewID().String(), 400))
		}
	})
	dir := filepath.Join(t.TempDir(), "whole")
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	for _, size := range []uint64{64 << 10, 256 << 10, 384 << 10} {
		small, full := smallDisk(t, size)
		back := full()
		_, err := backup.Create(t.Context(), from, filepath.Join(small, "backup"), nil, options())
		back()
		if err == nil {
			t.Errorf("%d: the backup found room", size)
		} else {
			said := err.Error() + loci.AsError(err).Advice()
			if store := strings.TrimPrefix(from, "sqlite:"); strings.Contains(said, store) || strings.Contains(said, "delete memories") {
				t.Errorf("%d: the disk of the store is blamed: %s", size, said)
			}
		}
		if left := leftovers(t, small); len(left) > 0 {
			t.Errorf("%d: %v is left", size, left)
		}
		back = full()
		_, err = backup.Restore(t.Context(), dir, "sqlite:"+filepath.Join(small, "x"), backup.Restoration{}, options())
		back()
		if err == nil {
			t.Errorf("%d: the restoration found room", size)
		}
		if found := holding(t, small, "walrus"); len(found) > 0 {
			t.Errorf("%d: %v is left of a restoration", size, found)
		}
	}
}

// smallDisk is a directory with room for so many bytes. Where no file system may be mounted,
// no file may have more than a quarter of them while it is full: a backup has several.
func smallDisk(t *testing.T, size uint64) (dir string, full func() (back func())) {
	t.Helper()
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		return dir, func() func() { return func() {} }
	}
	signal.Ignore(syscall.SIGXFSZ) // so that writing fails, and not the process
	var old syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old))
	return dir, func() func() {
		must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size / 4, Max: old.Max}))
		return func() { must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)) }
	}
}

// TestWhatIsReplacedStays: where the disk has no room for a tenant of the backup, the one that was to give way stays
// as it is; with room, the same command ends the work.
func TestWhatIsReplacedStays(t *testing.T) {
	from, dir := empty["sqlite"](t), filepath.Join(t.TempDir(), "whole")
	with(t, from, func(_ loci.Store, e *loci.Engine) {
		fill(t, e, "acme")
		for range 40 {
			locitest.Save(t, at(t, e, "acme"), strings.Repeat(loci.NewID().String(), 1000))
		}
	})
	_, err := backup.Create(t.Context(), from, dir, nil, options())
	must(t, err)
	const size = 8 << 20 // for what is there, what the backup holds, and not for a copy with its log
	small, full := smallDisk(t, size)
	to := "sqlite:" + filepath.Join(small, "x")
	with(t, to, func(_ loci.Store, e *loci.Engine) { locitest.Save(t, at(t, e, "acme"), "written since") })
	before := sums(t, to)
	must(t, os.Remove(filepath.Join(small, "x", "loci.ballast")))
	filler := filepath.Join(small, "filler")
	must(t, os.WriteFile(filler, make([]byte, 4<<20), 0o600))
	back := full()
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true}, options())
	back()
	wantCode(t, "a disk without room", err, loci.Unavailable, "0 of 1 tenants are restored", "as they were")
	if got := sums(t, to); got["acme"] != before["acme"] {
		t.Errorf("what was to give way: %v; want %v", got, before)
	}
	must(t, os.Remove(filler))
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{Replace: true}, options())
	must(t, err)
	if got, want := sums(t, to), sums(t, from); got["acme"] != want["acme"] {
		t.Errorf("with room: %v; want %v", got, want)
	}
}
