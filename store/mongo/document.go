package mongo

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
)

// The names of fields that many queries say. Every document names its tenant.
const (
	fID     = "_id"
	fTenant = "t"
)

// binaryOf is bytes as a value. Those of one length compare by byte, which is what _ids rely
// on; others are compared for equality alone.
func binaryOf[T ~string | ~[]byte](b T) bson.Binary { return bson.Binary{Data: []byte(b)} }

func idOf(id loci.ID) bson.Binary { return bson.Binary{Data: id[:]} }

// keyed is an _id: the tenant, then what tells its documents apart.
func keyed(tenant []byte, parts ...[]byte) bson.Binary {
	b := append([]byte(nil), tenant...)
	for _, part := range parts {
		b = append(b, part...)
	}
	return bson.Binary{Data: b}
}

// number is a number that is not negative as eight bytes in its order.
func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// keysOf are the _ids of records.
func keysOf(tenant []byte, ids []loci.ID) bson.A {
	out := make(bson.A, len(ids))
	for i := range ids {
		out[i] = keyed(tenant, ids[i][:])
	}
	return out
}

// binaries are bytes as a list of values.
func binaries[T ~string | ~[]byte](values []T) bson.A {
	out := make(bson.A, len(values))
	for i, v := range values {
		out[i] = binaryOf(v)
	}
	return out
}

func idList(ids []loci.ID) bson.A {
	out := make(bson.A, len(ids))
	for i := range ids {
		out[i] = idOf(ids[i])
	}
	return out
}

// sortable writes bytes as text in their order: what is text is compared by byte, and what is
// bytes by length first. Any byte may be in a key, and not every one in a text.
var sortable = base64.NewEncoding("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz").
	WithPadding(base64.NoPadding)

func inOrder[T ~string](key T) string { return sortable.EncodeToString([]byte(key)) }

// fields is a document in the making. What is empty is left out.
type fields bson.D

func (f *fields) set(name string, value any) { *f = append(*f, bson.E{Key: name, Value: value}) }

func (f *fields) bytes(name string, value []byte) {
	if len(value) > 0 {
		f.set(name, bson.Binary{Data: value})
	}
}

func (f *fields) string(name, value string) { f.bytes(name, []byte(value)) }

func (f *fields) time(name string, at time.Time) {
	if !at.IsZero() {
		f.set(name, at.UnixMilli())
	}
}

// A doc is a document that was read. What is missing is zero; what is of another type is
// damage, which err says.
type doc struct {
	raw bson.Raw
	err error
}

func (d *doc) value(name string) (bson.RawValue, bool) {
	v, err := d.raw.LookupErr(name)
	return v, err == nil && v.Type != bson.TypeNull
}

func (d *doc) wrong(name string, v bson.RawValue) {
	if d.err == nil {
		d.err = fmt.Errorf("the field %s of a document is of the type %s", name, v.Type)
	}
}

func (d *doc) has(name string) bool {
	_, ok := d.value(name)
	return ok
}

func (d *doc) int(name string) int64 {
	v, ok := d.value(name)
	if !ok {
		return 0
	}
	n, ok := v.AsInt64OK()
	if !ok {
		d.wrong(name, v)
	}
	return n
}

// ints are those of a list.
func (d *doc) ints(name string) (out []int64) {
	v, ok := d.value(name)
	if !ok {
		return nil
	}
	list, ok := v.ArrayOK()
	if !ok {
		d.wrong(name, v)
		return nil
	}
	values, err := list.Values()
	for _, v := range values {
		n, ok := v.AsInt64OK()
		if !ok {
			d.wrong(name, v)
		}
		out = append(out, n)
	}
	if err != nil {
		d.wrong(name, v)
	}
	return out
}

func (d *doc) float(name string) float64 {
	v, ok := d.value(name)
	if !ok {
		return 0
	}
	f, ok := v.DoubleOK()
	if !ok {
		d.wrong(name, v)
	}
	return f
}

func (d *doc) bool(name string) bool {
	v, ok := d.value(name)
	if !ok {
		return false
	}
	b, ok := v.BooleanOK()
	if !ok {
		d.wrong(name, v)
	}
	return b
}

func (d *doc) time(name string) time.Time {
	if !d.has(name) {
		return time.Time{}
	}
	return time.UnixMilli(d.int(name)).UTC()
}

// moment is one that the database has set.
func (d *doc) moment(name string) (at time.Time) {
	v, ok := d.value(name)
	if !ok {
		return at
	}
	if at, ok = v.TimeOK(); !ok {
		d.wrong(name, v)
	}
	return at
}

// bytes are valid for as long as the document is.
func (d *doc) bytes(name string) []byte {
	v, ok := d.value(name)
	if !ok {
		return nil
	}
	_, b, ok := v.BinaryOK()
	if !ok {
		d.wrong(name, v)
	}
	return b
}

func (d *doc) string(name string) string { return string(d.bytes(name)) }

func (d *doc) text(name string) string {
	v, ok := d.value(name)
	if !ok {
		return ""
	}
	s, ok := v.StringValueOK()
	if !ok {
		d.wrong(name, v)
	}
	return s
}

// sorted reads what inOrder wrote.
func (d *doc) sorted(name string) string {
	b, err := sortable.DecodeString(d.text(name))
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("the field %s of a document: %w", name, err)
	}
	return string(b)
}

func (d *doc) id(name string) (id loci.ID) {
	copy(id[:], d.bytes(name))
	return id
}

func (d *doc) hash(name string) (h loci.Hash) {
	copy(h[:], d.bytes(name))
	return h
}

// behind are the bytes of the _id behind the tenant.
func (d *doc) behind() []byte {
	if b := d.bytes(fID); len(b) > tenantBytes {
		return b[tenantBytes:]
	}
	return nil
}

// recordID is the id of a record's document.
func (d *doc) recordID() (id loci.ID) {
	copy(id[:], d.behind())
	return id
}
