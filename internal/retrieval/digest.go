package retrieval

import (
	"math"
	"strings"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Sentences cuts a text into its sentences, by Unicode's rules and at line ends,
// without the white space around them. Empty ones are left out.
func Sentences(text string) (out []string) {
	for line := range strings.Lines(text) {
		for it := sentences.FromString(line); it.Next(); {
			if s := strings.TrimSpace(it.Value()); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// A Claim is a sentence that wants a place in a summary.
type Claim struct {
	Text   string
	Weight float64 // of its score; 1: as any other
}

// covered is what a term counts for that a picked sentence has said.
const covered = 0.2

// Digest orders claims by how much they tell of all of them, the most telling
// first, until take has refused each of the others: take says whether there is room.
// The same claims come in the same order.
//
// A term weighs (1 + ln n)·ln(1 + N/n) if n of the N claims have it: what is
// talked about, but not by everybody. A claim scores the sum over its terms, by the root
// of their number; what an earlier pick has said counts a fifth. Of equal ones the
// first goes first.
func Digest(claims []Claim, take func(i int) bool) (picked []int) {
	terms := make([][]string, len(claims))
	frequency := map[string]int{}
	for i, c := range claims {
		terms[i] = contentTerms(c.Text)
		for _, term := range terms[i] {
			frequency[term]++
		}
	}
	weight := make(map[string]float64, len(frequency))
	for term, n := range frequency {
		weight[term] = (1 + math.Log(float64(n))) * math.Log(1+float64(len(claims))/float64(n))
	}
	open := make([]bool, len(claims))
	for i := range open {
		open[i] = len(terms[i]) > 0
	}
	for {
		best, most := -1, 0.0
		for i := range claims {
			if !open[i] {
				continue
			}
			sum := 0.0
			for _, term := range terms[i] {
				sum += weight[term]
			}
			if score := claims[i].Weight * sum / math.Sqrt(float64(len(terms[i]))); score > most {
				best, most = i, score
			}
		}
		if best < 0 {
			return picked
		}
		open[best] = false
		if !take(best) {
			continue
		}
		picked = append(picked, best)
		for _, term := range terms[best] {
			weight[term] *= covered
		}
	}
}

// contentTerms are the terms of a text that mean something, each once, in order.
func contentTerms(text string) (out []string) {
	seen := map[string]bool{}
	Analyze(text, func(t Token) {
		if t.Kind != Word && t.Kind != Pair && t.Kind != Name {
			return
		}
		term, stop := Normalize(t.Text)
		if stop && t.Kind != Name || seen[term] {
			return
		}
		seen[term] = true
		out = append(out, term)
	})
	return out
}
