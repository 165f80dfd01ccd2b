package backup_test

import (
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
	for _, size := range []string{"64k", "256k", "384k"} {
		small := t.TempDir()
		if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size="+size); err != nil {
			t.Skipf("no file system can be mounted: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		if _, err := backup.Create(t.Context(), from, filepath.Join(small, "backup"), nil, options()); err == nil {
			t.Errorf("%s: the backup found room", size)
		}
		if left := leftovers(t, small); len(left) > 0 {
			t.Errorf("%s: %v is left", size, left)
		}
		_, err := backup.Restore(t.Context(), dir, "sqlite:"+filepath.Join(small, "x"), backup.Restoration{}, options())
		if err == nil {
			t.Errorf("%s: the restoration found room", size)
		}
		if found := holding(t, small, "walrus"); len(found) > 0 {
			t.Errorf("%s: %v is left of a restoration", size, found)
		}
	}
}
