package sqlite

import (
	"context"
	"sync/atomic"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loci-memory/loci/store/internal/rowcache"
)

// What was read of a file is kept in the process, see package rowcache. Two things of SQLite's own say how long: the
// header of the index of its write-ahead log, by which SQLite itself sees whether a file is as it was, and the update
// hook, which names each row that a statement of the writer changes, whichever statement that is. (Of what REPLACE
// removes the hook says nothing; no statement of ours replaces records.)

// keptMemory is how many bytes of rows a store keeps, of all files together.
const keptMemory = 6 << 20

// watchFunction has the connection that calls it tell a [rowcache.File], whose number it gets, what it changes.
// It returns where the header lies; 0: nowhere.
const watchFunction = "loci_watch"

// handleFunction returns where SQLite has the connection that calls it.
const handleFunction = "loci_handle"

// regionFunction returns where a region of the index of the write-ahead log lies; 0: nowhere.
const regionFunction = "loci_log_region"

// watched are those that are told, by number.
var watched numbered[*rowcache.File]

// A logHead is where the header of the index of a write-ahead log lies. The memory is there until the connection
// that it was asked from is closed.
type logHead uintptr

// Numbers in the header, from SQLite's file format: its version, and beside the size of a page whether it is whole.
const (
	headVersion = 0
	headWhole   = 3

	knownVersion = 3007000
)

// look reads the header, of which there are two copies. A commit writes the second one first; where they differ,
// one is under way.
func (h logHead) look() (now rowcache.State, known bool) {
	if h == 0 {
		return now, false
	}
	copies := (*[2]rowcache.State)(foreign(uintptr(h)))
	for i := range now {
		now[i] = atomic.LoadUint32(&copies[0][i])
	}
	for i := range now {
		if atomic.LoadUint32(&copies[1][i]) != now[i] {
			return now, false
		}
	}
	return now, now[headVersion] == knownVersion && now[headWhole] != 0
}

// watch begins to keep what is read of the file.
func (f *file) watch(ctx context.Context) error {
	var head logHead
	f.rows = f.pool.Open(func() (rowcache.State, bool) { return head.look() })
	f.watching = watched.enter(f.rows)
	var at, db int64
	const query = "SELECT " + watchFunction + "(?), " + handleFunction + "() FROM meta WHERE key = 'seq'" // of a table, so that the log is open
	err := f.writeConn.QueryRowContext(ctx, query, f.watching).Scan(&at, &db)
	head, f.handle = logHead(at), uintptr(db)
	f.head = head
	return err
}

// unwatch is called before the connections are closed.
func (f *file) unwatch() {
	if f.rows != nil {
		f.rows.Close()
		watched.leave(f.watching)
		f.rows = nil
	}
}

// A changedAt is the number of the last change of a file in one of its states.
type changedAt struct {
	state rowcache.State
	seq   int64
}

// changed is the number of the last change of the file, which is read where the file is not as it was when it was
// read last.
func (f *file) changed(ctx context.Context) (seq int64, err error) {
	now, known := f.rows.Look()
	if last := f.last.Load(); known && last != nil && last.state == now {
		return last.seq, nil
	}
	if err := f.readRow(ctx, "SELECT value FROM meta WHERE key = 'seq'", nil, &seq); err != nil {
		return 0, err
	}
	if then, still := f.rows.Look(); known && still && then == now {
		f.last.Store(&changedAt{now, seq})
	}
	return seq, nil
}

// watchStep is called by SQLite for watchFunction.
func watchStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	number, _ := row.integer(0)
	if watched.find(number) == nil {
		sqlite3.Xsqlite3_result_error_code(tls, call, sqlite3.SQLITE_ABORT)
		return
	}
	db := sqlite3.Xsqlite3_context_db_handle(tls, call)
	sqlite3.Xsqlite3_update_hook(tls, db, address(rowChanged), uintptr(number))
	sqlite3.Xsqlite3_result_int64(tls, call, int64(headOf(tls, db, 0)))
}

// regionStep is called by SQLite for regionFunction.
func regionStep(tls *libc.TLS, call uintptr, columns int32, values uintptr) {
	row := lentRow{tls, unsafe.Slice((*uintptr)(foreign(values)), columns)}
	n, _ := row.integer(0)
	db := sqlite3.Xsqlite3_context_db_handle(tls, call)
	sqlite3.Xsqlite3_result_int64(tls, call, int64(headOf(tls, db, int32(n))))
}

// handleStep is called by SQLite for handleFunction.
func handleStep(tls *libc.TLS, call uintptr, _ int32, _ uintptr) {
	sqlite3.Xsqlite3_result_int64(tls, call, int64(sqlite3.Xsqlite3_context_db_handle(tls, call)))
}

// mainFile is the file of a connection, as SQLite has it, with what reads it; nil: it is not told.
func mainFile(tls *libc.TLS, db uintptr) (file uintptr, methods *sqlite3.Tsqlite3_io_methods) {
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	room := tls.Alloc(pointer)
	defer tls.Free(pointer)
	at := (*uintptr)(foreign(room))
	*at = 0
	got := sqlite3.Xsqlite3_file_control(tls, db, 0, sqlite3.SQLITE_FCNTL_FILE_POINTER, room)
	if got != sqlite3.SQLITE_OK || *at == 0 {
		return 0, nil
	}
	found := (*sqlite3.Tsqlite3_file)(foreign(*at)).FpMethods
	if found == 0 {
		return 0, nil
	}
	return *at, (*sqlite3.Tsqlite3_io_methods)(foreign(found))
}

// headOf asks SQLite where it has a region of the index of a connection's log, of which the first begins with its header.
func headOf(tls *libc.TLS, db uintptr, n int32) uintptr {
	file, m := mainFile(tls, db)
	if m == nil || m.FiVersion < 2 || m.FxShmMap == 0 {
		return 0
	}
	const pointer = int(unsafe.Sizeof(uintptr(0)))
	room := tls.Alloc(pointer)
	defer tls.Free(pointer)
	memory := (*uintptr)(foreign(room))
	*memory = 0
	const region = 32 << 10 // as SQLite maps it
	shmMap := *(*func(*libc.TLS, uintptr, int32, int32, int32, uintptr) int32)(
		unsafe.Pointer(&struct{ uintptr }{m.FxShmMap}))
	if shmMap(tls, file, n, region, 0, room) != sqlite3.SQLITE_OK {
		return 0
	}
	return *memory
}

// rowChanged is called by SQLite for each row that a connection changes.
func rowChanged(_ *libc.TLS, number uintptr, op int32, _, table uintptr, row int64) {
	f := watched.find(int64(number))
	if f == nil {
		return
	}
	switch {
	case isName(table, "record"):
		f.Touched(row)
	case isName(table, "namespace") && op != sqlite3.SQLITE_INSERT: // each of its rows shows it
		f.TouchedAll()
	}
}

// isName compares a text of SQLite's, which a zero byte ends.
func isName(text uintptr, name string) bool {
	for i := range len(name) {
		if *(*byte)(foreign(text + uintptr(i))) != name[i] {
			return false
		}
	}
	return *(*byte)(foreign(text + uintptr(len(name)))) == 0
}
