package sqlite

import (
	"encoding/binary"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

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
	read := *(*func(*libc.TLS, uintptr, uintptr, int32, int64) int32)(unsafe.Pointer(&struct{ uintptr }{methods.FxRead}))
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
