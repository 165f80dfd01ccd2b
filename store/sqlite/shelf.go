package sqlite

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// The index of a large shard is kept in segments, files in a folder beside the memory file,
// so that the next process maps it instead of making it again (docs/adr/0035). They are
// derived: whatever is wrong with them, the index is made from the records instead.
//
// Which segments a shard has is written in the memory file, so that both always are of one
// history: an older copy of the file that is put back knows nothing of newer segments.
const (
	shelfBook  = 16_384  // records of a segment that is made while a shard is loaded
	shelfLock  = "lock"  // file in the folder: one process at a time writes there
	bookSuffix = ".segm" // of segments
)

// keptFrom is the number of records of a shard from which its index is kept in files. It is
// a variable so that every test can be run with everything kept (-ldflags -X).
var keptFrom = "500"

// shelf is the folder of one memory file.
type shelf struct {
	dir  string
	from int   // see keptFrom
	book int   // see shelfBook
	most int64 // see bookBytes
	join int   // see index.LeastJoined
	free func(dir string) (bytes int64, known bool)

	mu      sync.Mutex
	lock    *flock.Flock
	holders int
	fresh   map[string]bool // segments that are not in the memory file yet
	trouble error           // why nothing is kept, as far as that is known
	wary    bool            // a segment was damaged: all of each is looked at when it is opened

	between func()           // unless nil: called between the two looks of [file.strays], by tests
	clean   map[string]int64 // up to where a manifest was seen to hold nothing erased; the tidier's own
	tidier
}

func (s *shelf) init(path string, o *Options) {
	s.dir = strings.TrimSuffix(path, ".db") + ".idx"
	s.book, s.most, s.join, s.free = shelfBook, bookBytes, cmp.Or(o.shelfJoin, index.LeastJoined), freeBytes
	s.from, _ = strconv.Atoi(keptFrom) // a number, whoever sets it
	if o.shelfFrom > 0 {
		s.from, s.book = o.shelfFrom, max(1, o.shelfBook)
	}
	s.fresh, s.clean = map[string]bool{}, map[string]int64{}
	s.tidier.init()
}

// A book is a segment that is mapped. The bytes stay as long as it is referred to, also
// when the file is removed meanwhile.
type book struct {
	name   string
	sum    uint32
	mapped *files.Mapping
}

// HeapBytes implements [index.Heaped].
func (b *book) HeapBytes() int64 { return b.mapped.HeapBytes() }

// hold makes this process the one that writes to the folder, until drop.
func (s *shelf) hold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders == 0 {
		ok, err := s.tryLock()
		if s.trouble = err; !ok {
			return false
		}
	}
	s.holders++
	return true
}

func (s *shelf) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders--; s.holders == 0 {
		s.trouble = s.lock.Close()
		s.lock = nil
	}
}

func (s *shelf) tryLock() (bool, error) {
	if !segment.Supported() {
		return false, errors.New("this machine cannot read it")
	}
	if err := os.Mkdir(s.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, oserror.Of("the folder "+s.dir+" cannot be made", err)
	}
	if err := s.isFolder(); err != nil {
		return false, err
	}
	s.lock = flock.New(filepath.Join(s.dir, shelfLock), flock.SetPermissions(0o600))
	ok, err := s.lock.TryLock()
	if err != nil {
		err = oserror.Of("the folder "+s.dir+" cannot be written to", err)
	}
	return ok && err == nil, err
}

// isFolder looks at what lies where the folder should: a link could lead anywhere.
func (s *shelf) isFolder() error {
	info, err := os.Lstat(s.dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder: remove it", s.dir)
	}
	return err
}

// put writes a segment and opens it. The caller holds the folder.
func (s *shelf) put(data []byte, origin segment.Origin) (*segment.Segment, *book, error) {
	if free, known := s.free(s.dir); known && free < ballastSize+ballastMargin+4*int64(len(data)) {
		return nil, nil, fmt.Errorf("the disk of %s has too little room", s.dir)
	}
	random := make([]byte, 12)
	_, _ = rand.Read(random) // never fails
	name := hex.EncodeToString(random) + bookSuffix
	s.mu.Lock()
	s.fresh[name] = true
	s.mu.Unlock()
	err := files.Write(filepath.Join(s.dir, name), data)
	if err == nil {
		var g *segment.Segment
		var b *book
		if g, b, err = s.open(name, origin, true); err == nil {
			return g, b, nil
		}
	}
	s.discard(name)
	return nil, nil, err
}

// openKept maps a segment that a manifest names.
func (s *shelf) openKept(k kept, origin segment.Origin) (*segment.Segment, *book, error) {
	s.mu.Lock()
	wary := s.wary
	s.mu.Unlock()
	g, b, err := s.open(k.Name, origin, wary)
	if err == nil && g.Sum != k.Sum { // one of another time, or of another name
		return nil, nil, segment.ErrUnusable
	}
	return g, b, err
}

// open maps a segment; see [files.Open].
func (s *shelf) open(name string, origin segment.Origin, whole bool) (*segment.Segment, *book, error) {
	if filepath.Base(name) != name {
		return nil, nil, segment.ErrUnusable
	}
	if err := s.isFolder(); err != nil {
		return nil, nil, err
	}
	g, m, err := files.Open(filepath.Join(s.dir, name), origin, whole)
	if err != nil {
		return nil, nil, err
	}
	return g, &book{name, g.Sum, m}, nil
}

// keep says that segments are in the memory file.
func (s *shelf) keep(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		delete(s.fresh, name)
	}
}

// discard removes segments that are in the memory file no more, or did not get there. One
// that stays is found again when the folder is tidied.
func (s *shelf) discard(names ...string) {
	for _, name := range names {
		_ = os.Remove(filepath.Join(s.dir, name))
	}
	s.keep(names)
}

// settled lists the segments in the folder that are not about to be named.
func (s *shelf) settled() (out []string, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) || s.isFolder() != nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, bookSuffix) && !s.fresh[name] {
			out = append(out, name)
		}
	}
	return out, err
}

// mapping runs what may read segments. If somebody cuts a file while it is mapped, its bytes
// are gone, which the system reports as a fault, and a part of it that is damaged shows when it is
// read: then the index begins again, from the records, and so does the call.
func (f *file) mapping(run func() error) error {
	fault, err := files.Faultless(run)
	if fault == nil {
		return err
	}
	f.faulted(fault)
	if fault, err = files.Faultless(run); fault != nil {
		return fault
	}
	return err
}

// faulted lets go of an index in whose segments something is wrong. Those are looked at whole from now on, so
// that the one which is damaged is not taken up again.
func (f *file) faulted(fault error) {
	f.logError("read a part of the index; it is made again", fault)
	f.shelf.mu.Lock()
	f.shelf.wary = true
	f.shelf.mu.Unlock()
	x := &f.search
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index = nil
	x.loading.Forget()
	x.account()
}
