// Package vector keeps embeddings as rows of 8-bit integers and scores them
// against a query by an exact scan. A row costs a quarter of its float32 form,
// and a scan runs at the speed of memory, of which sketches read about a quarter, so no
// approximate index is needed for the numbers of memories one namespace holds.
//
// Vectors are expected to have unit length; a score is then the cosine of the
// angle, off by the rounding of both sides. The error is at most
//
//	(√dims/2) · (q + r + √dims·q·r/2)
//
// where q and r are the scales of query and row (greatest magnitude / 127); for
// random unit vectors of 256 dimensions it stays below 0.004.
package vector
