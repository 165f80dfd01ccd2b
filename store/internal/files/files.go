// Package files keeps the segments of search indexes in files and maps them. They are derived:
// a file may go at any time, and one that is damaged is refused.
package files

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/loci-memory/loci/store/internal/segment"
)

// A Mapping is where the bytes of a segment lie. They stay as long as it is referred to, also
// when their file is removed meanwhile.
type Mapping struct{ Bytes []byte }

// HeapBytes is how many of the bytes lie on the heap: all, where the system does not map them.
func (m *Mapping) HeapBytes() int64 {
	if mapped {
		return 0
	}
	return int64(len(m.Bytes))
}

// Write makes a file. It does not wait for the disk: what a power cut leaves is seen by the
// checksum.
func Write(path string, data []byte) error {
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = out.WriteAt(data, 0)
	return errors.Join(err, out.Close())
}

// Open maps a segment; whole: all of it is looked at, where else a part is when it is read. A link is not
// followed.
func Open(path string, origin segment.Origin, whole bool) (g *segment.Segment, m *Mapping, err error) {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(segment.ErrUnusable, err)
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	return openMapped(in, int(info.Size()), origin, whole)
}

// openMapped maps a file of so many bytes. One that somebody has cut meanwhile is refused.
func openMapped(
	in *os.File, size int, origin segment.Origin, whole bool,
) (g *segment.Segment, m *Mapping, err error) {
	data, unmap, err := mapFile(in, size)
	if err != nil {
		return nil, nil, err
	}
	fault, err := Faultless(func() (err error) {
		if g, err = segment.Open(data, origin); err == nil && whole {
			err = g.CheckAll()
		}
		return err
	})
	if fault != nil {
		err = errors.Join(segment.ErrUnusable, fault)
	}
	if err != nil {
		return nil, nil, errors.Join(err, unmap(data))
	}
	m = &Mapping{data}
	runtime.AddCleanup(m, func(data []byte) { _ = unmap(data) }, data) // nothing refers to it
	return g, m, nil
}

// Faultless returns the fault that reading segments caused, apart from the error: somebody cut a file while it was
// mapped, or a part of it is damaged. It sees what run does itself, not the goroutines that it starts; what one of
// these has seen, panic takes to the one that waits for it.
func Faultless(run func() error) (fault, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		switch p := p.(type) {
		case *segment.DamageError:
			fault = p
		case interface {
			error
			Addr() uintptr
		}:
			fault = p
		default:
			panic(p)
		}
	}()
	return nil, run()
}
