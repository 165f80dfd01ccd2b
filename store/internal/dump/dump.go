// Package dump is what a tenant consists of when it is copied whole from one store to
// another: rows of a few tables, and what stands above them.
package dump

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
)

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
	Links      Table = "link"      // from, type, to, created, order among those of one moment
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
