// Package plainfile reads small files that somebody names in a configuration: keys, certificates,
// secrets, settings. Such a file must be there whole and have an end. A pipe makes whoever opens it
// wait, a device never ends, and either would stop a server that reads while others wait for it.
package plainfile

import (
	"fmt"
	"io"
	"os"
)

// An UnfitError says that a path names what is no file, or one that is too large.
type UnfitError struct {
	Path  string
	Limit int64 // in bytes
	Size  int64 // of the file; 0: it is no file, -1: more than the limit, and nobody has read further
}

// Error says what is wrong, and the limit.
func (u *UnfitError) Error() string {
	switch {
	case u.Size == 0:
		return u.Path + " is not a file"
	case u.Size < 0:
		return fmt.Sprintf("%s has more than %d bytes, which is the limit", u.Path, u.Limit)
	}
	return fmt.Sprintf("%s has %d bytes; the limit is %d", u.Path, u.Size, u.Limit)
}

// Check refuses, as [UnfitError], what is no regular file of at most limit bytes. A link counts as what it
// leads to. Other errors are those of the operating system.
func Check(path string, limit int64) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return &UnfitError{Path: path, Limit: limit}
	case info.Size() > limit:
		return &UnfitError{Path: path, Limit: limit, Size: info.Size()}
	}
	return nil
}

// Read reads a file that passes [Check], and no byte beyond the limit: some files have more in them
// than they say, and others grow.
func Read(path string, limit int64) ([]byte, error) {
	if err := Check(path, limit); err != nil {
		return nil, err
	}
	return ReadAny(path, limit)
}

// ReadAny reads whatever the path names, such as a pipe from which a person hands over a secret, up to
// the limit. It waits for as long as that takes: it is for commands, and not for servers.
func ReadAny(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the file the user names
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, &UnfitError{Path: path, Limit: limit, Size: -1}
	}
	return data, err
}
