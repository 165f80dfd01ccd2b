package plainfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestRead: what is read is a file with an end, of at most so many bytes, whatever stands behind its name.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "file")
	if err := os.WriteFile(at, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(at, link); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	} else if err != nil {
		link = at // who may not make links has none
	}
	for _, path := range []string{at, link} {
		if data, err := Read(path, 5); err != nil || string(data) != "12345" {
			t.Errorf("%q, %v", data, err)
		}
	}
	for path, want := range map[string]string{
		at:  at + " has 5 bytes; the limit is 3",
		dir: dir + " is not a file",
	} {
		data, err := Read(path, 3)
		if unfit, is := errors.AsType[*UnfitError](err); !is || unfit.Error() != want || data != nil {
			t.Errorf("%q, %v; want %s", data, err, want)
		}
		if err := Check(path, 3); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := Read(filepath.Join(dir, "none"), 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := ReadAny(at, 4); err == nil || err.Error() != at+" has more than 4 bytes, which is the limit" {
		t.Errorf("%v", err)
	}
	if data, err := ReadAny(at, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q, %v", data, err)
	}
}
