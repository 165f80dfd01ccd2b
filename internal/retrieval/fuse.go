package retrieval

import "math"

// MinMax scales values to [0,1] in place: the least becomes 0, the greatest 1. NaN
// stands for a value that is absent; it becomes 0 and counts for nothing. Values
// that are all equal tell nothing apart: they become 1 if positive, else 0.
func MinMax(values []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	for i, v := range values {
		switch {
		case math.IsNaN(v), high == low && v <= 0:
			values[i] = 0
		case high == low:
			values[i] = 1
		default:
			values[i] = (v - low) / (high - low)
		}
	}
}

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
