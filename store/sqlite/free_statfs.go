//go:build linux || darwin || freebsd

package sqlite

import "golang.org/x/sys/unix"

// freeBytes is how much this user may still write to the disk of a directory.
func freeBytes(dir string) (int64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true //nolint:unconvert // their types differ between systems
}
