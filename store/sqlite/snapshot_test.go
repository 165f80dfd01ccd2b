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
	const first = 4096 // bytes that stay as they are
	damaged := append(bytes.Clone(whole[:first]), bytes.Repeat([]byte{0xff}, len(whole)-first)...)
	must(t, os.WriteFile(path, damaged, 0o600))
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

// The place for copies goes with its target, unless a copy in it has begun and is to go on.
func TestThePlaceForCopies(t *testing.T) {
	t.Parallel()
	to, err := OpenTarget(t.TempDir(), nil)
	must(t, err)
	must(t, to.Close()) // nothing was copied
	for file, stays := range map[string]bool{"beside": false, "ada.db": true} {
		must(t, os.MkdirAll(to.parts(), 0o700))
		must(t, os.WriteFile(filepath.Join(to.parts(), file), nil, 0o600))
		must(t, to.Close())
		if _, err := os.Stat(filepath.Join(to.parts(), file)); (err == nil) != stays {
			t.Errorf("%s: %v; it stays: %v", file, err, stays)
		}
		must(t, os.RemoveAll(to.parts()))
	}
}
