//go:build unix

package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A look at a file from outside leaves the locks that the process has on it. Without that of who reads, another program
// may take itself for the only one that has the file open.
func TestLooksLeaveTheLocks(t *testing.T) {
	const other = "LOCI_TEST_OTHER_PROGRAM"
	if path := os.Getenv(other); path != "" {
		f, err := os.Open(path)
		must(t, err)
		lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: 0x40000002, Len: 510} // where SQLite's readers lock
		must(t, syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock))
		t.Log("locked:", lock.Type != syscall.F_UNLCK)
		must(t, f.Close())
		return
	}
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "walrus")
	looks := func(when string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLooksLeaveTheLocks$", "-test.v")
		cmd.Env = append(os.Environ(), other+"="+path)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "locked: true") {
			t.Errorf("%s: %v\n%s", when, err, out)
		}
	}
	looks("saved")
	_, _, err := s.stamp(testTenant)
	must(t, err)
	looks("looked at")
}
