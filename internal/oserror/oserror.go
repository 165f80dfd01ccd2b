// Package oserror says why the operating system refused a file, and what to do about it.
// It does not guess: what it cannot tell apart gets no reason.
package oserror

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/loci-memory/loci"
)

// A reason is one way in which the operating system refuses.
type reason struct {
	sign         error
	code         loci.Code
	says, remedy string
}

// reasons are looked through in order. Reasons that are easily mistaken, such as too many
// open files, have their own remedy.
var reasons = []reason{
	{fs.ErrNotExist, loci.Invalid, "no such file or directory", "Check the path."},
	{
		syscall.EMFILE,
		loci.Unavailable,
		"too many open files in this process",
		"Raise the limit of open files (ulimit -n), or do less at once.",
	},
	{
		syscall.ENFILE,
		loci.Unavailable,
		"too many open files on this machine",
		"Close some programs, or raise the limit of the system.",
	},
	{syscall.ENOSPC, loci.Unavailable, "no space left on the disk", "Free some space, then try again."},
	{
		syscall.EDQUOT,
		loci.Unavailable,
		"the quota of this user on the disk is used up",
		"Free some space, then try again.",
	},
	{
		syscall.EROFS,
		loci.Unavailable,
		"the file system is read-only",
		"Choose a path on another one, or mount this one for writing.",
	},
	{
		syscall.EFBIG,
		loci.Unavailable,
		"the file would be larger than this system or the limits of this process allow",
		"Raise the limit of file sizes (ulimit -f), or use another file system.",
	},
	{fs.ErrPermission, loci.Forbidden, "permission denied", "Allow this user to use it, with its directories."},
	{syscall.ENOTDIR, loci.Invalid, "a part of the path is no directory", "Check the path."},
	{syscall.EISDIR, loci.Invalid, "it is a directory", "Name a file."},
	{syscall.ELOOP, loci.Invalid, "its links lead round in a circle", "Check the links in the path."},
	{syscall.ENAMETOOLONG, loci.Invalid, "the name is too long", "Choose a shorter one."},
	{fs.ErrExist, loci.Conflict, "it is there already", "Choose another name."},
	{syscall.EIO, loci.Unavailable, "the disk failed to read or write", "Check the disk."},
	{fs.ErrInvalid, loci.Invalid, "it is no path", "Check the path."},
}

// NoRoom reports whether there was no room: on the disk, or in the quota of a user on it.
func NoRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Of makes an error that says what failed and why, as in "notes.txt: permission
// denied".
func Of(what string, err error) *loci.Error {
	for _, r := range reasons {
		if errors.Is(err, r.sign) {
			return &loci.Error{Code: r.code, Msg: what + ": " + r.says, Err: err, Recovery: r.remedy}
		}
	}
	says := err.Error()
	var path *fs.PathError
	if errors.As(err, &path) {
		says = path.Err.Error() // the system's own words, without the path again
	}
	return &loci.Error{
		Code:     loci.Unavailable,
		Msg:      what + ": " + says,
		Err:      err,
		Recovery: "Check the path, its permissions and the free space.",
	}
}
