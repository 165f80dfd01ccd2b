//go:build unix

package sqlite

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
)

// A file at the ballast's place that is not Loci's is neither written nor removed, nor is the
// file it leads to. Saves go on, and the warnings say so.
func TestForeignBallast(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(target, ballast string) error{
		"a link":            os.Symlink,
		"a link to nothing": func(target, ballast string) error { return os.Symlink(target+".missing", ballast) },
		"a hard link":       os.Link,
		"a hard link to zeros": func(target, ballast string) error {
			if err := os.WriteFile(target+".zeros", make([]byte, ballastSize), 0o600); err != nil {
				return err
			}
			return os.Link(target+".zeros", ballast)
		},
		"a file of the user's": func(_, ballast string) error { return os.WriteFile(ballast, []byte("mine"), 0o600) },
		"one as large as ours": func(_, ballast string) error {
			return os.WriteFile(ballast, append(make([]byte, ballastSize-1), 1), 0o600)
		},
		"zeros, and more of them than ours": func(_, ballast string) error {
			return os.WriteFile(ballast, make([]byte, ballastSize+1), 0o600)
		},
		"a directory": func(_, ballast string) error { return os.Mkdir(ballast, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			target, ballast := filepath.Join(t.TempDir(), "target"), filepath.Join(dir, ballastName)
			if err := os.WriteFile(target, []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := plant(target, ballast); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(ballast)
			if err != nil {
				t.Fatal(err)
			}
			content, _ := os.ReadFile(ballast) // a directory has none
			s := openFile(t, filepath.Join(dir, "x.db"))
			save(t, s, "a note")
			s.ballast.release()
			if got, err := os.ReadFile(target); err != nil || string(got) != "precious" {
				t.Errorf("the target holds %q, %v", got, err)
			}
			if _, err := os.Stat(target + ".missing"); err == nil {
				t.Error("the target of the link was made")
			}
			after, err := os.Lstat(ballast)
			if err != nil || !os.SameFile(before, after) || after.Size() != before.Size() {
				t.Fatalf("what was there is now %v, %v", after, err)
			}
			if got, _ := os.ReadFile(ballast); !bytes.Equal(got, content) {
				t.Error("what was there was written")
			}
			said := strings.Join(s.ballast.warnings(true), " ")
			if !strings.Contains(said, "left alone") || !strings.Contains(said, "keep 4 MiB there") {
				t.Errorf("warnings %q", said)
			}
		})
	}
}

// Neither the store's file nor the files that SQLite puts beside it are made through a link.
func TestLinksAtTheStoresFiles(t *testing.T) {
	t.Parallel()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
		path := filepath.Join(dir, "x.db")
		if err := os.Symlink(target, path+suffix); err != nil {
			t.Fatal(err)
		}
		s := openFile(t, path)
		wantCode(t, s.Apply(t.Context(), testTenant, note("x")), loci.Unavailable, path)
		if _, err := os.Lstat(target); err == nil {
			t.Errorf("x.db%s: the target of the link was made", suffix)
		}
	}
}

// What is neither a file nor a directory is refused for what it is: SQLite would wait for a pipe, put
// a journal beside a device, and say that the disk had failed.
func TestAStoreThatIsNoFile(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(path string) error{
		"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a link to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+".pipe", 0o600), os.Symlink(path+".pipe", path))
		},
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := made(path); err != nil {
			t.Fatal(err)
		}
		s := openFile(t, path)
		wantCode(t, s.Apply(t.Context(), testTenant, note("x")), loci.Unavailable, "is no file")
		if beside, err := filepath.Glob(path + "*journal"); err != nil || len(beside) > 0 {
			t.Errorf("%s: left %q, %v", name, beside, err)
		}
	}
}

// Only a shell knows what ~ stands for; a directory of that name would be a memory that nobody
// finds again from elsewhere.
func TestAPathOfAShell(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"~", "~/loci.db", "~/loci"} {
		_, err := Open(path, nil)
		wantCode(t, err, loci.Invalid, "in full")
	}
	if made, err := os.ReadDir("."); err != nil || len(made) > 0 {
		t.Errorf("made %v, %v", made, err)
	}
	s, err := Open("./~/loci.db", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A root directory is hardly what somebody means who writes sqlite:$DIR/.
func TestARootDirectory(t *testing.T) {
	for _, path := range []string{"/", "//", "/tmp/.."} {
		if s, err := Open(path, nil); err == nil {
			_ = s.Close()
			t.Errorf("%s is open", path)
		} else {
			wantCode(t, err, loci.Invalid, "is a root directory: write the path of a file")
		}
	}
}

// A database of another program stays as it is, byte by byte.
func TestAnotherProgramsFileIsNotTouched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	exec1(t, path, "CREATE TABLE x (y)")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := openFile(t, path)
	wantCode(t, s.Apply(t.Context(), testTenant, note("x")), loci.Unsupported, "another program")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was written: %v", err)
	}
}
