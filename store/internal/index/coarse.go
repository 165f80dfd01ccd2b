package index

import "github.com/loci-memory/loci/internal/vector"

// Bounds of a first pass over sketches (docs/adr/0178). sketchFrom is how many vectors a segment has of which it keeps
// sketches, and coarseAbove is how many there are in all where it pays to ask them: fewer lie in a cache. What is
// found does not depend on either.
const (
	sketchFrom  = 4096
	coarseAbove = 8_000
)

// sketch is what a segment keeps of vectors beside them.
func (x *Index) sketch(m *vector.Matrix) []byte {
	if m.Len() < x.sketchFrom {
		return nil
	}
	return m.Sketch()
}

// compare makes a vector the one that rows are scored by, each when it is looked at.
func (s *search) compare(v []float32) {
	query, sketched := vector.NewQuery(v), 0
	for i := range s.parts {
		if sh := &s.parts[i]; sh.matrix != nil && sh.matrix.Len() > 0 {
			if sh.query = query; sh.matrix.Sketched() {
				sketched += sh.matrix.Len()
			}
		}
	}
	if sketched > s.coarseAbove {
		query.Coarsen()
		s.coarse = query
	}
}
