package sqlite

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// While there is no reserve, saves take the room that deletes have left in the file, if
// half of a ballast is free for the log: the file does not grow, and the log is cut.
// As soon as a ballast fits, with a margin, it is made, and the file grows again.
func TestSavesWithoutAReserve(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	var logged bytes.Buffer
	s := openFile(t, path)
	s.ballast.log = slog.New(slog.NewTextHandler(&logged, nil))
	free, known := int64(1<<40), true
	s.ballast.free = func(string) (int64, bool) { return free, known }
	var gone loci.Change
	for range 40 {
		id := save(t, s, strings.Repeat("filler ", 700))
		gone.Erase = append(gone.Erase, loci.Erase{ID: id, Version: 1})
	}
	if err := s.Apply(t.Context(), testTenant, gone); err != nil {
		t.Fatal(err)
	}
	reserve := func(want bool) {
		t.Helper()
		if _, err := os.Stat(s.ballast.path); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("with %d bytes free there is a ballast: %t, %v", free, !want, err)
		}
	}
	size := func(path string) int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	s.ballast.release()
	before := size(path)
	free = ballastSize/2 - 1
	wantCode(t, s.Apply(t.Context(), testTenant, note("no room for the log")), loci.Unavailable, "full", path)
	free = ballastSize / 2
	saved := 0
	for ; saved < 1000; saved++ {
		if err := s.Apply(t.Context(), testTenant, note(strings.Repeat("filler ", 700))); err != nil {
			wantCode(t, err, loci.Unavailable, "full", path)
			break
		}
		if size(path) != before || size(path+"-wal") != 0 {
			t.Fatalf("after save %d the file has %d bytes of %d, the log %d", saved, size(path), before, size(path+"-wal"))
		}
	}
	if saved < 20 || saved > 60 {
		t.Errorf("%d saves went into the room of 40", saved)
	}
	reserve(false)
	free = ballastSize + ballastMargin - 1
	wantCode(t, s.Apply(t.Context(), testTenant, note(strings.Repeat("x", 200_000))), loci.Unavailable, "full")
	reserve(false)
	free++
	save(t, s, strings.Repeat("x", 200_000))
	reserve(true)

	s.ballast.release()
	free, known = 0, false // where nobody knows, the ballast is tried
	save(t, s, strings.Repeat("x", 200_000))
	reserve(true)
	s.ballast.release()
	s.ballast.release() // there is none
	if logged.Len() > 0 {
		t.Errorf("without a fault there is logged %s", logged.String())
	}
	must(t, os.Mkdir(s.ballast.path, 0o700))
	s.ballast.release()
	if !strings.Contains(logged.String(), "cannot be removed") {
		t.Errorf("what cannot be removed is not told: %s", logged.String())
	}
}

// Warnings say when the reserve is missing, is not whole, or when little is free.
func TestWarningsOfTheReserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "x.db"))
	b := s.ballast
	free, known := int64(lowRoom), true
	b.free = func(of string) (int64, bool) {
		if of != dir {
			t.Errorf("asked what is free in %s", of)
		}
		return free, known
	}
	says := func(written bool, words ...string) {
		t.Helper()
		found := b.warnings(written)
		if len(found) != len(words) {
			t.Fatalf("warnings %q, want %q", found, words)
		}
		for i, word := range words {
			if !strings.Contains(found[i], word) {
				t.Errorf("%q does not say %q", found[i], word)
			}
		}
	}
	says(false)
	says(true, "is missing: when the disk is full, deleting may fail. The next write makes it if 5 MiB are free")
	if !b.ready() {
		t.Fatal("no ballast was made")
	}
	says(true)
	free--
	says(true, "only 64.0 MiB are free on the disk that holds "+dir)
	known = false
	says(true)
	if err := os.Truncate(b.path, 4711); err != nil {
		t.Fatal(err)
	}
	says(false, "has 4711 bytes of 4194304")
	if !b.ready() { // what is there of it is completed
		t.Error("the ballast is not whole again")
	}
	says(true)

	// A store to which nobody ever wrote needs no reserve.
	told := func(want int) {
		t.Helper()
		if found, err := s.Warnings(t.Context()); err != nil || len(found) != want {
			t.Errorf("warnings %q, %v; want %d", found, err, want)
		}
	}
	must(t, os.Remove(b.path))
	told(0)
	save(t, s, "a note")
	must(t, os.Remove(b.path))
	told(1)
}
