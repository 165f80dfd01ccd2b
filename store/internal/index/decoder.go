package index

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
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

func (d *decoder) time() time.Time { return time.UnixMilli(d.milli()).UTC() }

// milli is a time in milliseconds.
func (d *decoder) milli() int64 {
	n, size := varint(d.b)
	d.cut(uint64(max(size, 0)))
	d.ok = d.ok && size > 0
	return n
}

func (d *decoder) float() float64 {
	if b := d.cut(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) decay() (c loci.Decay) {
	c.Confidence, c.Rate = d.float(), d.float()
	c.From = d.time()
	return c
}

// varint is [binary.Varint]. A time has six bytes, of which eight with what follows are taken at once.
func varint(b []byte) (n int64, size int) {
	var x uint64
	if len(b) >= 8 {
		x = binary.LittleEndian.Uint64(b)
	} else {
		var room [8]byte
		copy(room[:], b)
		x = binary.LittleEndian.Uint64(room[:])
	}
	ends := ^x & 0x8080808080808080
	if size = bits.TrailingZeros64(ends)/8 + 1; size > min(8, len(b)) {
		return binary.Varint(b)
	}
	x &= ends ^ (ends - 1) // up to the first byte that ends a number
	x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
	x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
	x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
	return int64(x>>1) ^ -int64(x&1), size
}
