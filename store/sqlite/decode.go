package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// recordColumns are what a recordScan reads, of record r and namespace s.
const (
	recordColumns = headStart + "r.text" + headEnd
	headColumns   = headStart + "''" + headEnd // without texts, however large

	// What follows is one text for each row: a value for each column would cost more than the row. The
	// id comes first, then numbers with a space behind each, nothing or 0 for NULL, then what has its
	// length among them.

	// packedColumns are recordColumns so. Texts do not keep every bit of a number that is not whole.
	packedColumns = `concat(r.id, r.version, ' ', r.live, ' ', r.created_at, ' ', r.updated_at, ' ', r.expires_at, ' ', r.uses, ' ',
		r.used_at, ' ', r.decay_from, ' ', r.ends_at, ' ', r.due_at, ' ', r.position, ' ', octet_length(r.kind), ' ', octet_length(s.key), ' ',
		octet_length(r.slot), ' ', octet_length(r.passages), ' ', octet_length(r.tags), ' ', octet_length(r.attributes), ' ',
		octet_length(r.body), ' ', octet_length(r.scope), ' ', octet_length(r.status), ' ', octet_length(r.sequence), ' ',
		octet_length(r.heading), ' ', r.kind, s.key, r.slot, r.passages, r.tags, r.attributes, r.body, r.scope, r.status, r.sequence,
		r.heading, r.text), r.confidence, r.decay_rate`

	placeColumns = "r.kind, s.key, "
	headStart    = "r.id, " + placeColumns + "r.slot, r.version, r.live, r.created_at, r.updated_at, r.expires_at, r.uses, r.used_at, "
	headEnd      = `, r.passages, r.tags, r.attributes, r.body,
	r.scope, r.status, r.confidence, r.decay_rate, r.decay_from, r.ends_at, r.due_at, r.sequence, r.position, r.heading`
)

// A recordScan reads rows of recordColumns, one after the other. What it scans into serves
// all rows of a query: a record of its own fields costs most of what a short row does.
type recordScan struct {
	id, key, slot, passages, attributes, body                                       bytesColumn
	kind, text, tags, scope, status, sequence, heading                              textColumn
	version, live, uses, created, updated, expires, used, from, ends, due, position intColumn
	confidence, rate                                                                floatColumn
	dest                                                                            []any

	placed    bool   // all rows have this namespace and kind
	lastKey   string // of the row before: neighbours lie in one place most often
	namespace loci.Namespace

	unpack func(*loci.Record) error // of rows that are one text; else nil
}

// newRecordScan makes one; extra takes the columns after those of a record.
func newRecordScan(extra ...any) *recordScan {
	s := &recordScan{}
	s.dest = append([]any{&s.id, &s.kind, &s.key}, append(s.afterPlace(), extra...)...)
	return s
}

// newPlacedScan makes one of rows without placeColumns, all of one place.
func newPlacedScan(n loci.Namespace, kind loci.Kind) *recordScan {
	s := &recordScan{kind: textColumn(kind), namespace: slices.Clip(slices.Clone(n))}
	s.dest = append([]any{&s.id}, s.afterPlace()...)
	s.placed = true
	return s
}

// newPackedScan makes one of rows of packedColumns.
func newPackedScan() *recordScan {
	s := &recordScan{}
	s.dest, s.unpack = []any{&s.text, &s.confidence, &s.rate}, s.whole
	return s
}

// A packedRow is what is left of a row that is one text.
type packedRow struct {
	rest    string
	damaged bool
}

var errPacked = errors.New("a row is not as it was packed")

func (p *packedRow) id() (id loci.ID) { copy(id[:], p.text(len(id))); return id }

// column takes the next number; nothing is NULL.
func (p *packedRow) column() (c intColumn) {
	end := strings.IndexByte(p.rest, ' ')
	if end < 0 {
		p.damaged = true
		return c
	}
	if end > 0 {
		n, err := strconv.ParseInt(p.rest[:end], 10, 64)
		c, p.damaged = intColumn{n, true}, p.damaged || err != nil
	}
	p.rest = p.rest[end+1:]
	return c
}

func (p *packedRow) number() int64 { return p.column().n }

// text takes so many bytes; it shares the memory of the row.
func (p *packedRow) text(size int) (text string) {
	if size < 0 || size > len(p.rest) {
		p.damaged = true
		return ""
	}
	text, p.rest = p.rest[:size], p.rest[size:]
	return text
}

// documents takes attributes and a body.
func (p *packedRow) documents(r *loci.Record, attributes, body int) {
	both := []byte(p.text(attributes + body))
	if p.damaged || attributes < 0 || body < 0 {
		p.damaged = true
		return
	}
	if attributes > 0 {
		r.Attributes = both[:attributes:attributes]
	}
	if body > 0 {
		r.Body = both[attributes:]
	}
}

// whole takes a row of packedColumns apart.
func (s *recordScan) whole(r *loci.Record) (err error) {
	p := packedRow{rest: string(s.text)}
	*r = loci.Record{ID: p.id(), Version: p.number(), Live: p.number() != 0,
		CreatedAt: milli(p.number()), UpdatedAt: milli(p.number()), ExpiresAt: p.column().milli(),
		Uses: p.number(), UsedAt: p.column().milli(),
		Decay:  loci.Decay{From: p.column().milli(), Confidence: float64(s.confidence), Rate: float64(s.rate)},
		EndsAt: p.column().milli(), DueAt: p.column().milli(), Position: p.number()}
	var sizes [11]int
	for i := range sizes {
		sizes[i] = int(p.number())
	}
	r.Kind = loci.Kind(p.text(sizes[0]))
	if key := p.text(sizes[1]); s.elsewhere(key) {
		s.enter(key)
	}
	r.Namespace, r.Slot, r.Passages = s.namespace, p.text(sizes[2]), form.DecodeSpans([]byte(p.text(sizes[3])))
	tags := p.text(sizes[4])
	p.documents(r, sizes[5], sizes[6])
	r.Scope, r.Status, r.Sequence, r.Heading = p.text(sizes[7]), p.text(sizes[8]), p.text(sizes[9]), p.text(sizes[10])
	if r.Text = p.rest; p.damaged {
		return errPacked
	}
	if tags != "" {
		err = json.Unmarshal([]byte(tags), &r.Tags)
	}
	return err
}

// elsewhere reports whether a row is not in the namespace of the row before. Records of one share its labels.
func (s *recordScan) elsewhere(key string) bool { return s.namespace == nil || s.lastKey != key }

func (s *recordScan) enter(key string) {
	s.lastKey = strings.Clone(key)
	s.namespace = slices.Clip(loci.NamespaceFromKey(s.lastKey))
}

// afterPlace is what the columns after placeColumns are scanned into.
func (s *recordScan) afterPlace() []any {
	return []any{
		&s.slot, &s.version, &s.live, &s.created, &s.updated, &s.expires,
		&s.uses, &s.used, &s.text, &s.passages, &s.tags, &s.attributes, &s.body, &s.scope, &s.status,
		&s.confidence, &s.rate, &s.from, &s.ends, &s.due, &s.sequence, &s.position, &s.heading,
	}
}

// record reads the row at hand.
func (s *recordScan) record(rows *sql.Rows) (r loci.Record, err error) {
	err = s.read(rows, &r)
	return r, err
}

// read is record into memory of the caller.
func (s *recordScan) read(rows *sql.Rows, r *loci.Record) (err error) {
	if err := rows.Scan(s.dest...); err != nil {
		return err
	}
	if s.unpack != nil {
		return s.unpack(r)
	}
	*r = loci.Record{}
	if !s.placed && s.elsewhere(string(s.key)) {
		s.enter(string(s.key))
	}
	copy(r.ID[:], s.id)
	r.Kind, r.Namespace, r.Slot = loci.Kind(s.kind), s.namespace, string(s.slot)
	r.Version, r.Live, r.Uses = s.version.n, s.live.n != 0, s.uses.n
	r.CreatedAt, r.UpdatedAt = milli(s.created.n), milli(s.updated.n)
	r.ExpiresAt, r.UsedAt = s.expires.milli(), s.used.milli()
	r.Text, r.Heading, r.Passages = string(s.text), string(s.heading), form.DecodeSpans(s.passages)
	r.Attributes, r.Body = copyJSON(s.attributes), copyJSON(s.body)
	r.Scope, r.Status, r.EndsAt, r.DueAt = string(s.scope), string(s.status), s.ends.milli(), s.due.milli()
	r.Sequence, r.Position = string(s.sequence), s.position.n
	r.Decay = loci.Decay{Confidence: float64(s.confidence), Rate: float64(s.rate), From: s.from.milli()}
	if len(s.tags) > 0 {
		err = json.Unmarshal([]byte(s.tags), &r.Tags)
	}
	return err
}

// Columns that a row is scanned into without reflection; NULL is the zero value. Bytes are
// the driver's until the next row.
type (
	bytesColumn []byte
	textColumn  string
	floatColumn float64
	intColumn   struct {
		n     int64
		valid bool
	}
)

// Scan implements [sql.Scanner].
func (c *bytesColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c = nil
	case []byte:
		*c = v
	case string:
		*c = append((*c)[:0:0], v...)
	default:
		return errors.New("a column of bytes holds something else")
	}
	return nil
}

// Scan implements [sql.Scanner].
func (c *textColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c = ""
	case []byte:
		*c = textColumn(v)
	case string:
		*c = textColumn(v)
	default:
		return errors.New("a column of text holds something else")
	}
	return nil
}

// Scan implements [sql.Scanner].
func (c *intColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c = intColumn{}
	case int64:
		*c = intColumn{v, true}
	default:
		return errors.New("a column of whole numbers holds something else")
	}
	return nil
}

// milli is a time, zero where there is none.
func (c intColumn) milli() time.Time {
	if !c.valid {
		return time.Time{}
	}
	return milli(c.n)
}

// Scan implements [sql.Scanner].
func (c *floatColumn) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*c = 0
	case float64:
		*c = floatColumn(v)
	case int64:
		*c = floatColumn(v)
	default:
		return errors.New("a column of numbers holds something else")
	}
	return nil
}

func copyJSON[T []byte | string | bytesColumn | sql.RawBytes](b T) json.RawMessage {
	if len(b) == 0 {
		return nil
	}
	return append(json.RawMessage(nil), b...)
}

func milli(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
