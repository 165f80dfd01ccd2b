package batch

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// What a process commits it hands to its own index of search, which would otherwise read it back
// from the database: see [Batch.Handed].

// maxHanded bounds the records of a commit that is handed over; an index that lacks more reads them
// beside the searches of others.
const maxHanded = 1000

// A Handed is what a commit did to what searches find, as they would read it.
type Handed struct {
	NameKey loci.NameKey // of the tenant
	Line    int64        // how often the database had gone back, as far as the process knew
	Seq     int64        // the state that the commit left; it found the one before
	Places  []Place      // namespaces that came or changed, if they have names
	Gone    []GoneRecord // these went first
	Came    []CameRecord
	Bytes   int64 // that it takes, about
}

// A GoneRecord is one that was erased, with the number of its namespace.
type GoneRecord struct {
	ID    loci.ID
	Place int64
	Kind  loci.Kind
}

// A CameRecord is a record as it is now. No search finds one that is not live or has no passages.
type CameRecord struct {
	Record  *loci.Record
	Vectors []Codes
	Place   int64 // the number of its namespace
}

// Codes are the vectors of a record in a space, as the database has them.
type Codes struct {
	Space loci.Space
	Data  []byte
}

// In returns the vectors in a space; nil: there are none.
func (c *CameRecord) In(space loci.Space) []byte {
	for i := range c.Vectors {
		if c.Vectors[i].Space == space {
			return c.Vectors[i].Data
		}
	}
	return nil
}

// coming is what is handed over of a put.
type coming struct {
	*loci.Record
	vectors []Codes
}

// comes notes a put for the handover, unless its text and vectors are in the database alone.
func (b *Batch) comes(p *loci.Put, there bool) *coming {
	r := &p.Record
	if !b.Handing {
		return nil
	}
	if there && p.SameText && r.Live {
		delete(b.came, r.ID)
		return nil
	}
	if b.came == nil {
		b.came = map[loci.ID]*coming{}
	}
	c := &coming{Record: r}
	b.came[r.ID] = c
	return c
}

// add notes vectors.
func (c *coming) add(space loci.Space, data []byte) {
	if c != nil {
		c.vectors = append(c.vectors, Codes{space, data})
	}
}

// Handed is what a batch that was committed did to what searches find, given what its jobs needed and
// how often the database had gone back. nil: not all of that is at hand, and who searches has to read
// it. Nothing of it is the callers'.
//
// Only a batch with an event is handed over: without one the head of the chain does not tell the
// state that it left from every other one.
func (b *Batch) Handed(n *Needs, line int64) *Handed {
	if !b.Handing || !n.Whole || !b.Mark.Event || len(b.Changes) > maxHanded {
		return nil
	}
	h := &Handed{NameKey: b.State.NameKey, Line: line, Seq: b.State.Seq, Places: b.named}
	for key, row := range b.Changes {
		if key.Gone {
			h.Gone = append(h.Gone, GoneRecord{key.ID, row.Namespace, row.Kind})
			continue
		}
		c := b.came[key.ID]
		if c == nil {
			return nil
		}
		h.Came = append(h.Came, CameRecord{searched(c.Record), c.vectors, row.Namespace})
	}
	h.Bytes = int64(len(h.Places)+len(h.Gone)+len(h.Came)) * 500
	for i := range h.Came {
		r := h.Came[i].Record
		h.Bytes += int64(len(r.Text) + len(r.Heading) + len(r.Attributes) + 16*len(r.Passages))
		for _, v := range h.Came[i].Vectors {
			h.Bytes += int64(len(v.Data))
		}
	}
	return h
}

// searched is what an index takes of a record, as it is read back, with nothing that its caller may
// change.
func searched(r *loci.Record) *loci.Record {
	if !r.Live || len(r.Passages) == 0 {
		return &loci.Record{ID: r.ID, Kind: r.Kind, Namespace: slices.Clone(r.Namespace)}
	}
	out := *r
	for _, at := range []*time.Time{
		&out.CreatedAt, &out.UpdatedAt, &out.ExpiresAt, &out.UsedAt, &out.EndsAt, &out.DueAt, &out.Decay.From,
	} {
		if !at.IsZero() {
			*at = time.UnixMilli(at.UnixMilli()).UTC()
		}
	}
	out.Namespace, out.Tags = slices.Clone(r.Namespace), append([]string(nil), r.Tags...) // nil for none
	out.Passages, out.Attributes = slices.Clone(r.Passages), append(json.RawMessage(nil), r.Attributes...)
	out.Body = nil
	return &out
}
