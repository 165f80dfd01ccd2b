//go:build unix

package plainfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestEndless: nobody waits for a pipe or reads a device, unless a command asks for whatever it is;
// then it ends at the limit.
func TestEndless(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		if _, err := Read(path, 1<<20); err == nil || err.Error() != path+" is not a file" {
			t.Errorf("%v", err)
		}
	}
	if _, err := ReadAny("/dev/zero", 1<<10); err == nil {
		t.Error("a device has an end")
	} else if unfit, is := errors.AsType[*UnfitError](err); !is || unfit.Size != -1 {
		t.Errorf("%v", err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte("secret"), 0o600) }()
	if data, err := ReadAny(pipe, 10); err != nil || string(data) != "secret" {
		t.Errorf("%q, %v", data, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
