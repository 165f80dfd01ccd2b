package mcpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// maxFile bounds the configuration of a client, in bytes. The largest that are known,
// with the history of conversations in them, have a few MiB.
const maxFile = 64 << 20

// A file is the configuration of another program, as it was when it was read.
type file struct {
	path   string // where links lead
	text   []byte
	exists bool
	mode   fs.FileMode
}

// backup is the one copy that setup keeps of a file as it was before.
func (f *file) backup() string { return f.path + ".before-loci" }

// readFile reads a file that need not be there. It follows links, so that the file
// they lead to is changed and they stay.
func readFile(path string) (*file, error) {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, linked := os.Readlink(path); linked == nil {
			return nil, &loci.Error{Code: loci.Invalid, Msg: path + " is a link that leads nowhere",
				Recovery: "Make the file that it leads to, or remove the link, and run setup again."}
		}
		return &file{path: path, mode: 0o600}, nil
	case err != nil:
		if _, refused := os.Stat(path); refused != nil {
			err = refused // by the system: of links in a circle the function above speaks in words of Go
		}
		return nil, oserror.Of(path, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil, oserror.Of(path, err)
	}
	if info.IsDir() {
		return nil, &loci.Error{Code: loci.Invalid, Msg: path + " is a directory; the client keeps its servers in a file of this name",
			Recovery: "Move the directory away and run setup again; \"loci setup --print\" shows what it would write."}
	}
	if !info.Mode().IsRegular() {
		return nil, &loci.Error{Code: loci.Invalid, Msg: path + " is a pipe or a device; the client keeps its servers in a file of this name",
			Recovery: "Move it away and run setup again."}
	}
	if info.Size() > maxFile {
		return nil, &loci.Error{Code: loci.TooLarge,
			Msg:      fmt.Sprintf("%s has %d bytes; setup changes files of up to %d", path, info.Size(), maxFile),
			Recovery: "Enter Loci there yourself: \"loci setup --print\" shows what to write."}
	}
	f, err := os.Open(target)
	if err != nil {
		return nil, oserror.Of(path, err)
	}
	defer f.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, oserror.Of(path, err)
	}
	return &file{path: target, text: text, exists: true, mode: info.Mode().Perm()}, nil
}

// What setup makes beside a file while it changes it: the lock, and each text before it is
// moved to its place. The next setup takes away what one that was killed has left.
const (
	lockSuffix = ".loci-setup"
	newSuffix  = ".loci-new"
)

// A step of a change: what is at the path afterwards, or that nothing is.
type step struct {
	path string
	text []byte
	gone bool
}

// replace writes the file again. With keep the old one stays as the backup.
func (f *file) replace(text []byte, keep bool) error {
	var steps []step
	if keep && f.exists {
		steps = append(steps, step{path: f.backup(), text: f.text})
	}
	return f.change(append(steps, step{path: f.path, text: text})...)
}

// keep makes the backup.
func (f *file) keep() error {
	if !f.exists {
		return nil
	}
	return f.change(step{path: f.backup(), text: f.text})
}

// restore ends what setup did to a file. The file is again what the backup says, is
// removed if there was none, or loses the entry alone. The backup is removed.
func (f *file) restore(before *file, without []byte) error {
	own := step{path: f.path, text: without}
	if before != nil {
		own.text, own.gone = before.text, !before.exists
	}
	return f.change(own, step{path: f.backup(), gone: true})
}

// change writes each new text beside its place, and then takes the steps, of which each is
// done or not: a client that reads meanwhile sees all of the old or all of the new. What
// takes time comes first, and nothing is done if the file has changed since it was read.
func (f *file) change(steps ...step) error {
	if f.exists && f.mode&0o200 == 0 {
		return &loci.Error{Code: loci.Forbidden, Msg: f.path + " is read-only; nothing was changed",
			Recovery: "Make it writable, or write the entry by hand: \"loci setup --print\" shows it."}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return oserror.Of(filepath.Dir(f.path), err)
	}
	end, err := f.turn()
	if err != nil {
		return err
	}
	defer end()
	for _, s := range steps {
		if !s.gone {
			if err := writeBeside(s.path, s.text, f.mode); err != nil {
				return err
			}
		}
	}
	if now, err := readFile(f.path); err != nil || now.exists != f.exists ||
		!bytes.Equal(now.text, f.text) {
		return errors.Join(
			err,
			loci.Errorf(loci.Conflict, "%s changed meanwhile; nothing was done: run setup again", f.path),
		)
	}
	for _, s := range steps {
		if err := s.take(); err != nil {
			return oserror.Of(s.path, err)
		}
	}
	return nil
}

func (s step) take() error {
	if s.gone {
		if err := os.Remove(s.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return os.Rename(s.path+newSuffix, s.path)
}

// turn lets one setup at a time change the file. A second one does not wait: it is told
// to come again. The system gives back the lock of one that was killed.
func (f *file) turn() (end func(), err error) {
	path := f.path + lockSuffix
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, &loci.Error{Code: loci.Invalid, Msg: path + " is a link or a directory, which setup does not follow; nothing was changed",
			Recovery: "Remove it, and run setup again."}
	}
	for range 10 {
		lock := flock.New(path, flock.SetPermissions(0o600))
		granted, err := lock.TryLock()
		if err != nil {
			return nil, oserror.Of(path, err)
		}
		if !granted {
			break
		}
		held, err := lock.Stat()
		if there, gone := os.Lstat(path); err == nil && gone == nil && os.SameFile(held, there) {
			return func() { f.leave(lock) }, nil
		}
		_ = lock.Close() // of a file that another setup has removed
	}
	return nil, loci.Errorf(
		loci.Conflict,
		"another setup is changing %s; run this one again when it is done",
		f.path,
	)
}

// leave takes away what setup has made beside the file, and gives the lock back.
func (f *file) leave(lock *flock.Flock) {
	_ = os.Remove(f.path + newSuffix)
	_ = os.Remove(f.backup() + newSuffix)
	held := os.Remove(lock.Path()) // where files that are open can be removed, nobody gets in between
	_ = lock.Close()
	if held != nil {
		_ = os.Remove(lock.Path())
	}
}

// tidy takes away what a setup that was killed has left beside a file that is as it should
// be: without the entry there is no backup either.
func (f *file) tidy(without bool) error {
	if _, err := os.Lstat(f.path + lockSuffix); err == nil {
		end, err := f.turn()
		switch {
		case err == nil:
			end()
		case loci.AsError(err).Code != loci.Conflict: // a setup that is at work takes its own away
			return err
		}
	}
	if backup, err := readFile(f.backup()); err == nil && without && backup.exists && bytes.Equal(backup.text, f.text) {
		if err := os.Remove(f.backup()); err != nil {
			return oserror.Of(f.backup(), err)
		}
	}
	return nil
}

// writeBeside writes what is to take the place of a file.
func writeBeside(path string, text []byte, mode fs.FileMode) error {
	beside := path + newSuffix
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return oserror.Of(beside, err)
	}
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return oserror.Of(beside, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return oserror.Of(beside, err)
	}
	return nil
}
