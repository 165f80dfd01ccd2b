//go:build unix

package sqlite

import (
	"io/fs"
	"os"
	"syscall"
)

// Flags of opening: never through a link, and never waiting for a pipe's other end.
const (
	noFollow = syscall.O_NOFOLLOW
	nonBlock = syscall.O_NONBLOCK
)

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // its type differs between systems
	}
	return 0
}

// mine reports whether a file belongs to the user of this process.
func mine(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
