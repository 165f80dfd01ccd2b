// Package dump is what a tenant consists of when it is copied whole from one store to
// another: rows of a few tables, and what stands above them.
package dump

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// MostBytes bounds what one look at a table brings, a row at least.
const MostBytes = 8 << 20

// A Copy is a tenant that comes whole from another store, in parts. Until it is finished
// nobody sees it.
type Copy interface {
	// Place is how far it is.
	Place() Place

	// Take adds rows of the table at hand, which end at a cursor. No rows: the table is whole.
	Take(ctx context.Context, rows []Row, cursor string) error

	// Finish makes a tenant of what was copied.
	Finish(ctx context.Context) error

	// Close gives back what the copy holds open; it may go on later.
	Close() error
}

// Rows are what a store shows of tenants that are copied.
type Rows interface {
	// DumpHead is what stands above the rows of a tenant.
	DumpHead(ctx context.Context, t loci.Tenant) (Head, error)

	// Dump returns rows of a table behind a cursor, up to a limit, and the cursor behind
	// them. There are none behind the last.
	Dump(ctx context.Context, t loci.Tenant, table Table, cursor string, limit int) ([]Row, string, error)
}

// A Table is one of those that hold a tenant.
type Table string

// The tables, with the columns of a row of each. Numbers are int64, times milliseconds,
// everything else bytes; nil is none, and nil and no bytes are the same.
const (
	Namespaces Table = "namespace" // number, mark, 1 if it has its name, key, kinds as [Kinds] writes them
	Spaces     Table = "space"     // number, model, dimensions
	Records    Table = "record"    // id, and the columns of RecordColumns
	Revisions  Table = "revision"  // record, version, updated, replaced, text, tags, attributes
	Vectors    Table = "vector"    // record, space, data
	Links      Table = "link"      // from, type, to, created, place in their order: the last is 0, the one before -1
	Events     Table = "event"     // number, and the columns of EventColumns
	Replies    Table = "reply"     // key, requested, expires, record, fingerprint, value
)

// Columns that both stores give the same names.
const (
	RecordColumns = `version, created_at, updated_at, expires_at, uses, used_at, ends_at, due_at, position, passage_count,
	confidence, decay_rate, decay_from, live, kind, scope, status, sequence, heading, passages, tags, attributes, body, text`
	EventColumns = "id, namespace, occurred_at, type, kind, entity, actor, request_id, digest, sealed, nonce, payload, former"
)

// Tables are all there are, in the order in which they are copied: what others refer to
// comes first.
var Tables = []Table{Namespaces, Spaces, Records, Revisions, Vectors, Links, Events, Replies}

// A Row is one of a table: int64, float64, []byte or nil a column.
type Row []any

// A Head is what stands above the rows. Two heads that are equal say that nothing was
// written in between, except for uses that were counted.
type Head struct {
	Seq        int64 // the change counter
	Events     int64 // the number of the last event
	ChainStart int64 // events up to this number are older than the chain
	Namespaces int64 // the number of the last one
	Spaces     int64
	Active     int64    // the space whose vectors are searched
	Chain      [32]byte // the hash of the last event
	NameKey    [32]byte // what the marks of namespaces are made with
}

// NotACopy refuses a copy into a tenant with memories of its own.
func NotACopy(t loci.Tenant) error {
	return loci.Errorf(loci.Conflict,
		"the tenant %q is there already and is no copy of what was given: erase it first, or copy into another store", t)
}

// Disturbed ends a copy that is not alone.
func Disturbed(t loci.Tenant) error {
	return loci.Errorf(loci.Conflict, "somebody else writes to the tenant %q while it is copied: stop them, then copy again", t)
}

// Changed ends a copy of a source that was written to: its rows do not fit to one another.
func Changed(t loci.Tenant, err error) error {
	return &loci.Error{
		Code: loci.Conflict, Err: err, Msg: fmt.Sprintf("the tenant %q was written to while it was copied; its copy is not in the store", t),
		Recovery: "Stop whoever writes to the source, and copy again.",
	}
}

// placeForm is raised when places in tables are told in another way: what was begun before
// then begins again.
const placeForm = 1

// A Place is how far a copy is. It is kept with the rows, so that it may go on.
type Place struct {
	Head   Head
	Table  int    // of Tables; behind the last one: every row is there
	Cursor string // where the source goes on in the table; "": at its beginning
	Done   bool
	Form   int
}

// Begin is the place of a copy that has nothing yet.
func Begin(h Head) Place { return Place{Head: h, Form: placeForm} }

// Next is the place behind rows that end at a cursor. No rows: the table is whole.
func (p Place) Next(rows int, cursor string) Place {
	if p.Cursor = cursor; rows == 0 {
		p.Table, p.Cursor = p.Table+1, ""
	}
	return p
}

// Goes reports whether a copy of a head may go on at a place that was found; named: there is
// a tenant, which only a copy that is done makes.
func (p Place) Goes(h Head, named bool) bool {
	return p.Head == h && p.Done == named && (p.Done || p.Form == placeForm)
}

// Cursor writes a place among rows: int64 and []byte.
func Cursor(parts ...any) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		switch v := part.(type) {
		case int64:
			out[i] = strconv.FormatInt(v, 10)
		case []byte:
			out[i] = "x" + hex.EncodeToString(v)
		default:
			panic(fmt.Sprintf("a cursor of type %T", part)) // the stores write these alone
		}
	}
	return strings.Join(out, ",")
}

// Parts is the inverse of [Cursor]; none for "".
func Parts(cursor string) (parts []any, err error) {
	if cursor == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(cursor, ",") {
		var part any
		if digits, ok := strings.CutPrefix(text, "x"); ok {
			part, err = hex.DecodeString(digits)
		} else {
			part, err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return nil, fmt.Errorf("how far a copy is cannot be read: %w", err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Bytes is a column of bytes; nil for none.
func Bytes(column any) []byte {
	b, _ := column.([]byte)
	return b
}

// Size is about how many bytes a row has.
func (r Row) Size() (n int) {
	for _, column := range r {
		n += 8 + len(Bytes(column))
	}
	return n
}

// Sizes are the bytes of a row of [Records] as a quota counts them; see [loci.Record.Sizes].
func Sizes(row Row) (text, data int64) {
	size := func(i int) int64 { return int64(len(Bytes(row[i]))) }
	return size(26) + size(21), size(24) + size(25)
}

// A Sum tells rows apart, in whatever order they come.
type Sum struct {
	Rows int64
	hash [4]uint64
}

// Add takes in a row.
func (s *Sum) Add(row Row) {
	h := sha256.New()
	for _, column := range row {
		var value []byte
		form := byte('b')
		switch v := column.(type) {
		case nil:
		case []byte:
			value = v
		case int64:
			form, value = 'i', binary.BigEndian.AppendUint64(nil, uint64(v))
		case float64:
			form, value = 'f', binary.BigEndian.AppendUint64(nil, math.Float64bits(v))
		default:
			panic(fmt.Sprintf("a column of type %T", column)) // the stores write these alone
		}
		h.Write(binary.BigEndian.AppendUint64([]byte{form}, uint64(len(value))))
		h.Write(value)
	}
	sum := h.Sum(nil)
	s.Rows++
	for i := range s.hash { // a sum, so that rows that come twice do not cancel out
		s.hash[i] += binary.BigEndian.Uint64(sum[8*i:])
	}
}

// String is the sum in hexadecimal.
func (s *Sum) String() string {
	var out []byte
	for _, part := range s.hash {
		out = binary.BigEndian.AppendUint64(out, part)
	}
	return hex.EncodeToString(out)
}

// Kinds writes the kinds of a namespace, given in order, as one column.
func Kinds(kinds []string) []byte {
	var out []byte
	for _, k := range kinds {
		out = append(binary.AppendUvarint(out, uint64(len(k))), k...)
	}
	return out
}

// KindList is the inverse of [Kinds]; damaged bytes end the list.
func KindList(b []byte) (kinds []string) {
	for len(b) > 0 {
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return kinds
		}
		kinds = append(kinds, string(b[n:n+int(length)]))
		b = b[n+int(length):]
	}
	return kinds
}
