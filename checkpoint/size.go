package checkpoint

import (
	"context"

	"github.com/loci-memory/loci"
)

// Bounds of the texts that go.
const (
	stepBytes = 8 << 20 // of one change; a single record may have more
	byteCost  = 8 << 10 // so many of them count as a record of a part
)

// A sizer bounds the bytes of a step, as its number of records is.
type sizer struct {
	e    *erasure
	left int64
	some bool // a record fits already
}

func (e *erasure) sizer() *sizer { return &sizer{e: e, left: stepBytes} }

func idsOf(records []loci.Record) []loci.ID {
	ids := make([]loci.ID, len(records))
	for i := range records {
		ids[i] = records[i].ID
	}
	return ids
}

// writesOf lists the writes in a range, as many as a step erases.
func (e *erasure) writesOf(slots loci.SlotRange) *writeList {
	w := e.c.writeListOf(slots, loci.Page{Brief: true})
	w.size = e.sizer()
	return w
}

// fit is how many of some records of a kind, the first ones, still fit into the step, and counts them.
func (s *sizer) fit(ctx context.Context, kind loci.Kind, ids []loci.ID) (int, error) {
	for n := len(ids); n > 0; n /= 2 {
		f := s.e.c.filter(kind)
		f.IDs = ids[:n]
		counts, err := s.e.c.m.Count(ctx, f)
		if err != nil {
			return 0, err
		}
		if counts.Bytes <= s.left || n == 1 && !s.some {
			s.left, s.some = s.left-counts.Bytes, true
			s.e.look(int(counts.Bytes / byteCost))
			return n, nil
		}
	}
	return 0, nil
}
