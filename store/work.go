package store

import "github.com/loci-memory/loci/store/internal/meter"

// Work is what a store has done by itself since it was opened, and what its index takes. The
// stores on disk and in databases have a method Work that returns it.
type Work = meter.Work

// CommitSizes are the upper bounds by which [Work] counts how many writes shared a commit.
func CommitSizes() []int { return meter.Sizes }
