//go:build unix

package sqlite

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
)

const descriptorEnv = "LOCI_TEST_NO_DESCRIPTORS"

// TestTooManyOpenFiles runs itself as a child that has no file descriptor left. The error must
// say that, and not that a directory is missing.
func TestTooManyOpenFiles(t *testing.T) {
	if dir := os.Getenv(descriptorEnv); dir != "" {
		withoutDescriptors(t, dir)
		return
	}
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "there.db"))
	save(t, s, "first")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestTooManyOpenFiles$")
	child.Env = append(os.Environ(), descriptorEnv+"="+dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func withoutDescriptors(t *testing.T, dir string) {
	t.Helper()
	limit := syscall.Rlimit{Cur: 64, Max: 64}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := os.Open(dir)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"there.db", "new.db"} {
		s, err := Open(filepath.Join(dir, name), nil)
		if err == nil {
			err = s.Apply(context.Background(), testTenant, note("more"))
		}
		e := loci.AsError(err)
		if e == nil || e.Code != loci.Unavailable || !strings.Contains(e.Msg, "too many open files") ||
			!strings.Contains(e.Advice(), "ulimit") {
			t.Errorf("%s: %v: %s", name, err, e.Advice())
		}
	}
}
