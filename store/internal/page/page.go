// Package page reads and writes the cursors of lists, the same for every store.
package page

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
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
	if limit, err = pageLimit(p); err == nil {
		after, err = parseRecord(p.Cursor)
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

// pageLimit checks how much of a list is asked for.
func pageLimit(p loci.Page) (int, error) {
	switch {
	case p.Limit == 0:
		return DefaultLimit, nil
	case p.Limit < 0 || p.Limit > MaxLimit:
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be 1 to %d", p.Limit, MaxLimit)
	}
	return p.Limit, nil
}

// A Record is a place in a list of records: the last one that was given out.
type Record struct {
	CreatedAt time.Time
	ID        loci.ID
}

// Precedes reports whether r comes after the place, in the order of record lists
// or in its reverse.
func (c *Record) Precedes(r *loci.Record, oldestFirst bool) bool {
	order := cmp.Or(c.CreatedAt.Compare(r.CreatedAt), bytes.Compare(r.ID[:], c.ID[:]))
	return !oldestFirst && order > 0 || oldestFirst && order < 0
}

// RecordCursor writes the place of a record.
func RecordCursor(r *loci.Record) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(r.CreatedAt.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, r.ID[:]...))
}

// parseRecord reads a place; nil is the start of the list.
func parseRecord(cursor string) (*Record, error) {
	if cursor == "" {
		return nil, nil
	}
	b, err := decode(cursor, 24)
	if err != nil {
		return nil, err
	}
	c := &Record{CreatedAt: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()}
	copy(c.ID[:], b[8:])
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
	b, err := decode(cursor, 8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

func decode(cursor string, size int) ([]byte, error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != size {
		return nil, loci.Errorf(loci.Invalid, "cursor is not one that a list returned")
	}
	return b, nil
}
