package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/segment"
)

var origin = segment.Origin{Token: [16]byte{7}}

// encoded are the bytes of a segment.
func encoded(entries int) []byte {
	var d segment.Data
	for i := range entries {
		d.Entries = append(d.Entries, segment.Entry{ID: [16]byte{byte(i)}, First: uint32(i), Passages: 0})
		d.Entries[i].First = 0
		d.Rests = append(d.Rests, nil)
	}
	return d.Encode(origin)
}

func newFolder(t *testing.T, dir string, limit int64) *files.Folder {
	t.Helper()
	f, err := files.NewFolder(dir, limit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func names(t *testing.T, pattern ...string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(pattern...))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What a process left that was killed goes when the next one begins; what one has that lives,
// and what is not ours, stays.
func TestRoomsOfProcessesThatAreGone(t *testing.T) {
	dir := t.TempDir()
	alive := newFolder(t, dir, 1<<20)
	defer alive.Close()
	if _, _, err := alive.Put("aa", encoded(1), origin); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "room-left")
	for path, data := range map[string][]byte{
		filepath.Join(left, "lock"): nil, filepath.Join(left, "bb.segm"): encoded(1), filepath.Join(dir, "mine.txt"): []byte("x"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	next := newFolder(t, dir, 1<<20)
	if found := names(t, left); len(found) > 0 {
		t.Errorf("left: %q", found)
	}
	if len(names(t, alive.Dir(), "aa.segm")) != 1 || len(names(t, dir, "mine.txt")) != 1 {
		t.Error("what is in use, or not ours, was removed")
	}
	next.Close()
	if found := names(t, next.Dir()); len(found) > 0 {
		t.Errorf("a process that ends leaves %q", found)
	}
}

// A folder holds no more than its limit. What is mapped counts, also when its file is gone.
func TestTheLimitOfAFolder(t *testing.T) {
	data := encoded(10)
	f := newFolder(t, t.TempDir(), 2*int64(len(data)))
	defer f.Close()
	_, first, err := f.Put("aa", data, origin)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Put("bb", data, origin); err != nil { // nobody uses it
		t.Fatal(err)
	}
	put := func(name string) (err error) {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			runtime.GC()
			if _, _, err = f.Put(name, data, origin); !errors.Is(err, files.ErrFull) {
				return err
			}
		}
		return err
	}
	if err := put("cc"); err != nil {
		t.Errorf("in place of what nobody uses: %v", err)
	}
	if _, _, err := f.Find("aa", origin, false); err != nil {
		t.Errorf("what is mapped made room: %v", err)
	}
	_, second, err := f.Find("cc", origin, false)
	if err != nil {
		t.Fatal(err)
	}
	f.Drop("aa", "cc")
	if _, _, err := f.Put("dd", data, origin); !errors.Is(err, files.ErrFull) {
		t.Errorf("beside what is mapped: %v", err)
	}
	if first.Bytes[0] != data[0] || second.Bytes[0] != data[0] {
		t.Error("what is mapped cannot be read when its file is gone")
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
	if err := put("dd"); err != nil {
		t.Errorf("when nobody uses it any more: %v", err)
	}
}

// A directory that cannot be one is refused with its name.
func TestDirectoriesThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	link := filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink(t.TempDir(), link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "x"), link} {
		if _, err := files.NewFolder(path, 1); err == nil {
			t.Errorf("%s was taken", path)
		}
	}
	f := newFolder(t, dir, 1<<20)
	defer f.Close()
	if _, _, err := f.Put("../x", encoded(1), origin); err == nil {
		t.Error("a name that leads elsewhere was taken")
	}
}
