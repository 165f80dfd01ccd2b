package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"reflect"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/page"
)

// Files are listed a thousand at a time, and SQLite takes longer to find a column of a record than Go to use it. So the
// table file_list has all that a list shows of a file in one value, in the order of lists, and a list reads nothing else
// (docs/adr/0199). Triggers keep it, and where they rest [tx.listFiles] and [tx.eraseMany].

// listedKind is the kind of records that the table is of.
const listedKind loci.Kind = "file"

// wideValue is that of a record r whose value the table does not have.
const wideValue = `CAST('w' || unhex(printf('%016x%02x%016x%016x%016x%016x%016x%08x%08x', r.namespace,
	(r.live <> 0) + 2 * (r.expires_at IS NOT NULL) + 4 * (r.ends_at IS NOT NULL),
	r.version, r.created_at, r.updated_at, r.expires_at, r.ends_at, length(r.slot), octet_length(r.status)))
	|| r.id || r.slot || coalesce(r.status, '') || coalesce(r.attributes, x'') AS BLOB)`

// listed are the columns of a file in the list, as file_listed has them.
func listed(r *loci.Record, number, namespace int64) []any {
	key := fileKey(namespace, []byte(r.Slot))
	if !r.Live || !r.ExpiresAt.IsZero() || !r.EndsAt.IsZero() || len(r.Slot)+len(r.Status)+len(r.Attributes) > 500 {
		return []any{key, nil, number}
	}
	value := make([]byte, 0, fileNumbers+len(r.ID)+len(r.Slot)+len(r.Status)+len(r.Attributes))
	for _, n := range []int64{namespace, r.Version, r.CreatedAt.UnixMilli(), r.UpdatedAt.UnixMilli()} {
		value = binary.BigEndian.AppendUint64(value, uint64(n))
	}
	value = binary.BigEndian.AppendUint16(value, uint16(len(r.Slot)))
	value = binary.BigEndian.AppendUint16(value, uint16(len(r.Status)))
	value = append(append(value, r.ID[:]...), r.Slot...)
	return []any{key, append(append(value, r.Status...), r.Attributes...), number}
}

const listedColumns = 3

var listedRows = insertOf{head: "INSERT INTO file_list (key, value, n) VALUES ", row: "(?, ?, ?)"}

// listFiles lists files that were added or moved without the triggers, of which it gets the columns.
func (t *tx) listFiles(columns []any) error {
	for rest := columns; len(rest) > 0; {
		n := listedColumns * rowsAtOnce(len(rest)/listedColumns)
		if err := t.exec(listedRows.of(n/listedColumns), rest[:n]...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// fileKey is what files are listed by.
func fileKey(namespace int64, slot []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(slot)), uint64(namespace)), slot...)
}

// listedFiles are files as they are listed: their numbers, and the keys of these.
type listedFiles struct {
	numbers []int64
	keys    [][]byte
}

func (l *listedFiles) add(number, namespace int64, slot []byte) {
	l.numbers, l.keys = append(l.numbers, number), append(l.keys, fileKey(namespace, slot))
}

// unlistFiles takes files out of the list that go or move without the triggers. Of a directory they mostly lie together:
// then they are asked for by what they lie between, and by numbers that nothing else has.
func (t *tx) unlistFiles(l *listedFiles) error {
	if len(l.keys) == 0 {
		return nil
	}
	slices.Sort(l.numbers)
	slices.SortFunc(l.keys, bytes.Compare)
	between := []any{l.keys[0], l.keys[len(l.keys)-1]}
	var there int
	err := t.row("SELECT count(*) FROM (SELECT 1 FROM file_list WHERE key BETWEEN ? AND ? LIMIT +?)",
		append(between, 2*len(l.keys)), &there)
	if err != nil {
		return err
	}
	if there < 2*len(l.keys) {
		return byRuns(l.numbers, func(where string, args []any) error {
			return t.exec("DELETE FROM file_list WHERE key BETWEEN ? AND ? AND n"+where, append(between, args...)...)
		})
	}
	keys := make([]any, len(l.keys))
	for i, key := range l.keys {
		keys[i] = key
	}
	keys = padded(keys)
	return t.exec("DELETE FROM file_list WHERE key"+in(len(keys)), keys...)
}

// wrongFiles counts files that are not listed as they are, and what is listed and no file.
const wrongFiles = `SELECT count(*) + (SELECT count(*) FROM file_list) - (SELECT count(*) FROM file_listed JOIN file_list USING (key))
	FROM file_listed r LEFT JOIN file_list l USING (key) WHERE l.n IS NOT r.n OR l.value IS NOT r.value`

// checkFiles lists files again where what is listed is wrong: it follows from the records.
func (f *file) checkFiles(ctx context.Context, findings []string) ([]string, error) {
	var wrong int64
	if err := f.readRow(ctx, wrongFiles, nil, &wrong); err != nil || wrong == 0 {
		return findings, err
	}
	return append(findings, form.FileListFault(wrong)), f.write(ctx, func(t *tx) error {
		err := t.exec("DELETE FROM file_list")
		if err == nil {
			err = t.exec("INSERT INTO file_list SELECT * FROM file_listed")
		}
		return err
	})
}

// listsFiles reports whether a page is one of files by slot, whose filter asks for nothing but what the table has.
func listsFiles(columns string, filter *loci.Filter, order loci.Order) bool {
	if columns != briefColumns || order != loci.SlotAscending || filter.Kinds[0] != listedKind {
		return false
	}
	plain := loci.Filter{Within: filter.Within, Exact: true, Kinds: filter.Kinds, Slots: filter.Slots,
		Statuses: filter.Statuses, At: filter.At, NotLive: filter.NotLive}
	return reflect.DeepEqual(*filter, plain)
}

// files is briefs for such a page.
func (f *file) files(ctx context.Context, filter *loci.Filter, after *page.Record, rows briefRows) error {
	files := &fileRows{briefRows: rows, statuses: filter.Statuses, gone: filter.NotLive, to: filter.Slots.To}
	if files.at = math.MinInt64; !filter.At.IsZero() {
		files.at = filter.At.UnixMilli()
	}
	return f.taken(ctx, files, func(number int64) (string, []any) { return filesQuery(filter, after, number) })
}

// filesQuery gives the files of a place to a taker, from the first of a page on. The taker is told the number of the
// place, and sees by itself where the page ends: SQLite would take a fifth of the time to compare each file with a bound.
func filesQuery(filter *loci.Filter, after *page.Record, number int64) (query string, args []any) {
	from, begins := filter.Slots.From, " >= "
	if after != nil && after.Slot >= from {
		from, begins = after.Slot, " > "
	}
	return "SELECT " + takeFunction + "(?1, coalesce(value, (SELECT " + wideValue + " FROM record r WHERE r.n = file_list.n)))" +
			" FROM file_list WHERE key" + begins + "(SELECT CAST(unhex(printf('%016x', " + placeFunction + "(?1, n))) || ?2 AS BLOB)" +
			" FROM namespace WHERE key = ?3)",
		[]any{number, []byte(from), []byte(filter.Within[0].Key())}
}

// A fileRows takes the rows of one page of files.
type fileRows struct {
	briefRows
	statuses []string // of those that are wanted; none: all are
	gone     bool     // those that are no longer live are, too
	at       int64    // when
	to       string   // where slots end; empty: nowhere
	place    int64    // the number of the namespace
}

// placed implements [placed].
func (f *fileRows) placed(number int64) { f.place = number }

// take implements [taker].
func (f *fileRows) take(row lentRow) bool {
	f.ended = errBrief
	if value, ok := row.bytes(0); ok {
		f.ended = f.next(value)
	}
	return f.ended == nil
}

// A listedFile is what comes before the bytes of a value: its numbers.
type listedFile struct {
	place                     int64
	live                      bool
	version, created, updated int64
	expires, ends             int64 // math.MaxInt64: never
	slot, status              int   // bytes
}

// Bytes of the numbers in values.
const (
	fileNumbers = 4*8 + 2*2
	wideNumbers = 1 + 8 + 1 + 5*8 + 2*4 // behind wideBegins
)

// wideBegins is what a wide value begins with, and no number of a namespace.
const wideBegins = 'w'

// read takes the numbers from a value and leaves its bytes.
func (l *listedFile) read(value []byte) (rest []byte, ok bool) {
	if len(value) < fileNumbers {
		return nil, false
	}
	if value[0] == wideBegins {
		return l.readWide(value)
	}
	v := (*[fileNumbers]byte)(value)
	*l = listedFile{
		place: number(v[:]), live: true, version: number(v[8:]), created: number(v[16:]), updated: number(v[24:]),
		expires: math.MaxInt64, ends: math.MaxInt64,
		slot: int(binary.BigEndian.Uint16(v[32:])), status: int(binary.BigEndian.Uint16(v[34:])),
	}
	return value[fileNumbers:], true
}

func (l *listedFile) readWide(value []byte) (rest []byte, ok bool) {
	if len(value) < wideNumbers {
		return nil, false
	}
	v := (*[wideNumbers]byte)(value)
	const live, expires, ends = 1, 2, 4
	flags := v[9]
	*l = listedFile{
		place: number(v[1:]), live: flags&live != 0,
		version: number(v[10:]), created: number(v[18:]), updated: number(v[26:]),
		expires: math.MaxInt64, ends: math.MaxInt64,
		slot: int(binary.BigEndian.Uint32(v[50:])), status: int(binary.BigEndian.Uint32(v[54:])),
	}
	if flags&expires != 0 {
		l.expires = number(v[34:])
	}
	if flags&ends != 0 {
		l.ends = number(v[42:])
	}
	return value[wideNumbers:], true
}

// number is one in eight bytes.
func number(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

func (f *fileRows) next(value []byte) error {
	var l listedFile
	rest, ok := l.read(value)
	r := &f.record
	if !ok || len(rest) < len(r.ID)+l.slot+l.status || l.slot == 0 {
		return errBrief
	}
	id, rest := rest[:len(r.ID)], rest[len(r.ID):]
	slot, status, attributes := rest[:l.slot], rest[l.slot:l.slot+l.status], rest[l.slot+l.status:]
	if l.place != f.place || f.to != "" && string(slot) >= f.to {
		return errFull // what comes now is beyond the page
	}
	f.describe(slot, status, attributes)
	if l.expires <= f.at || !f.gone && (!l.live || l.ends <= f.at) ||
		len(f.statuses) > 0 && !slices.Contains(f.statuses, r.Status) {
		return nil
	}
	r.ID, r.Version, r.Live = loci.ID(id), l.version, l.live
	r.CreatedAt = milli(l.created)
	if r.UpdatedAt = r.CreatedAt; l.updated != l.created { // most are as they were made
		r.UpdatedAt = milli(l.updated)
	}
	if !f.yield(r) {
		return errFull
	}
	return nil
}
