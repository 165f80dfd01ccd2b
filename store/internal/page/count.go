package page

import "github.com/loci-memory/loci"

// Count adds a record to what is counted of a filter, and tells the filter's Each of it.
func Count(f *loci.Filter, r *loci.Record, n *loci.Counts) {
	part := loci.Counts{Records: 1, Passages: int64(len(r.Passages)), Bytes: int64(len(r.Text))}
	if r.Live {
		part.Live = 1
	}
	Add(f, r.Kind, r.Status, part, n)
}

// Kept reports whether counts that are kept by namespace, kind, state and status answer a filter, except for
// what has expired.
func Kept(f *loci.Filter) bool {
	return len(f.IDs) == 0 && f.Slot == nil && f.Slots.IsZero() && len(f.Tags) == 0 && f.Where.IsZero() &&
		len(f.Scopes) == 0 && len(f.Sequences) == 0 && f.MinConfidence == 0 && f.Due.IsZero() && !f.Expired &&
		!f.Waning && !f.Ended &&
		f.Since.IsZero() && f.Until.IsZero() &&
		(f.NotLive || f.At.IsZero()) && (f.Space.IsZero() || len(f.Statuses) == 0)
}

// Add adds a part to what is counted of a filter, and tells the filter's Each of it.
func Add(f *loci.Filter, kind loci.Kind, status string, part loci.Counts, n *loci.Counts) {
	n.Records, n.Live, n.Passages = n.Records+part.Records, n.Live+part.Live, n.Passages+part.Passages
	n.Bytes, n.Unembedded = n.Bytes+part.Bytes, n.Unembedded+part.Unembedded
	if part.Unembedded = 0; f.Each != nil {
		f.Each(kind, status, part)
	}
}

// Parts keep what the Each of a filter is to be told, until it is certain: a store may begin again.
type Parts struct {
	each  func(loci.Kind, string, loci.Counts)
	parts []part
}

type part struct {
	kind   loci.Kind
	status string
	counts loci.Counts
}

// Of takes the place of the Each of a filter, if it has one.
func (p *Parts) Of(f *loci.Filter) {
	if p.each = f.Each; p.each != nil {
		f.Each = func(kind loci.Kind, status string, counts loci.Counts) {
			p.parts = append(p.parts, part{kind, status, counts})
		}
	}
}

// Forget begins again.
func (p *Parts) Forget() { p.parts = p.parts[:0] }

// Tell tells the filter's own Each, unless there was an error.
func (p *Parts) Tell(err error) error {
	for i := 0; i < len(p.parts) && err == nil; i++ {
		p.each(p.parts[i].kind, p.parts[i].status, p.parts[i].counts)
	}
	return err
}
