package mcpclient

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

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
			return nil, loci.Errorf(loci.Invalid, "%s is a link that leads nowhere", path)
		}
		return &file{path: path, mode: 0o600}, nil
	case err != nil:
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
		return nil, loci.Errorf(loci.Invalid, "%s is no file", path)
	}
	if info.Size() > maxFile {
		return nil, loci.Errorf(
			loci.TooLarge,
			"%s has %d bytes; setup changes files of up to %d",
			path,
			info.Size(),
			maxFile,
		)
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

// replace writes the file again: beside, then over it in one step, so that a client that
// reads it meanwhile sees all of the old or all of the new. With keep the old one stays
// as the backup.
func (f *file) replace(text []byte, keep bool) error {
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
	if now, err := readFile(f.path); err != nil || now.exists != f.exists ||
		!bytes.Equal(now.text, f.text) {
		return errors.Join(
			err,
			loci.Errorf(loci.Conflict, "%s changed meanwhile; nothing was done: run setup again", f.path),
		)
	}
	if keep {
		if err := f.keep(); err != nil {
			return err
		}
	}
	return writeOver(f.path, text, f.mode)
}

// keep makes the backup.
func (f *file) keep() error {
	if !f.exists {
		return nil
	}
	return writeOver(f.backup(), f.text, f.mode)
}

// turn lets one setup at a time change the file. A second one does not wait: it is told
// to come again. The lock that an interrupted setup left is taken over after a minute.
func (f *file) turn() (end func(), err error) {
	path := f.path + ".loci-setup"
	for range 2 {
		lock, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			return func() { _ = lock.Close(); _ = os.Remove(path) }, nil
		}
		info, gone := os.Lstat(path)
		if !errors.Is(err, fs.ErrExist) {
			return nil, oserror.Of(path, err)
		}
		if gone == nil && time.Since(info.ModTime()) < time.Minute {
			break
		}
		_ = os.Remove(path) // whoever is quicker makes it again
	}
	return nil, loci.Errorf(
		loci.Conflict,
		"another setup is changing %s; run this one again when it is done",
		f.path,
	)
}

// writeOver puts a text in place of a file in one step.
func writeOver(path string, text []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return oserror.Of(path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
			err = oserror.Of(path, err)
		}
	}()
	if _, err := f.Write(text); err != nil {
		return err
	}
	chmod, rename := func() error { return f.Chmod(mode) }, func() error { return os.Rename(f.Name(), path) }
	for _, step := range []func() error{chmod, f.Sync, f.Close, rename} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// restore ends what setup did to a file. The file is again what the backup says, is
// removed if there was none, or loses the entry alone. The backup is removed.
func (f *file) restore(before *file, without []byte) error {
	var err error
	switch {
	case before == nil:
		err = f.replace(without, false)
	case before.exists:
		err = f.replace(before.text, false)
	default:
		err = os.Remove(f.path)
	}
	if err == nil {
		err = os.Remove(f.backup())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return oserror.Of(f.path, err)
	}
	return nil
}
