package retrieval

import (
	"container/heap"
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

// covered is what a term counts for that a picked sentence has said, and mostCovered how often
// it comes to count less: a ten millionth decides nothing.
const (
	covered     = 0.2
	mostCovered = 10
)

// Digest orders claims by how much they tell of all of them, the most telling
// first, until take has refused each of the others: take says whether there is room.
// The same claims come in the same order.
//
// A term weighs (1 + ln n)·ln(1 + N/n) if n of the N claims have it: what is
// talked about, but not by everybody. A claim scores the sum over its terms, by the root
// of their number; what an earlier pick has said counts a fifth, of up to ten picks. Of
// equal ones the first goes first.
func Digest(claims []Claim, take func(i int) bool) (picked []int) {
	n := len(claims)
	d := digest{claims: claims, of: make([][]*claimTerm, n), scores: make([]float64, n), stale: make([]bool, n)}
	terms := map[string]*claimTerm{}
	for i, c := range claims {
		for _, text := range contentTerms(c.Text) {
			term := terms[text]
			if term == nil {
				term = &claimTerm{}
				terms[text] = term
			}
			term.claims = append(term.claims, i)
			d.of[i] = append(d.of[i], term)
		}
	}
	for _, term := range terms {
		have := float64(len(term.claims))
		term.weight = (1 + math.Log(have)) * math.Log(1+float64(n)/have)
	}
	for i := range claims {
		if len(d.of[i]) > 0 {
			d.score(i)
			d.open = append(d.open, i)
		}
	}
	heap.Init(&d)
	for len(d.open) > 0 {
		best := d.open[0]
		if d.scores[best] <= 0 {
			return picked // all others score less
		}
		if d.stale[best] { // less than it was, perhaps no longer the best
			d.score(best)
			heap.Fix(&d, 0)
			continue
		}
		heap.Pop(&d)
		if !take(best) {
			continue
		}
		picked = append(picked, best)
		d.cover(best)
	}
	return picked
}

// A claimTerm is a term, and which claims have it.
type claimTerm struct {
	claims []int
	weight float64
	picks  int // that said it
}

// A digest is an order of claims in the making: a heap of those that nobody took or refused.
// A score never rises, so that one which is not up to date is a bound, and is counted again
// when it comes to the top. So a pick costs what has a term in common with it, not all that
// is left.
type digest struct {
	claims []Claim
	of     [][]*claimTerm // the terms of each claim, each once, in order
	scores []float64
	stale  []bool
	open   []int
}

func (d *digest) score(i int) {
	sum := 0.0
	for _, term := range d.of[i] {
		sum += term.weight
	}
	d.scores[i], d.stale[i] = d.claims[i].Weight*sum/math.Sqrt(float64(len(d.of[i]))), false
}

// cover makes what a picked claim says count less.
func (d *digest) cover(pick int) {
	for _, term := range d.of[pick] {
		if term.picks++; term.picks > mostCovered {
			continue
		}
		term.weight *= covered
		for _, i := range term.claims {
			d.stale[i] = true
		}
	}
}

// Len, Less, Swap, Push and Pop make the open claims a heap.
func (d *digest) Len() int { return len(d.open) }

func (d *digest) Less(a, b int) bool {
	i, j := d.open[a], d.open[b]
	return d.scores[i] > d.scores[j] || d.scores[i] == d.scores[j] && i < j
}

func (d *digest) Swap(a, b int) { d.open[a], d.open[b] = d.open[b], d.open[a] }

func (d *digest) Push(any) {} // nothing comes back

func (d *digest) Pop() any {
	d.open = d.open[:len(d.open)-1]
	return nil
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
