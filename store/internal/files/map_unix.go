//go:build unix

package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const mapped = true

// mapFile gives the bytes of a file where the system keeps them, and how to give them back.
func mapFile(f *os.File, size int) (data []byte, unmap func([]byte) error, err error) {
	if size == 0 {
		return nil, nil, errors.New("the file is empty")
	}
	data, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	return data, unix.Munmap, err
}
