package sqlite

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

var errWhole = errors.New("a column of a record holds something else")

// A wholeRows takes rows of the form of recordColumns. A record is yield's until it returns, what it refers to
// for good.
type wholeRows struct {
	filter *loci.Filter // decides in Go what the query does not say; nil: it says all
	yield  func(*loci.Record) bool
	ended  error // why no more rows are taken

	words  [8]string // for same
	kept   int       // so many words were
	pieces           // of core records
	spans  []loci.Span
	record loci.Record
	rowPlace
	placed bool // rows have no placeColumns
	core   bool // rows are of coreColumns
	many   bool // so many are shown as cores that they share pieces of memory, too
}

// at expects rows without placeColumns, all of the one place of a filter, if they are placed.
func (w *wholeRows) at(placed bool, f *loci.Filter) *wholeRows {
	if placed {
		w.record.Kind, w.namespace, w.placed = f.Kinds[0], slices.Clip(slices.Clone(f.Within[0])), true
	}
	return w
}

// same is a text that a row before mostly had: kinds, states and scopes are few.
func (w *wholeRows) same(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	for _, text := range w.words {
		if text == string(b) {
			return text
		}
	}
	text := string(b)
	w.words[w.kept%len(w.words)] = text
	w.kept++
	return text
}

// take implements [taker].
func (w *wholeRows) take(row lentRow) bool {
	w.ended = w.next(row)
	return w.ended == nil
}

func (w *wholeRows) why() error { return w.ended }

func (w *wholeRows) next(row lentRow) error { return w.give(lentColumns{row: row}) }

// give yields the record of a row.
func (w *wholeRows) give(c lentColumns) error {
	if err := w.read(&c); err != nil {
		return err
	}
	if w.filter != nil && !w.filter.Selects(&w.record) {
		return nil
	}
	if !w.yield(&w.record) {
		return errFull
	}
	return nil
}

// read takes a row apart. What is the same as in a row before, as a kind mostly is, shares its memory.
func (w *wholeRows) read(c *lentColumns) (err error) {
	r := &w.record
	*r = loci.Record{ID: c.id(), Kind: r.Kind}
	if !w.placed {
		r.Kind = loci.Kind(w.same(c.bytes()))
		w.enter(c.bytes())
	}
	if w.core {
		w.readCore(c)
		return c.fault()
	}
	slot := c.bytes()
	r.Namespace, r.Version, r.Live = w.namespace, c.integer().n, c.integer().n != 0
	r.CreatedAt, r.UpdatedAt, r.ExpiresAt = c.time(), c.time(), c.integer().milli()
	r.Uses, r.UsedAt = c.integer().n, c.integer().milli()
	text := c.bytes()
	r.Passages = form.DecodeSpans(c.bytes())
	tags := c.bytes()
	if attributes, body := c.bytes(), c.bytes(); w.many {
		r.Attributes, r.Body = w.document(attributes), w.document(body)
	} else {
		r.Attributes, r.Body = documents(attributes, body)
	}
	r.Scope, r.Status = w.same(c.bytes()), w.same(c.bytes())
	r.Decay = loci.Decay{Confidence: c.number(), Rate: c.number(), From: c.integer().milli()}
	r.EndsAt, r.DueAt = c.integer().milli(), c.integer().milli()
	sequence := c.bytes()
	r.Position = c.integer().n
	if heading := c.bytes(); w.many {
		r.Text = w.text(text)
	} else {
		r.Slot, r.Text, r.Sequence, r.Heading = texts(slot, text, sequence, heading)
	}
	if err = c.fault(); err == nil && len(tags) > 0 {
		err = json.Unmarshal(tags, &r.Tags)
	}
	return err
}

// readCore is the rest of read for coreColumns. Records of a context are many, and kept for as long as it takes.
func (w *wholeRows) readCore(c *lentColumns) {
	r := &w.record
	r.Namespace, r.Version, r.Live = w.namespace, c.integer().n, c.integer().n != 0
	r.CreatedAt, r.ExpiresAt, r.UsedAt = c.time(), c.integer().milli(), c.integer().milli()
	if text := c.bytes(); c.copied == nil {
		r.Text = w.text(text)
	} else { // those of what is kept, which nobody changes
		r.Text = unsafe.String(unsafe.SliceData(text), len(text))
	}
	first := len(w.spans)
	if w.spans = form.AppendSpans(w.spans, c.bytes()); len(w.spans) > first {
		r.Passages = slices.Clip(w.spans[first:])
	}
	r.Attributes, r.Body = w.coreDocument(c), w.coreDocument(c)
	r.Status = w.same(c.bytes())
	r.Decay = loci.Decay{Confidence: c.number(), Rate: c.number(), From: c.integer().milli()}
	r.EndsAt = c.integer().milli()
}

// coreDocument is JSON of a core record; nothing for none.
func (w *wholeRows) coreDocument(c *lentColumns) []byte {
	b := c.bytes()
	if c.copied == nil || len(b) == 0 {
		return w.document(b)
	}
	return b
}

// texts copies the texts of a record to one piece of memory.
func texts(slot, text, sequence, heading []byte) (_, _, _, _ string) {
	var all strings.Builder
	all.Grow(len(slot) + len(text) + len(sequence) + len(heading))
	add := func(b []byte) string {
		at := all.Len()
		_, _ = all.Write(b)
		return all.String()[at:]
	}
	return add(slot), add(text), add(sequence), add(heading)
}

// documents copies JSON to one piece of memory; nothing is nil.
func documents(attributes, body []byte) (_, _ json.RawMessage) {
	both := make([]byte, 0, len(attributes)+len(body))
	both = append(append(both, attributes...), body...)
	part := func(from, to int) json.RawMessage {
		if from == to {
			return nil
		}
		return both[from:to:to]
	}
	return part(0, len(attributes)), part(len(attributes), len(both))
}

// lentColumns are the columns of a row, one after the other. NULL is the zero value.
type lentColumns struct {
	row     lentRow
	at      int
	copied  []byte // unless nil, the rest of a copied row, in place of row
	damaged bool   // a column holds something else
}

// fault says that a column held something else.
func (c *lentColumns) fault() error {
	if c.damaged {
		return errWhole
	}
	return nil
}

func (c *lentColumns) null() bool { return c.row.null(c.at) }

// bytes are SQLite's, or those of what is kept.
func (c *lentColumns) bytes() []byte {
	if data := c.copied; data != nil {
		if len(data) > 1 && data[0] == copiedBytes && data[1] < 0x80 { // as most are
			end := 2 + int(data[1])
			c.copied = data[end:]
			return data[2:end:end]
		}
		if len(data) > 0 && data[0] == copiedNull {
			c.copied = data[1:]
			return nil
		}
		return c.copiedBytes()
	}
	b, ok := c.row.bytes(c.at)
	c.damaged = c.damaged || !ok && !c.null()
	c.at++
	return b
}

func (c *lentColumns) id() (id loci.ID) {
	b := c.bytes()
	c.damaged = c.damaged || len(b) != len(id)
	copy(id[:], b)
	return id
}

func (c *lentColumns) integer() intColumn {
	if data := c.copied; data != nil {
		switch {
		case len(data) > 8 && data[0] == copiedInteger:
			c.copied = data[9:]
			return intColumn{int64(binary.LittleEndian.Uint64(data[1:])), true}
		case len(data) > 1 && data[0] == copiedByte:
			c.copied = data[2:]
			return intColumn{int64(data[1]), true}
		case len(data) > 0 && data[0] == copiedNull:
			c.copied = data[1:]
			return intColumn{}
		}
		c.damaged = true
		return intColumn{}
	}
	n, ok := c.row.integer(c.at)
	c.damaged = c.damaged || !ok && !c.null()
	c.at++
	return intColumn{n, ok}
}

// time is of a column that is never NULL.
func (c *lentColumns) time() time.Time { return milli(c.integer().n) }

func (c *lentColumns) number() float64 {
	if c.copied != nil {
		return c.copiedNumber()
	}
	x, ok := c.row.number(c.at)
	c.damaged = c.damaged || !ok && !c.null()
	c.at++
	return x
}

// pieces are what many small texts and documents are copied to: a piece of memory for each costs more than its bytes.
type pieces struct {
	texts     strings.Builder
	documents []byte
	most      int // bytes of a piece, usually; 0: mostPiece
}

// Sizes of pieces of memory, in bytes: small pages have no use for large ones.
const leastPiece, mostPiece = 1 << 10, 32 << 10

func (p *pieces) size(before, least int) int {
	return max(least, leastPiece, min(2*before, cmp.Or(p.most, mostPiece)))
}

func (p *pieces) text(v []byte) string {
	if size := p.texts.Cap(); size-p.texts.Len() < len(v) {
		p.texts.Reset()
		p.texts.Grow(p.size(size, len(v)))
	}
	at := p.texts.Len()
	p.texts.Write(v)
	return p.texts.String()[at:]
}

// document copies JSON, which is the caller's from then on; nothing for none.
func (p *pieces) document(v []byte) []byte {
	if len(v) == 0 {
		return nil
	}
	if size := cap(p.documents); size-len(p.documents) < len(v) {
		p.documents = make([]byte, 0, p.size(size, len(v)))
	}
	begin := len(p.documents)
	p.documents = append(p.documents, v...)
	return p.documents[begin:len(p.documents):len(p.documents)]
}
