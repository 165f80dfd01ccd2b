package sqlite

import (
	"context"
	"errors"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// primary returns SQLite's primary result code of an error, or 0.
func primary(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isBusy(err error) bool {
	switch primary(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL: // the last: too many others at the log at once
		return true
	}
	return false
}

// isFull reports whether there was no room: for the file, its log, or the log's index;
// or none in the quota of a user, as far as [file.withCause] has looked.
func isFull(err error) bool {
	var e *sqlite.Error
	return primary(err) == sqlite3.SQLITE_FULL || oserror.NoRoom(err) ||
		errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}

// withCause asks the operating system why a write failed where SQLite does not tell: a
// quota that is used up is a full disk, which deleting helps, and no broken one.
func (f *file) withCause(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != sqlite3.SQLITE_IOERR_WRITE && e.Code() != sqlite3.SQLITE_IOERR_FSYNC {
		return err
	}
	if cause := f.ballast.probe(); oserror.NoRoom(cause) {
		return errors.Join(err, cause)
	}
	return err
}

// full is the error for what does not fit on the disk.
func (f *file) full(cause error) *loci.Error {
	return &loci.Error{
		Code:     loci.Unavailable,
		Err:      cause,
		Msg:      "the disk that holds " + f.path + " is full; nothing was stored",
		Recovery: "Free some space or delete memories, then try again.",
	}
}

// opOpen is the operation that opens a file.
const opOpen = "open"

// translate turns what the driver returns into a coded error that names the file
// and the remedy.
func (f *file) translate(op string, err error) error {
	if err == nil {
		return nil
	}
	var coded *loci.Error
	switch {
	case errors.As(err, &coded):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return loci.AsError(err)
	}
	e := &loci.Error{Code: loci.Unavailable, Op: op, Err: err}
	if isFull(err) {
		e = f.full(err)
		if e.Op = op; op == opOpen { // nothing can be deleted, either
			e.Msg = "the disk that holds " + f.path + " is full, and opening it takes some room"
			e.Recovery = "Free some space there, 64 KiB at the least, then try again."
		}
		return e
	}
	switch primary(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		e.Msg, e.Recovery = "the memory file "+f.path+" is locked by another process", "Try again; if it persists, find the process that holds the file open for writing."
	case sqlite3.SQLITE_READONLY:
		e.Msg, e.Recovery = "the memory file "+f.path+" or its directory is read-only", "Allow this user to write to the file and its directory."
	case sqlite3.SQLITE_CANTOPEN:
		if cause := f.refused(); cause != nil {
			cause.Op, cause.Code, cause.Err = op, loci.Unavailable, errors.Join(err, cause.Err)
			return cause
		}
		e.Msg, e.Recovery = "the memory file "+f.path+" cannot be opened", "Check that its directory exists and may be read and written."
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		e.Msg, e.Recovery = "access to the memory file "+f.path+" is denied", "Allow this user to read and write it."
	case sqlite3.SQLITE_IOERR:
		e.Msg, e.Recovery = "the disk that holds "+f.path+" failed to read or write", "Check the disk, then run loci doctor."
	case sqlite3.SQLITE_CORRUPT:
		e.Code, e.Msg, e.Recovery = loci.Internal, "the memory file "+f.path+" is damaged", "Run loci doctor, and restore the file from a backup or an export."
	case sqlite3.SQLITE_NOTADB:
		e.Code, e.Msg, e.Recovery = loci.Unsupported, f.path+" is not a memory file", "Choose another path, or restore the file from a backup."
	case sqlite3.SQLITE_TOOBIG:
		e.Code, e.Msg = loci.TooLarge, "a memory is larger than the file format allows"
	default:
		e.Code, e.Msg = loci.Internal, "the memory file "+f.path+" failed"
	}
	return e
}

// refused asks the operating system why the file cannot be opened, which SQLite does
// not tell: too many open files are no missing directory.
func (f *file) refused() *loci.Error {
	c, err := os.OpenFile(f.path, os.O_RDWR, 0) // SQLite wants to write, if only its log
	if err != nil {
		return oserror.Of("the memory file "+f.path+" cannot be opened", err)
	}
	_ = c.Close() // only opened
	return nil
}

// conflictOr turns a broken uniqueness rule into a conflict.
func conflictOr(err error) error {
	if primary(err) == sqlite3.SQLITE_CONSTRAINT {
		return &loci.Error{Code: loci.Conflict, Msg: "another record holds this id or slot", Err: err}
	}
	return err
}
