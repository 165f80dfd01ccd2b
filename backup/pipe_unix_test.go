//go:build unix

package backup_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestNoPipeIsRead: whoever opens a pipe waits for one that writes, and a device never ends. In place of
// a file of a backup either is refused.
func TestNoPipeIsRead(t *testing.T) {
	dir, _ := made(t, options())
	for _, name := range leftovers(t, dir) {
		path := filepath.Join(dir, name)
		must(t, os.Rename(path, path+".kept"))
		for _, put := range []func() error{
			func() error { return syscall.Mkfifo(path, 0o600) },
			func() error { return os.Symlink("/dev/zero", path) },
		} {
			must(t, put())
			ended := make(chan error, 1)
			go func() {
				_, err := backup.Check(context.WithoutCancel(t.Context()), dir, options())
				ended <- err
			}()
			select {
			case err := <-ended:
				locitest.WantCode(t, err, loci.Invalid)
				if want := name + " is not a file"; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%v; want %q", err, want)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: the check does not end", name)
			}
			must(t, os.Remove(path))
		}
		must(t, os.Rename(path+".kept", path))
	}
}
