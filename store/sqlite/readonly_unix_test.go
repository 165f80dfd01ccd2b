//go:build unix

package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestReadOnlyFile runs a child that may read but not write. If this user may do everything,
// the child is another user.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "loci-readonly-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "x.db")
	s := openFile(t, path)
	save(t, s, "first")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "child")
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, filepath.Join(dir, ballastName)} {
		if err := os.Chmod(name, 0o444); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), readOnlyEnv+"="+path)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "unavailable the memory file "+path+" or its directory is read-only") {
		t.Errorf("%v: %s", err, out)
	}
}
