//go:build unix

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
)

// quotaEnv makes the test binary a child that fills a store until its quota is used up:
// a limit of a process, which must not meet the other tests.
const quotaEnv = "LOCI_TEST_STORE_OVER_QUOTA"

// limitFiles bounds the size of the files of this process.
func limitFiles(size uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, size)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

// overQuota plays a quota: SQLite's own writes fail beyond a size, as they do beyond a quota,
// and a caller that asks the system for the reason hears of a quota while there is no room.
func overQuota(path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := Open(path, nil)
	if err != nil {
		return err
	}
	ctx, room := context.Background(), true
	s.ballast.free = func(string) (int64, bool) { return 1 << 40, true }
	s.ballast.write = func(f *os.File, data []byte, at int64) (int, error) {
		if !room {
			return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.EDQUOT}
		}
		return f.WriteAt(data, at)
	}
	first := note("the first")
	if err := s.Apply(ctx, testTenant, first); err != nil {
		return err
	}
	large := strings.Repeat("filler ", 500)
	room = false
	if err := limitFiles(400 << 10); err != nil {
		return err
	}
	err = s.Apply(ctx, testTenant, note(strings.Repeat(large, 3000))) // SQLite writes some of it before its end
	if err == nil || !strings.Contains(err.Error(), "is full") {
		return fmt.Errorf("in the middle of a change: %w", err)
	}
	room = true
	if err := limitFiles(1 << 62); err != nil {
		return err
	}
	if err := s.Apply(ctx, testTenant, note("makes the ballast")); err != nil {
		return err
	}
	if _, err := os.Stat(s.ballast.path); err != nil {
		return err
	}
	room = false
	if err := limitFiles(400 << 10); err != nil {
		return err
	}
	err = nil
	for n := 0; err == nil && n < 1000; n++ {
		err = s.Apply(ctx, testTenant, note(large))
	}
	if err == nil || !strings.Contains(err.Error(), "is full") || !errors.Is(err, loci.ErrUnavailable) {
		return fmt.Errorf("beyond the quota: %w", err)
	}
	if _, err := os.Stat(s.ballast.path); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the ballast is still there: %w", err)
	}
	if err := limitFiles(1 << 62); err != nil { // what the ballast held
		return err
	}
	if err := s.Apply(ctx, testTenant, note(strings.Repeat(large, 100))); err == nil {
		return errors.New("a save took what the ballast gave back")
	}
	id := first.Put[0].Record.ID
	if err := s.Apply(ctx, testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}}); err != nil {
		return fmt.Errorf("erase: %w", err)
	}
	room = true
	if err := s.Apply(ctx, testTenant, note(strings.Repeat(large, 100))); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	left, err := filepath.Glob(s.ballast.path + ".*")
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left behind: %q, %v", left, err)
	}
	return s.Close()
}

// A quota that is used up is a full disk: deletes have the room that the ballast gives
// back, and saves wait until there is more.
func TestQuotaIsAFullDisk(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), quotaEnv+"="+filepath.Join(t.TempDir(), "x.db"))
	if out, err := child.Output(); err != nil || string(out) != "<nil>\n" {
		t.Errorf("%s%v", out, err)
	}
}
