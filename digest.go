package loci

import "github.com/loci-memory/loci/internal/retrieval"

// A Claim is a sentence that [Digest] may pick, and how much it weighs beside others.
type Claim = retrieval.Claim

// Sentences cuts a text into its sentences.
func Sentences(text string) []string { return retrieval.Sentences(text) }

// Digest picks the claims that say most about the whole, the most telling first, while
// fits says that there is room for one more.
func Digest(claims []Claim, fits func(i int) bool) []int { return retrieval.Digest(claims, fits) }
