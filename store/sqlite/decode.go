package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// recordColumns are what a recordScan reads, of record r and namespace s.
const (
	recordColumns = headStart + "r.text" + headEnd
	headColumns   = headStart + noText + headEnd // without texts, however large

	// coreColumns are those of [loci.Record.Core], for records that are named by ids.
	coreColumns = "r.id, " + placeColumns + `r.version, r.live, r.created_at, r.expires_at, r.used_at, r.text, r.passages,
	r.attributes, r.body, r.status, r.confidence, r.decay_rate, r.decay_from, r.ends_at`

	noText       = "'' AS text"
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

	rowPlace
}

// A rowPlace is the namespace of a row. Neighbours lie in one most often, and share its labels.
type rowPlace struct {
	lastKey   string
	namespace loci.Namespace // nil before the first row
}

// newRecordScan makes one; extra takes the columns after those of a record.
func newRecordScan(extra ...any) *recordScan {
	s := &recordScan{}
	s.dest = append([]any{&s.id, &s.kind, &s.key}, append(s.afterPlace(), extra...)...)
	return s
}

// enter goes to the namespace of the next row.
func (p *rowPlace) enter(key []byte) {
	if p.namespace == nil || p.lastKey != string(key) {
		p.lastKey = string(key)
		p.namespace = slices.Clip(loci.NamespaceFromKey(p.lastKey))
	}
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
	if err := rows.Scan(s.dest...); err != nil {
		return r, err
	}
	s.enter(s.key)
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
	return r, err
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
		*c = bytesColumn(v)
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
