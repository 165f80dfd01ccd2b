package sqlite

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// A wiping that looked at every page of the file would cost what is stored, not what is
// erased. So once a file was wiped as a whole, its pages are followed: what no
// transaction has written since has nothing in its gaps, and what was written is in the
// write-ahead log, whose frames have the pages as they are then: most have nothing to
// wipe. Whenever it is not sure that every frame was seen, the whole file is wiped again.

// touched are the pages that have something to wipe since they were last wiped. The writer alone uses it,
// except for the counts of cuts.
type touched struct {
	following bool               // every frame since the beginning was seen
	whole     bool               // and each page was wiped once since
	pages     map[int64]struct{} // whose last frame has something to wipe, by number
	wiped     []int64            // in the transaction under way
	token     []byte             // in the file as long as nobody else writes to it
	version   int64              // of the data, which changes when others write
	log       *os.File           // the write-ahead log
	place     logPlace           // up to which its frames were seen
	frames    []byte             // room to read some
	asked     int64              // for how many pages SQLite was asked

	cut, seen atomic.Int64 // how often this process began or ended to cut the log, and how much of that was noticed
}

// logPlace is a place in a write-ahead log.
type logPlace struct {
	salts  [8]byte
	frames int64
	last   [frameHeader]byte // of the frame before the place
}

// The layout of a write-ahead log, from SQLite's file format: a header with the size of a
// page at 8 and the salts at 16, then frames, each of a header and a page. A frame's header
// has the page's number at 0, the size of the file if it ends a commit at 4, the salts at 8.
const (
	logHeader   = 32
	frameHeader = 24
)

// follow begins again: a wiping of the file is about to start. Where the log cannot
// be read nothing is followed.
func (p *touched) follow(t *tx) error {
	if p.token == nil {
		p.token = make([]byte, 16)
		_, _ = rand.Read(p.token) // never fails
	}
	if p.log == nil {
		log, err := os.Open(t.f.path + "-wal")
		if err != nil {
			t.f.log.Debug("the log is not followed", "file", t.f.path, "error", err)
			return nil
		}
		p.log = log
	}
	p.following, p.whole, p.pages, p.place = true, false, map[int64]struct{}{}, logPlace{}
	return t.exec("INSERT INTO meta (key, value) VALUES ('follower', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1", p.token)
}

// lose forgets all: it is not sure any more what was written.
func (p *touched) lose() { p.following, p.whole, p.pages, p.wiped = false, false, nil, nil }

// check looks at the beginning of a transaction whether this process alone has written
// since the last one. Every build that follows pages takes the token of another one away
// when it writes; an older build changes the version of the data, as cutting the log does.
func (p *touched) check(t *tx, token []byte, version int64) error {
	mine := p.token != nil && string(token) == string(p.token)
	cut := p.cut.Load()
	if p.following && (!mine || version != p.version && cut == p.seen.Load()) {
		p.lose()
	}
	p.version = version
	p.seen.Store(cut)
	if len(token) > 0 && !mine {
		return t.exec("UPDATE meta SET value = x'' WHERE key = 'follower'")
	}
	return nil
}

// committed takes in what a commit wrote.
func (p *touched) committed() {
	if !p.following {
		return
	}
	for _, n := range p.wiped {
		delete(p.pages, n)
	}
	p.wiped = p.wiped[:0]
	if err := p.harvest(); err != nil {
		p.lose()
	}
}

// errLog says that a log is not as it was left.
var errLog = errors.New("the write-ahead log is not the one that was followed")

// harvest reads the frames that came to the log.
func (p *touched) harvest() error {
	var header [logHeader]byte
	if n, err := p.log.ReadAt(header[:], 0); n == 0 && errors.Is(err, io.EOF) {
		return nil // it was cut, and the commit had nothing to write
	} else if err != nil {
		return err
	}
	size := frameHeader + int64(binary.BigEndian.Uint32(header[8:]))
	if salts := [8]byte(header[16:24]); salts != p.place.salts {
		p.place = logPlace{salts: salts} // the commit began the log again
	}
	var frame [frameHeader]byte
	if p.place.frames > 0 {
		_, err := p.log.ReadAt(frame[:], logHeader+(p.place.frames-1)*size)
		if err != nil || frame != p.place.last {
			return errors.Join(errLog, err)
		}
	}
	if int64(len(p.frames)) != readFrames*size {
		p.frames = make([]byte, readFrames*size)
	}
	written := map[int64]bool{} // what the commit under way wrote, and whether it has anything to wipe
	for n := p.place.frames; ; {
		got, err := p.log.ReadAt(p.frames, logHeader+n*size)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return err
		}
		for frames := p.frames[:got]; ; frames = frames[size:] {
			if int64(len(frames)) < size {
				break
			}
			if [8]byte(frames[8:16]) != p.place.salts {
				return nil
			}
			n++
			number := int64(binary.BigEndian.Uint32(frames))
			written[number] = needsWipe(number, frames[frameHeader:size])
			if binary.BigEndian.Uint32(frames[4:]) == 0 {
				continue
			}
			for number, unwiped := range written {
				if unwiped {
					p.pages[number] = struct{}{}
				} else {
					delete(p.pages, number)
				}
			}
			clear(written)
			p.place.frames, p.place.last = n, [frameHeader]byte(frames)
		}
		if end {
			return nil
		}
	}
}

// readFrames is how many frames of the log are read at once: about as many as one small change writes.
const readFrames = 8

func (p *touched) close() error {
	if p.log == nil {
		return nil
	}
	return p.log.Close()
}

// Most pages have nothing to wipe, but SQLite takes a statement and a read of the file to show one. So a wiping of the
// whole file looks at the pages in the file itself, many at once. Those that are not there as they are now are in the
// log: they are followed, and wiped afterwards. Only the connection's own handle reads the file: closing another one
// would end the locks that SQLite has on it.

// unwipedFunction looks at so many pages from a number on, as the file has them. It returns those that have something
// to wipe, each as its place behind the first one, in two bytes; NULL: the file cannot be read in this way.
const unwipedFunction = "loci_unwiped"

const (
	readPages = 256  // that are read at once
	lookSlice = 4096 // pages of a slice that has little to wipe, which take as long as wipeSome of others
)

// wipeSlice wipes a slice of the pages from one to before another one, and returns with which the next one begins.
func (t *tx) wipeSlice(first, end int64) (next int64, err error) {
	for from, wiped := first, 0; first < end && first-from < lookSlice && wiped < wipeSome; {
		n := min(end-first, readPages)
		done, err := t.wipeRead(first, n)
		if err != nil {
			return 0, err
		}
		wiped, first = wiped+done, first+n
	}
	return first, nil
}

// wipeRead wipes pages which the file has as they are, or which are followed.
func (t *tx) wipeRead(first, n int64) (wiped int, err error) {
	var list []byte
	err = t.row("SELECT "+unwipedFunction+"(?, ?) FROM pragma_page_size WHERE page_size = ?", []any{first, n, pageSize}, &list)
	if err != nil {
		return 0, err
	}
	if list == nil {
		return int(n), t.wipeRange(first, first+n)
	}
	for ; len(list) > 1; list = list[2:] {
		wiped++
		if err := t.wipePage(first + int64(binary.BigEndian.Uint16(list))); err != nil {
			return 0, err
		}
	}
	return wiped, nil
}

// unwipedStep is called by SQLite for unwipedFunction.
func unwipedStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	first, _ := row.integer(0)
	n, _ := row.integer(1)
	if first < 1 || n < 1 || n > readPages {
		return // NULL
	}
	file, methods := mainFile(tls, sqlite3.Xsqlite3_context_db_handle(tls, call))
	if methods == nil || methods.FxRead == 0 {
		return
	}
	room := libc.Xmalloc(tls, libc.Tsize_t(n*pageSize))
	if room == 0 {
		return
	}
	defer libc.Xfree(tls, room)
	type reader = func(*libc.TLS, uintptr, uintptr, int32, int64) int32
	read := *(*reader)(unsafe.Pointer(&struct{ uintptr }{methods.FxRead}))
	switch read(tls, file, room, int32(n*pageSize), (first-1)*pageSize) {
	case sqlite3.SQLITE_OK, sqlite3.SQLITE_IOERR_SHORT_READ: // the last pages may be in the log alone; it fills with zeros
	default:
		return
	}
	pages := unsafe.Slice((*byte)(foreign(room)), n*pageSize)
	list := make([]byte, 0, 2*n)
	for i := range n {
		if needsWipe(first+i, pages[i*pageSize:(i+1)*pageSize]) {
			list = binary.BigEndian.AppendUint16(list, uint16(i))
		}
	}
	size := copy(pages, list)
	sqlite3.Xsqlite3_result_blob(tls, call, room, int32(size), sqlite3.SQLITE_TRANSIENT)
}
