package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/loci-memory/loci/internal/oserror"
)

// The ballast is a file beside the data that only takes up space. When the disk is full
// it is removed, so that deletes and checkpoints, which need room for the log, still
// work. While it is gone, nothing else may grow. It consists of zeros, which tells it
// from a user's file of the same name.
const (
	ballastName = "loci.ballast"
	ballastSize = 4 << 20

	// ballastMargin is how much must be free beside a ballast that is made: less would
	// be used up at once.
	ballastMargin = 1 << 20
)

// ballast is that of one directory; its processes share it.
type ballast struct {
	path string
	log  *slog.Logger
	free func(dir string) (int64, bool) // bytes; false: nobody knows
	none bool                           // everything may take what is free

	write func(f *os.File, data []byte, at int64) (int, error)

	mu sync.Mutex
}

func newBallast(s *Store) *ballast {
	dir := s.path
	if s.single {
		dir = filepath.Dir(s.path)
		if file, err := filepath.EvalSymlinks(s.path); err == nil { // the disk that holds the data
			dir = filepath.Dir(file)
		}
	}
	return &ballast{
		path: filepath.Join(dir, ballastName), log: s.opts.Logger, free: freeBytes, write: (*os.File).WriteAt,
	}
}

// whole reports whether a file looks like a whole ballast.
func whole(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == ballastSize && links(info) == 1
}

// ready reports whether there is a reserve for erasing, so that other work may take what
// is free. It makes the ballast when it is missing and there is room.
func (b *ballast) ready() bool {
	if b.none {
		return true
	}
	info, err := os.Lstat(b.path)
	if err == nil && whole(info) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	free, known := b.free(filepath.Dir(b.path))
	if known && free < ballastSize+ballastMargin {
		return false
	}
	err = b.make()
	if err != nil {
		const says = "the ballast file cannot be made; deletes may fail when the disk is full"
		b.log.Warn(says, "file", b.path, "error", err)
	}
	if oserror.NoRoom(err) { // a quota, which what is free on the disk does not show
		return false
	}
	return err == nil || known // without the file, what is free is the reserve
}

// probe says what the operating system answers to one who writes beside the data.
func (b *ballast) probe() error {
	f, err := os.CreateTemp(filepath.Dir(b.path), ballastName+".*")
	if err != nil {
		return err
	}
	_, err = b.write(f, make([]byte, 64<<10), 0)
	if err == nil {
		err = f.Sync() // where a disk is far away the refusal may come late
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// make writes the ballast, or what an earlier attempt has left of it to write.
func (b *ballast) make() (err error) {
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_RDWR|noFollow, 0o600)
	if errors.Is(err, fs.ErrExist) {
		f, err = b.own(os.O_RDWR)
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	// Zeros written out, not a sparse file: a hole takes up no space. Another process that
	// writes the same does no harm.
	zeros := make([]byte, 64<<10)
	for at := int64(0); err == nil && at < ballastSize; at += int64(len(zeros)) {
		if at+int64(len(zeros)) > info.Size() {
			_, err = b.write(f, zeros, at)
		}
	}
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(b.path)) // it is ours, and takes room that somebody needs
	}
	return err
}

// own opens the file at the ballast's place if nobody but Loci can have made it: no
// link, nobody else's, and nothing in it but zeros.
func (b *ballast) own(flag int) (f *os.File, err error) {
	if f, err = os.OpenFile(b.path, flag|noFollow|nonBlock, 0); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > ballastSize || links(info) != 1 || !mine(info) {
		return nil, fmt.Errorf("%s is not a file of Loci's", b.path)
	}
	buffer := make([]byte, 64<<10)
	for {
		n, err := f.Read(buffer)
		for _, c := range buffer[:n] {
			if c != 0 {
				return nil, fmt.Errorf("%s is not a file of Loci's: it holds something", b.path)
			}
		}
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// release gives the space back.
func (b *ballast) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, err := b.own(os.O_RDONLY)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(b.path))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		b.log.Warn("the ballast file cannot be removed", "file", b.path, "error", err)
	}
}

// spare reports whether at least half of what the ballast held is free: work that
// makes no file grow may use the log meanwhile.
func (b *ballast) spare() bool {
	free, known := b.free(filepath.Dir(b.path))
	return !known || free >= ballastSize/2
}

// lowRoom is how much should be free, or [Store.Warnings] says so.
const lowRoom = 64 << 20

// warnings says what is wrong with the reserve, in sentences. written is whether there
// has been a write, which makes it.
func (b *ballast) warnings(written bool) (found []string) {
	f, err := b.own(os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !written:
	case errors.Is(err, fs.ErrNotExist):
		found = append(
			found,
			fmt.Sprintf(
				"%s is missing: when the disk is full, deleting may fail. The next write makes it if %d MiB are free",
				b.path,
				(ballastSize+ballastMargin)>>20,
			),
		)
	case err != nil:
		found = append(
			found,
			fmt.Sprintf(
				"%s is a link or a file of somebody else's, and left alone: when the disk is full, deleting may fail. Move it away, so that Loci can keep %d MiB there",
				b.path,
				ballastSize>>20,
			),
		)
	default:
		if info, err := f.Stat(); err == nil && !whole(info) {
			found = append(
				found,
				fmt.Sprintf(
					"%s has %d bytes of %d: when the disk is full, deleting may fail",
					b.path,
					info.Size(),
					ballastSize,
				),
			)
		}
		_ = f.Close() // it was only read
	}
	if free, known := b.free(filepath.Dir(b.path)); known && free < lowRoom {
		found = append(
			found,
			fmt.Sprintf(
				"only %.1f MiB are free on the disk that holds %s: free some space, or delete memories",
				float64(free)/(1<<20),
				filepath.Dir(b.path),
			),
		)
	}
	return found
}
