// Package page fills the pages of lists, reads and writes their cursors, and adds up counts: the same for every store.
package page

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// DefaultLimit and MaxLimit bound a page.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Records reads a page of a list of records; a nil place is the start of the list.
func Records(p loci.Page) (limit int, after *Record, err error) {
	if limit, err = pageLimit(p); err != nil || p.Cursor == "" {
		return limit, nil, err
	}
	switch p.Order {
	case loci.NewestFirst, loci.OldestFirst:
		after, err = parseTime(p.Cursor)
	default:
		after, err = parseSlot(p.Cursor)
	}
	return limit, after, err
}

// Events reads a page of a list of events: those with a smaller number than before
// follow; 0 is the start of the list.
func Events(p loci.Page) (limit int, before int64, err error) {
	if limit, err = pageLimit(p); err == nil {
		before, err = parseEvent(p.Cursor)
	}
	return limit, before, err
}

// pageLimit checks how much of a list is asked for, and in which order.
func pageLimit(p loci.Page) (int, error) {
	switch {
	case p.Order < loci.NewestFirst || p.Order > loci.SlotDescending:
		return 0, loci.Errorf(loci.Invalid, "order is %d; it must be one of NewestFirst, OldestFirst, SlotAscending and SlotDescending", p.Order)
	case p.Limit == 0:
		return DefaultLimit, nil
	case p.Limit < 0 || p.Limit > MaxLimit:
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to %d", p.Limit, MaxLimit)
	}
	return p.Limit, nil
}

// A Record is a place in a list of records: the last one that was given out.
type Record struct {
	CreatedAt time.Time // in orders by time
	Slot      string    // in orders by slot
	ID        loci.ID
}

// Compare orders records as a list of that order does.
func Compare(a, b *loci.Record, order loci.Order) int {
	return compare(&Record{a.CreatedAt, a.Slot, a.ID}, b, order)
}

// Precedes reports whether r comes after the place in an order.
func (c *Record) Precedes(r *loci.Record, order loci.Order) bool { return compare(c, r, order) < 0 }

func compare(c *Record, r *loci.Record, order loci.Order) int {
	id := bytes.Compare(c.ID[:], r.ID[:])
	switch order {
	case loci.SlotAscending:
		return cmp.Or(strings.Compare(c.Slot, r.Slot), id)
	case loci.SlotDescending:
		return -cmp.Or(strings.Compare(c.Slot, r.Slot), id)
	case loci.OldestFirst:
		return -cmp.Or(r.CreatedAt.Compare(c.CreatedAt), id)
	}
	return cmp.Or(r.CreatedAt.Compare(c.CreatedAt), id)
}

// slotMark begins the cursors of orders by slot. Those of orders by time would have
// to be of the year 260,000,000 to begin so.
const slotMark = 's'

// RecordCursor writes the place of a record in a list of an order.
func RecordCursor(r *loci.Record, order loci.Order) string {
	var b []byte
	if order.BySlot() {
		b = binary.AppendUvarint([]byte{slotMark}, uint64(len(r.Slot)))
		b = append(b, r.Slot...)
	} else {
		b = binary.BigEndian.AppendUint64(nil, uint64(r.CreatedAt.UnixMilli()))
	}
	return base64.RawURLEncoding.EncodeToString(append(b, r.ID[:]...))
}

// parseTime reads a place in an order by time.
func parseTime(cursor string) (*Record, error) {
	b, err := decode(cursor)
	if err != nil || len(b) != 24 || b[0] == slotMark {
		return nil, errCursor()
	}
	c := &Record{CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()}
	copy(c.ID[:], b[8:])
	return c, nil
}

// parseSlot reads a place in an order by slot.
func parseSlot(cursor string) (*Record, error) {
	b, err := decode(cursor)
	if err != nil || len(b) == 0 || b[0] != slotMark {
		return nil, errCursor()
	}
	length, n := binary.Uvarint(b[1:])
	rest := b[1+max(n, 0):]
	if n <= 0 || length == 0 || uint64(len(rest)) != length+uint64(len(loci.ID{})) {
		return nil, errCursor()
	}
	c := &Record{Slot: string(rest[:length])}
	copy(c.ID[:], rest[length:])
	return c, nil
}

// EventCursor writes the place of an event.
func EventCursor(seq int64) string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, uint64(seq)))
}

// parseEvent reads a place: only events with a smaller number follow; 0 is the start.
func parseEvent(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	b, err := decode(cursor)
	if err != nil || len(b) != 8 {
		return 0, errCursor()
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// decode is strict, so that a place has one cursor.
func decode(cursor string) ([]byte, error) {
	return base64.RawURLEncoding.Strict().DecodeString(cursor)
}

func errCursor() error {
	return loci.Errorf(loci.Invalid, "cursor is not one that a list of this order returned")
}
