package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/store/internal/segment"
)

// What lies in the directory of a [Folder].
const (
	roomPrefix = "room-" // a folder for each process
	lockName   = "lock"  // in it: held as long as the process lives
	suffix     = ".segm" // of segments
)

// A Folder is where a process keeps copies of segments that a database has. Each process has a
// room of its own in the directory, which goes with it: so no copy outlives an erase because
// nobody was there to take it away. The directory may be emptied at any time.
type Folder struct {
	dir   string
	lock  *flock.Flock
	limit int64

	mu   sync.Mutex
	used int64           // bytes of what is there, or still mapped
	held map[string]*one // by name
	tick int64
}

// one is a segment of which there is a file, or a mapping.
type one struct {
	size  int64
	at    int64 // when it was asked for last
	users int   // mappings
	gone  bool  // the file is removed
}

// ErrFull says that a segment does not fit.
var ErrFull = errors.New("the folder is full")

// NewFolder makes a room for this process in a directory, which is made if it is not there, and
// removes the rooms of processes that are gone. It holds up to limit bytes.
func NewFolder(dir string, limit int64) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, oserror.Of("the folder "+dir+" cannot be made", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, oserror.Of("the folder "+dir+" cannot be read", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder: remove it, or name another one", dir)
	}
	f := &Folder{limit: limit, held: map[string]*one{}}
	if err := f.take(dir); err != nil {
		return nil, oserror.Of("the folder "+dir+" cannot be written to", err)
	}
	return f, f.clear(dir)
}

// take makes the room. Another process that begins may take it for one that was left.
func (f *Folder) take(dir string) (err error) {
	for range 10 {
		if f.dir, err = os.MkdirTemp(dir, roomPrefix); err != nil {
			return err
		}
		f.lock = flock.New(filepath.Join(f.dir, lockName), flock.SetPermissions(0o600))
		var ok bool
		if ok, err = f.lock.TryLock(); ok {
			if _, err = os.Lstat(f.lock.Path()); err == nil {
				return nil
			}
			_ = f.lock.Close() // of a file that is gone
		}
	}
	return errors.Join(errors.New("others remove what is made there"), err)
}

// clear removes the rooms that nobody holds.
func (f *Folder) clear(dir string) error {
	rooms, err := filepath.Glob(filepath.Join(dir, roomPrefix+"*"))
	if err != nil {
		return err
	}
	for _, room := range rooms {
		if room == f.dir {
			continue
		}
		lock := flock.New(filepath.Join(room, lockName), flock.SetPermissions(0o600))
		if ok, err := lock.TryLock(); err != nil || !ok {
			continue // somebody's, or not ours to remove
		}
		leave(room, lock)
	}
	return nil
}

// leave removes a room whose lock is held. What somebody else put there stays.
func leave(room string, lock *flock.Flock) {
	left, _ := filepath.Glob(filepath.Join(room, "*"+suffix))
	for _, path := range left {
		_ = os.Remove(path)
	}
	err := os.Remove(lock.Path())
	_ = lock.Close()
	if err != nil { // Windows removes no file that is open: now it does, unless others have opened it
		_ = os.Remove(lock.Path())
	}
	_ = os.Remove(room)
}

// Dir is the room.
func (f *Folder) Dir() string { return f.dir }

// Close gives the room back. What is mapped stays readable.
func (f *Folder) Close() { leave(f.dir, f.lock) }

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name+suffix) }

// Put writes a segment and maps it. [ErrFull]: there is no room, even without those that
// nobody uses.
func (f *Folder) Put(name string, data []byte, origin segment.Origin) (*segment.Segment, *Mapping, error) {
	if strings.ContainsAny(name, `/\`) || name == "" {
		return nil, nil, segment.ErrUnusable
	}
	if !f.reserve(name, int64(len(data))) {
		return nil, nil, ErrFull
	}
	err := Write(f.path(name), data)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the whole room
		if err = os.MkdirAll(f.dir, 0o700); err == nil {
			err = Write(f.path(name), data)
		}
	}
	if err == nil {
		var g *segment.Segment
		var m *Mapping
		if g, m, err = f.open(name, origin, true); err == nil {
			return g, m, nil
		}
	}
	f.Drop(name)
	return nil, nil, err
}

// reserve counts a segment, and removes those that nobody uses if there is no room for it.
func (f *Folder) reserve(name string, size int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[name] != nil {
		return false
	}
	for f.used+size > f.limit {
		oldest := ""
		for name, o := range f.held {
			if o.users == 0 && (oldest == "" || o.at < f.held[oldest].at) {
				oldest = name
			}
		}
		if oldest == "" {
			return false
		}
		f.remove(oldest)
	}
	f.tick++
	f.held[name] = &one{size: size, at: f.tick}
	f.used += size
	return true
}

// Find maps a segment that is there, as [Open] does.
func (f *Folder) Find(name string, origin segment.Origin, whole bool) (*segment.Segment, *Mapping, error) {
	f.mu.Lock()
	o := f.held[name]
	there := o != nil && !o.gone
	f.mu.Unlock()
	if !there {
		return nil, nil, fs.ErrNotExist
	}
	g, m, err := f.open(name, origin, whole)
	if err != nil { // somebody emptied the folder, or changed the file
		f.Drop(name)
	}
	return g, m, err
}

func (f *Folder) open(name string, origin segment.Origin, whole bool) (*segment.Segment, *Mapping, error) {
	g, m, err := Open(f.path(name), origin, whole)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.held[name]; o != nil {
		f.tick++
		o.users++
		o.at = f.tick
		runtime.AddCleanup(m, f.unused, name)
	}
	return g, m, nil
}

// unused notes that a mapping of a segment is gone.
func (f *Folder) unused(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.held[name]; o != nil {
		if o.users--; o.gone && o.users == 0 {
			f.forget(name)
		}
	}
}

// Drop removes the files of segments. What is mapped stays readable.
func (f *Folder) Drop(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.remove(name)
	}
}

func (f *Folder) remove(name string) {
	o := f.held[name]
	if o == nil {
		return
	}
	_ = os.Remove(f.path(name)) // or it is gone already
	if o.gone = true; o.users == 0 {
		f.forget(name)
	}
}

func (f *Folder) forget(name string) {
	f.used -= f.held[name].size
	delete(f.held, name)
}
