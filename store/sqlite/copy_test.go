package sqlite

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
)

// begun is a copy of a tenant that has nothing yet.
func begun(t *testing.T, path string) *copying {
	t.Helper()
	to, err := OpenTarget(path, nil)
	must(t, err)
	c, err := to.BeginCopy(t.Context(), testTenant, dump.Head{})
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c.(*copying)
}

// A copy has all the room there is: nothing is kept back for deletes, which nobody makes in it.
func TestCopiesKeepNoReserve(t *testing.T) {
	t.Parallel()
	c := begun(t, t.TempDir())
	c.ballast.free = func(string) (int64, bool) { return ballastSize, true } // too little for a ballast
	c.at.Table = slices.Index(dump.Tables, dump.Spaces)
	must(t, c.Take(t.Context(), []dump.Row{{int64(1), []byte("two"), int64(2)}}, ""))
	if _, err := os.Stat(filepath.Join(c.to.parts(), ballastName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a reserve: %v", err)
	}
}

// A row without the one it belongs to, or one that comes twice, was written between two looks at the source.
func TestACopyOfWhatChangesIsRefused(t *testing.T) {
	t.Parallel()
	c := begun(t, t.TempDir())
	for table, row := range map[dump.Table]dump.Row{
		dump.Vectors:   {[]byte("0123456789abcdef"), int64(1), []byte{1}},
		dump.Revisions: {[]byte("0123456789abcdef"), int64(1), int64(2), int64(3), []byte("x"), []byte("[]"), []byte("{}")},
	} {
		c.at.Table = slices.Index(dump.Tables, table)
		err := c.Take(t.Context(), []dump.Row{row}, "")
		wantCode(t, err, loci.Conflict, `"default" was written to while it was copied`)
	}
}

// A copy that did not fit says that the tenant is not there, and what goes on afterwards.
func TestACopyThatDoesNotFit(t *testing.T) {
	t.Parallel()
	c := begun(t, t.TempDir())
	f, err := c.acquire(t.Context(), testTenant)
	must(t, err)
	defer c.release(f)
	wantCode(t, c.unwritten(f, syscall.ENOSPC), loci.Unavailable, f.path+" is full", `"default" is not copied whole`)
}

// Into a file for one tenant no other one is copied, and the message names that file.
func TestAFileTakesNoOtherTenant(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	to, err := OpenTarget(path, nil)
	must(t, err)
	other, err := loci.NewTenant("acme")
	must(t, err)
	_, err = to.BeginCopy(t.Context(), other, dump.Head{})
	wantCode(t, err, loci.Unsupported, path, `"acme"`, "name a directory")
}

// A copy whose log could not be brought into its file does not take the place of a tenant: it would lack what is in
// the log.
func TestACopyWithALogIsNotWhole(t *testing.T) {
	t.Parallel()
	c := begun(t, t.TempDir())
	other, err := Open(c.to.parts(), nil)
	must(t, err)
	save(t, other, "keeps the log open")
	wantCode(t, c.Finish(t.Context()), loci.Unavailable, "is not copied whole")
	if _, err := os.Stat(c.to.fileName(testTenant)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is in the store: %v", err)
	}
	must(t, other.Close())
}

// Where there is no room to open a file, nothing can be deleted from it: the advice is another one.
func TestADiskThatIsTooFullToOpen(t *testing.T) {
	t.Parallel()
	f := &file{path: "x.db"}
	wantCode(t, f.translate(opOpen, syscall.ENOSPC), loci.Unavailable, "x.db is full, and opening it takes some room")
	wantCode(t, f.translate("apply", syscall.ENOSPC), loci.Unavailable, "x.db is full; nothing was stored")
	if advice := loci.AsError(f.translate(opOpen, syscall.ENOSPC)).Advice(); advice != "Free some space there, 64 KiB at the least, then try again." {
		t.Errorf("the advice is %q", advice)
	}
}

// A store whose name is that of an unfinished copy, and a link to one, stay when a tenant is erased.
func TestAStoreNamedAsACopyStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "x.db"), filepath.Join(dir, "x.copying.db")
	s, own := openFile(t, path), openFile(t, other)
	save(t, s, "first")
	save(t, own, "somebody's own")
	must(t, own.Close())
	told, err := s.Warnings(t.Context())
	if err != nil || slices.ContainsFunc(told, func(s string) bool { return strings.Contains(s, "not whole") }) {
		t.Errorf("%q, %v", told, err)
	}
	must(t, s.EraseTenant(t.Context(), testTenant))
	if n := count(t, openFile(t, other)); n != 1 {
		t.Errorf("%d memories are left in a store of another name; want 1", n)
	}
	linked := filepath.Join(t.TempDir(), "y.db")
	begun := begun(t, linked)
	must(t, begun.Close())
	file := begun.fileName(testTenant)
	must(t, os.Rename(file, file+".moved"))
	must(t, os.Symlink(file+".moved", file))
	must(t, openFile(t, linked).EraseTenant(t.Context(), testTenant))
	if data, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(data, []byte("SQLite")) {
		t.Errorf("what a link leads to is overwritten: %v", err)
	}
}

// A copy that is not whole holds memories: doctor names it, and it goes with its tenant, unless somebody is at work on it.
func TestACopyThatIsNotWholeGoesWithItsTenant(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"store", "x.db"} {
		path := filepath.Join(t.TempDir(), name)
		c := begun(t, path)
		c.at.Table = slices.Index(dump.Tables, dump.Spaces)
		must(t, c.Take(t.Context(), []dump.Row{{int64(1), []byte("secretive"), int64(2)}}, ""))
		file := c.fileName(testTenant)
		s := openFile(t, path)
		wantCode(t, s.EraseTenant(t.Context(), testTenant), loci.Conflict, file, "open")
		must(t, c.Close())
		kept, err := os.Open(file) // the same bytes, when the name is gone
		must(t, err)
		if found := filesWith(t, filepath.Dir(path), [][]byte{[]byte("secretive")}); len(found) != 1 {
			t.Fatalf("the copy is in %q", found)
		}
		if told, err := s.Warnings(t.Context()); err != nil || !slices.ContainsFunc(told, func(s string) bool {
			return strings.HasPrefix(s, file+" is a copy of a tenant that is not whole")
		}) {
			t.Errorf("%q, %v", told, err)
		}
		must(t, s.EraseTenant(t.Context(), testTenant))
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", file, err)
		}
		if data, err := io.ReadAll(kept); err != nil || len(data) == 0 || bytes.Contains(data, []byte("secretive")) {
			t.Errorf("%d bytes are on the disk as they were: %v", len(data), err)
		}
		must(t, kept.Close())
		if told, err := s.Warnings(t.Context()); err != nil || slices.ContainsFunc(told, func(s string) bool {
			return strings.Contains(s, "not whole")
		}) {
			t.Errorf("%q, %v", told, err)
		}
		must(t, s.EraseTenant(t.Context(), testTenant)) // of nothing
	}
}
