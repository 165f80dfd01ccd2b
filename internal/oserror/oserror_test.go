package oserror_test

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// TestReasonsAreTrue: each refusal has its own words and a remedy that can help.
func TestReasonsAreTrue(t *testing.T) {
	for errno, want := range map[syscall.Errno]struct {
		code        loci.Code
		says, helps string
	}{
		syscall.ENOENT:       {loci.Invalid, "no such file or directory", "path"},
		syscall.EMFILE:       {loci.Unavailable, "too many open files in this process", "ulimit"},
		syscall.ENFILE:       {loci.Unavailable, "too many open files on this machine", "system"},
		syscall.ENOSPC:       {loci.Unavailable, "no space left", "Free some space"},
		syscall.EDQUOT:       {loci.Unavailable, "quota", "Free some space"},
		syscall.EFBIG:        {loci.Unavailable, "larger", "ulimit"},
		syscall.EROFS:        {loci.Unavailable, "read-only", "mount"},
		syscall.EACCES:       {loci.Forbidden, "permission denied", "Allow"},
		syscall.EPERM:        {loci.Forbidden, "permission denied", "Allow"},
		syscall.ENOTDIR:      {loci.Invalid, "no directory", "path"},
		syscall.EISDIR:       {loci.Invalid, "is a directory", "file"},
		syscall.ELOOP:        {loci.Invalid, "circle", "links"},
		syscall.ENAMETOOLONG: {loci.Invalid, "too long", "shorter"},
		syscall.EIO:          {loci.Unavailable, "failed", "disk"},
		syscall.EPIPE:        {loci.Unavailable, "broken pipe", "path"},
	} {
		e := oserror.Of("notes.txt", &fs.PathError{Op: "open", Path: "notes.txt", Err: errno})
		if e.Code != want.code || !strings.HasPrefix(e.Msg, "notes.txt: ") || !strings.Contains(e.Msg, want.says) ||
			!strings.Contains(e.Recovery, want.helps) ||
			!errors.Is(e, errno) {
			t.Errorf("%v: %s %q %q", errno, e.Code, e.Msg, e.Recovery)
		}
	}
	e := oserror.Of("x", errors.New("path escapes from parent"))
	if !strings.Contains(e.Msg, "path escapes from parent") {
		t.Errorf("another error: %q", e.Msg)
	}
}

// TestNoRoom: a used-up quota counts as a full disk. A limit on the size of a file does not,
// since deleting does not help there.
func TestNoRoom(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EFBIG: false, syscall.EIO: false,
	} {
		if got := oserror.NoRoom(&fs.PathError{Op: "write", Path: "x", Err: errno}); got != want {
			t.Errorf("%v: %v", errno, got)
		}
	}
	if oserror.NoRoom(nil) {
		t.Error("nothing failed, and there is no room")
	}
}
