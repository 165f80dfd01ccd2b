package sqlite

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci/store/internal/gaps"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// A wiping that looked at every page of the file would cost what is stored, not what is erased. So the file says which
// pages may have something to wipe, and whoever writes goes on from there (docs/adr/0192). What was written since is in
// the write-ahead log, whose index in memory names the page of each frame. It costs next to nothing to read that; what
// the pages hold is looked at by who wipes. Whenever it is not sure that every frame was seen, all pages may have
// something to wipe.

// touched are the pages that may have something to wipe. The writer alone uses it, except for the last fields.
type touched struct {
	known   bool           // no other page has anything to wipe
	pages   gaps.Set       // that may have something
	seen    rowcache.State // up to which the log was looked at
	mark    string         // what the file says of it, as it was left or found; empty: nothing
	size    int64          // how many pages the file has
	unsaid  int            // transactions until it is tried again to say it
	regions []uintptr      // of the index of the log
	log     *os.File       // the log
	inLog   map[uint32]uint32
	inLogTo rowcache.State // up to which the log was looked at for inLog: the last frame of each page
	wiped   []uint32       // in the transaction under way
	alone   bool           // which does nothing else
	resting *gaps.Set      // what the transaction under way writes, if it leaves the file at rest
	asked   int64          // for how many pages SQLite was asked

	cutting  sync.Mutex  // of who cuts the log, and of a commit until its frames were seen
	restless atomic.Bool // the file is large, and does not say what was written last
}

const (
	// smallFile is how many pages are looked at in some milliseconds. A file that has no more says nothing, and all of
	// its pages may have something to wipe.
	smallFile = 1024

	// mostNamed is how many pages a file names when it is closed. More are wiped before.
	mostNamed = 256

	// unsaidFor is how many transactions later it is tried again to name pages that had no room.
	unsaidFor = 64
)

// begun looks, at the beginning of a transaction, at what was written since the last one, by whomever, and has the
// file say so where it would be wrong afterwards. found is what it says.
func (p *touched) begun(t *tx, found []byte) error {
	p.resting, p.wiped = nil, p.wiped[:0]
	now, whole := t.f.rows.Look()
	if p.size = int64(now.Pages()); p.size == 0 { // the log is new
		if err := t.row("SELECT page_count FROM pragma_page_count", nil, &p.size); err != nil {
			return err
		}
	}
	p.known = p.known && whole && p.catchUp(t, now)
	if !p.known && whole {
		p.learn(t, now, found)
	}
	if !p.known || p.size <= smallFile {
		return p.say(t, found, nil)
	}
	begins := now.Frames() == 0 || t.f.head.moved() >= now.Frames() // the transaction may begin the log again
	if text := string(found); text != p.mark {
		p.mark, p.unsaid = "", 0
		if m, ok := gaps.MarkOf(found); ok && !m.Rest {
			if _, stands := p.stands(t, &m, now); stands {
				p.mark = text
			}
		}
	}
	if p.mark != "" && !begins {
		return nil
	}
	if p.unsaid--; len(found) == 0 && p.unsaid > 0 {
		return nil
	}
	return p.name(t, found)
}

// name has the file say what is known at the beginning of the transaction, if that has room.
func (p *touched) name(t *tx, found []byte) error {
	m := gaps.NewMark()
	m.Log, m.Frames, m.Unwiped = p.seen.Log(), p.seen.Frames(), p.pages
	b, fits := m.Bytes()
	if !fits {
		b, p.unsaid = nil, unsaidFor
	}
	return p.say(t, found, b)
}

// say has the file say which pages may have something to wipe, or nothing. A file has one mark of one size, so that the
// next one takes its place; earlier builds have a name of a process there, and take away what is not their own.
func (p *touched) say(t *tx, found, mark []byte) error {
	p.mark = string(mark)
	if len(found) == 0 && len(mark) == 0 {
		return nil
	}
	if len(mark) == 0 {
		return t.exec("UPDATE meta SET value = x'' WHERE key = 'follower'")
	}
	const query = "INSERT INTO meta (key, value) VALUES ('follower', ?1) ON CONFLICT (key) DO UPDATE SET value = ?1"
	err := t.exec(query, mark)
	if isFull(err) { // who deletes to make room needs none for this
		return p.say(t, []byte{0}, nil)
	}
	return err
}

// catchUp takes in what was written since; false: not all of it is there.
func (p *touched) catchUp(t *tx, now rowcache.State) bool {
	switch {
	case now.Log() == p.seen.Log():
		if now.Frames() < p.seen.Frames() || !p.add(t, p.seen.Frames(), now.Frames()) {
			return false
		}
	case now.Changes() != p.seen.Changes() || now.Frames() > 0:
		return false // somebody wrote to the log before, or to this one
	}
	p.seen = now
	return true
}

// learn begins with what the file says, at the beginning of a transaction.
func (p *touched) learn(t *tx, now rowcache.State, found []byte) {
	p.pages, p.seen = gaps.Set{}, now
	if m, ok := gaps.MarkOf(found); ok {
		if from, stands := p.stands(t, &m, now); stands {
			p.pages = m.Unwiped
			p.known = p.add(t, from, now.Frames())
		}
	}
	if !p.known && p.size <= smallFile {
		p.all()
	}
}

// all begins with all pages that there are.
func (p *touched) all() {
	p.pages, p.known = gaps.Set{}, true
	p.pages.AddTo(uint32(p.size))
}

// learnAll begins with all pages; false: it cannot be seen what is written from now on.
func (p *touched) learnAll(t *tx) bool {
	now, whole := t.f.rows.Look()
	if whole {
		p.seen = now
		p.all()
	}
	return whole
}

// stands reports whether a mark says what is so, and behind which frame of the log is what was written since.
func (p *touched) stands(t *tx, m *gaps.Mark, now rowcache.State) (from uint32, stands bool) {
	switch log := now.Log(); {
	case m.Rest:
		shape, err := t.shape()
		return now.Frames(), err == nil && shape == m.Shape
	case m.Frames > 0 && m.Log == log: // a log without frames may have no name yet
		return m.Frames, m.Frames <= now.Frames()
	default:
		return 0, p.beganLog(t, m, now)
	}
}

// beganLog reports whether the log began with the transaction that wrote a mark, which could not know its name.
func (p *touched) beganLog(t *tx, m *gaps.Mark, now rowcache.State) bool {
	log := now.Log()
	next := binary.BigEndian.Uint32(m.Log[:]) + 1
	if m.Frames > 0 && next != binary.BigEndian.Uint32(log[:]) || !p.openLog(t) {
		return false // another log came between them
	}
	frame := make([]byte, frameHeader+pageSize)
	for n := range min(now.Frames(), mostFirst) {
		_, err := p.log.ReadAt(frame, logHeader+int64(n)*int64(len(frame)))
		if err != nil || [8]byte(frame[8:16]) != log {
			return false
		}
		if bytes.Contains(frame[frameHeader:], m.Nonce[:]) {
			return true
		}
		if binary.BigEndian.Uint32(frame[4:]) != 0 {
			return false // the end of the first commit
		}
	}
	return false
}

// mostFirst is how many frames of the first commit of a log are looked at: they rise by the numbers of their pages,
// and that of a mark is low.
const mostFirst = 256

// shape is that of the file, as the transaction has it.
func (t *tx) shape() (gaps.Shape, error) {
	var first []byte
	var pages int64
	const query = "SELECT substr(data, 1, 100), (SELECT page_count FROM pragma_page_count) FROM sqlite_dbpage WHERE pgno = 1"
	if err := t.row(query, nil, &first, &pages); err != nil {
		return gaps.Shape{}, err
	}
	return gaps.ShapeOf(first, uint32(pages))
}

// committed takes in what a commit wrote. Nobody of this process has cut the log since it began.
func (p *touched) committed(t *tx) {
	if !p.known {
		return
	}
	before := p.seen
	now, whole := t.f.rows.Look()
	switch {
	case !whole:
		p.known = false
	case now.Log() == before.Log():
		p.known = p.catchUp(t, now)
	case now.Changes() == before.Changes()+1 && now.Frames() > 0: // the commit began the log again
		p.seen = now
		p.known = p.add(t, 0, now.Frames())
	default:
		p.known = p.catchUp(t, now)
	}
	if p.known && p.alone {
		for _, page := range p.wiped { // else they may have been written since
			p.pages.Remove(page)
		}
	}
	if then, whole := t.f.rows.Look(); p.known && (!whole || then.Log() != now.Log()) {
		p.known = false // somebody began the log again while it was looked at
	}
	if now.Changes() == before.Changes() {
		return
	}
	from := before.Frames()
	if now.Log() != before.Log() {
		from = 0
	}
	rests := p.known && p.resting != nil && now.Changes() == before.Changes()+1
	if rests {
		seen := p.eachFrame(t, from, now.Frames(), func(_, page uint32) { rests = rests && p.resting.Has(page) })
		rests = rests && seen
	}
	p.restless.Store(!rests && now.Pages() > smallFile)
}

// The layout of the index of a write-ahead log, from SQLite's documentation: regions of 32 KiB, of which the first one
// begins with two copies of the header and what is known of merging. Then each has the pages of some frames.
const (
	logMoved      = 24   // the number of frames that are in the file, in words
	firstFrames   = 34   // where those of the first region begin, in words
	regionFrames  = 4096 // of each other region
	framesOfFirst = 4096 - firstFrames
)

// moved is how many frames of the log are in the file.
func (h logHead) moved() uint32 { return h.word(logMoved) }

func (h logHead) word(at uint32) uint32 {
	return atomic.LoadUint32((*uint32)(foreign(uintptr(h) + 4*uintptr(at))))
}

// add adds the pages of frames of the log behind one.
func (p *touched) add(t *tx, after, to uint32) bool {
	return p.eachFrame(t, after, to, func(_, page uint32) { p.pages.Add(page) })
}

// eachFrame calls yield with frames of the log behind one and their pages; false: the index does not say them all.
func (p *touched) eachFrame(t *tx, after, to uint32, yield func(frame, page uint32)) bool {
	for n := after + 1; n <= to; n++ {
		region, at := uint32(0), firstFrames+n-1
		if n > framesOfFirst {
			region, at = 1+(n-framesOfFirst-1)/regionFrames, (n-framesOfFirst-1)%regionFrames
		}
		begin := p.region(t, int(region))
		if begin == 0 {
			return false
		}
		page := begin.word(at)
		if page == 0 {
			return false
		}
		yield(n, page)
	}
	return true
}

// region is where a region of the index of the log is; 0: nowhere. It stays there while the connection is open.
func (p *touched) region(t *tx, n int) logHead {
	if n == 0 {
		return t.f.head
	}
	for len(p.regions) < n {
		var at int64
		if err := t.row("SELECT "+regionFunction+"(?)", []any{len(p.regions) + 1}, &at); err != nil || at == 0 {
			return 0
		}
		p.regions = append(p.regions, uintptr(at))
	}
	return logHead(p.regions[n-1])
}

// The layout of a write-ahead log, from SQLite's file format: a header, then frames, each of a header and a page. A
// frame's header has the page's number at 0, the size of the file if it ends a commit at 4, the name of the log at 8.
const (
	logHeader   = 32
	frameHeader = 24
)

// openLog opens the log, unless it is open. Without it SQLite is asked for what it holds.
func (p *touched) openLog(t *tx) bool {
	if p.log == nil {
		log, err := os.Open(t.f.path + "-wal")
		if err != nil {
			t.f.log.Debug("the log is not read", "file", t.f.path, "error", err)
			return false
		}
		p.log = log
	}
	return true
}

// lookInLog finds the last frame of each page of the log, at the beginning of a transaction.
func (p *touched) lookInLog(t *tx) bool {
	from := p.inLogTo.Frames()
	if p.inLog == nil || p.inLogTo.Log() != p.seen.Log() || from > p.seen.Frames() {
		p.inLog, from = map[uint32]uint32{}, 0
	}
	p.inLogTo = p.seen
	return p.eachFrame(t, from, p.seen.Frames(), func(frame, page uint32) { p.inLog[page] = frame })
}

// cleanInLog reports whether a frame has a page that has nothing to wipe; false also where that cannot be seen.
func (p *touched) cleanInLog(t *tx, frame, page uint32, room []byte) bool {
	if !p.openLog(t) {
		return false
	}
	_, err := p.log.ReadAt(room, logHeader+int64(frame-1)*int64(len(room)))
	return err == nil && binary.BigEndian.Uint32(room) == page && [8]byte(room[8:16]) == p.seen.Log() &&
		!needsWipe(int64(page), room[frameHeader:])
}

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

// unwipedFunction looks at so many pages from a number on, as the file has them. It returns a zero byte, and those that
// have something to wipe, each as its place behind the first one, in two bytes; NULL: the file cannot be read in this way.
const unwipedFunction = "loci_unwiped"

const (
	readPages = 256  // that are read at once
	readApart = 8    // how far one is from the next one, at most, to be read with it
	lookSlice = 4096 // pages of a slice that has little to wipe, which take as long as wipeSome of others
)

// wipeSlice wipes some of the pages that may have something to wipe, as they are at the beginning of the transaction,
// or all of them. Those that have nothing are known from then on. done: it was the rest of them.
func (t *tx) wipeSlice(all bool, most int) (done bool, err error) {
	p := &t.f.touched
	if !p.lookInLog(t) {
		p.known = false
		return true, t.wipePages()
	}
	room := make([]byte, frameHeader+pageSize)
	for looked, wiped, next := 0, 0, p.pages.Next(1); next != 0; {
		if !all && (looked >= most || wiped >= wipeSome) {
			return false, nil
		}
		some := make(map[uint32]bool, readPages) // whether it is to be asked for
		first, last := next, next
		inFile := false
		for before := first; next != 0 && next-first < readPages && next-before <= readApart; {
			before = next
			frame := p.inLog[next]
			some[next] = frame == 0 || !p.cleanInLog(t, frame, next, room)
			if inFile = inFile || frame == 0; frame == 0 {
				last = next
			}
			looked++
			next = p.pages.Next(next + 1)
		}
		if inFile {
			if err := t.wipeRead(first, last, some); err != nil {
				return false, err
			}
		}
		for page, unwiped := range some {
			if !unwiped {
				p.pages.Remove(page)
				continue
			}
			wiped++
			if err := t.wipePage(int64(page)); err != nil {
				return false, err
			}
			p.wiped = append(p.wiped, page)
		}
	}
	return true, nil
}

// wipeRead looks at pages in the file, and says of those that are not in the log which need no wiping.
func (t *tx) wipeRead(first, last uint32, some map[uint32]bool) error {
	var list []byte
	const query = "SELECT " + unwipedFunction + "(?, ?) FROM pragma_page_size WHERE page_size = ?"
	if err := t.row(query, []any{first, last - first + 1, pageSize}, &list); err != nil || list == nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return err // each is asked for
	}
	unwiped := make(map[uint32]bool, len(list)/2)
	for list = list[1:]; len(list) > 1; list = list[2:] {
		unwiped[first+uint32(binary.BigEndian.Uint16(list))] = true
	}
	for page := range some {
		if t.f.touched.inLog[page] == 0 {
			some[page] = unwiped[page]
		}
	}
	return nil
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
	list := make([]byte, 1, 1+2*n) // SQLite has no bytes that are none
	for i := range n {
		if needsWipe(first+i, pages[i*pageSize:(i+1)*pageSize]) {
			list = binary.BigEndian.AppendUint16(list, uint16(i))
		}
	}
	size := copy(pages, list)
	sqlite3.Xsqlite3_result_blob(tls, call, room, int32(size), sqlite3.SQLITE_TRANSIENT)
}
