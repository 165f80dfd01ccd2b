package index

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"
)

// decoder reads what lies one after another.
type decoder struct {
	b  []byte
	ok bool
}

func (d *decoder) cut(n uint64) []byte {
	if !d.ok || n > uint64(len(d.b)) {
		d.ok = false
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) number() uint64 {
	if d.ok && len(d.b) > 0 && d.b[0] < 0x80 { // as nearly all are
		n := d.b[0]
		d.b = d.b[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(d.b)
	d.cut(uint64(max(size, 0)))
	d.ok = d.ok && size > 0
	return n
}

func (d *decoder) text() string {
	b := d.cut(d.number())
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (d *decoder) time() time.Time {
	n, size := binary.Varint(d.b)
	d.cut(uint64(max(size, 0)))
	d.ok = d.ok && size > 0
	return time.UnixMilli(n).UTC()
}

func (d *decoder) float() float64 {
	if b := d.cut(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}
