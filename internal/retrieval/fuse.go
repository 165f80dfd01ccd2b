package retrieval

// Fused is the reciprocal rank fusion of two ranks, from 1, with the constant 60, over its
// maximum. A rank of 0 counts as limit+1.
func Fused(rank, other, limit int) float64 {
	part := func(rank int) float64 {
		if rank == 0 {
			rank = limit + 1
		}
		return 1 / float64(60+rank)
	}
	return (part(rank) + part(other)) / (2.0 / 61)
}
