package postgres

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/loci-memory/loci"
)

// The types of PostgreSQL that arguments have, by their numbers in its catalogue.
const (
	oidBool     = 16
	oidBytes    = 17
	oidInt      = 20
	oidText     = 25
	oidFloat    = 701
	oidManyByte = 1001
	oidManyInt  = 1016
)

// name is an argument of type text; a Go string is bytes.
type name string

// wire is an argument as it is sent, whose type the statement tells; nil: NULL.
type wire []byte

// encode writes an argument in PostgreSQL's binary form. A nil slice of bytes is NULL.
func encode(arg any) (data []byte, oid uint32, err error) {
	switch v := arg.(type) {
	case nil:
		return nil, 0, nil
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(v)), oidInt, nil
	case int:
		return binary.BigEndian.AppendUint64(nil, uint64(v)), oidInt, nil
	case bool:
		if v {
			return []byte{1}, oidBool, nil
		}
		return []byte{0}, oidBool, nil
	case float64:
		return binary.BigEndian.AppendUint64(nil, math.Float64bits(v)), oidFloat, nil
	case []byte:
		return v, oidBytes, nil
	case string:
		return []byte(v), oidBytes, nil
	case loci.ID:
		return v[:], oidBytes, nil
	case name:
		return []byte(v), oidText, nil
	case wire:
		return v, 0, nil
	case []int64:
		data = encodeArray(oidInt, len(v))
		for _, n := range v {
			data = binary.BigEndian.AppendUint32(data, 8)
			data = binary.BigEndian.AppendUint64(data, uint64(n))
		}
		return data, oidManyInt, nil
	case [][]byte:
		data = encodeArray(oidBytes, len(v))
		for _, b := range v {
			data = binary.BigEndian.AppendUint32(data, uint32(len(b)))
			data = append(data, b...)
		}
		return data, oidManyByte, nil
	}
	return nil, 0, fmt.Errorf("an argument of type %T", arg)
}

// encodeArray is the head of an array of one dimension without NULLs.
func encodeArray(oid uint32, n int) []byte {
	dimensions := uint32(1)
	if n == 0 {
		dimensions = 0
	}
	data := binary.BigEndian.AppendUint32(nil, dimensions)
	data = binary.BigEndian.AppendUint32(data, 0) // no NULLs
	data = binary.BigEndian.AppendUint32(data, oid)
	if n > 0 {
		data = binary.BigEndian.AppendUint32(data, uint32(n))
		data = binary.BigEndian.AppendUint32(data, 1) // the first index
	}
	return data
}

// A row is what a statement returns, in binary form; NULL is nil.
type row [][]byte

func (r row) null(i int) bool { return r[i] == nil }

// int is a column of type bigint; NULL is 0.
func (r row) int(i int) int64 {
	if len(r[i]) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(r[i]))
}

func (r row) bool(i int) bool { return len(r[i]) == 1 && r[i][0] == 1 }

func (r row) float(i int) float64 { return math.Float64frombits(uint64(r.int(i))) }

func (r row) string(i int) string { return string(r[i]) }

// bytes is a copy; NULL and empty are nil.
func (r row) bytes(i int) []byte { return append([]byte(nil), r[i]...) }

// ints are numbers of eight bytes each.
func (r row) ints(i int) (out []int64) {
	for b := r[i]; len(b) >= 8; b = b[8:] {
		out = append(out, int64(binary.BigEndian.Uint64(b)))
	}
	return out
}

func (r row) id(i int) (id loci.ID) {
	copy(id[:], r[i])
	return id
}

func (r row) hash(i int) (h loci.Hash) {
	copy(h[:], r[i])
	return h
}

// time is a column of milliseconds; NULL is the zero time.
func (r row) time(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMilli(r.int(i)).UTC()
}

// nullable is a time in milliseconds; nil for none.
func nullable(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// nonempty is bytes; nil for none.
func nonempty[T ~string | ~[]byte](b T) any {
	if len(b) == 0 {
		return nil
	}
	return []byte(b)
}
