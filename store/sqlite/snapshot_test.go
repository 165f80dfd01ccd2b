package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

// A copy of a file is a store of its own. One that fails leaves nothing behind, and one that would
// take the place of another file is refused.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	path, dir := filepath.Join(t.TempDir(), "x.db"), t.TempDir()
	s := openFile(t, path)
	save(t, s, "walrus")
	exec1(t, path, "PRAGMA wal_checkpoint(TRUNCATE)")
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(bytes.Clone(whole[:4096]), bytes.Repeat([]byte{0xff}, len(whole)-4096)...), 0o600))
	if name, err := s.Snapshot(t.Context(), testTenant, dir); err == nil {
		t.Errorf("a copy of a damaged file: %q", name)
	}
	must(t, os.WriteFile(path, whole, 0o600))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	name, err := s.Snapshot(t.Context(), testTenant, dir)
	must(t, err)
	_, err = s.Snapshot(t.Context(), testTenant, dir)
	wantCode(t, err, loci.Conflict, name, "choose a directory without it")
	if n := count(t, openFile(t, filepath.Join(dir, name))); n != 1 {
		t.Errorf("the copy has %d records; want 1", n)
	}
}
