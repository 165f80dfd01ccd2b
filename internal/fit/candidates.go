package fit

import (
	"math"
	"slices"
)

// MostCandidates is how many candidates by each signal a section chooses from at most: more
// than the usual budget holds.
const MostCandidates = 100

const (
	usualLine     = 20 // tokens; most lines have more
	fewCandidates = 30 // with any budget: some are too long, and what matters more may be further behind
)

// A Round says from how many candidates a text is made.
type Round int

// What is best by words is mostly not best by similarity, too, and most lines are longer than the usual one is taken to
// be: two fifths as many by each signal as there could be lines mostly fill the room. Where they do not, another round
// takes as many by each.
const (
	First Round = iota
	All
)

// of is how many of n candidates a round takes.
func (r Round) of(n int) int {
	if r == First {
		return n * 2 / 5
	}
	return n
}

// An Asker looks for the best of a section by each signal, so many at most, and says how many it found. Of few
// memories it takes little to choose from more: it looks for up to wide of them, and says so.
type Asker func(section, limit, wide int) (found int, few bool, err error)

// Candidates asks for the candidates of the sections of a text. It returns from how many by each signal each section
// chooses: as many as a round takes of the lines that there could be in its share of a budget of tokens. lines is of how
// many of them, by both signals, it makes lines. A section of few memories takes as many as in the last round. What a
// section has too few candidates for passes on, as room does. more reports whether another round may have others. To look
// for a candidate and to read it costs most of what a text costs.
func Candidates(budget int, shares []float64, r Round, ask Asker) (limits, lines []int, more bool, err error) {
	rounds, others := slices.Repeat([]Round{r}, len(shares)), make([]bool, len(shares))
	asked, found := make([]int, len(shares)), make([]int, len(shares))
	for i := range found {
		found[i] = math.MaxInt / 2 // enough
	}
	for {
		limits = divided(budget, shares, found, rounds)
		next := -1
		for i, limit := range limits { // from the last, so that the first, mostly the largest, is asked for once
			if limit > asked[i] {
				next = i
			}
		}
		if next < 0 {
			lines = slices.Clone(limits) // by both signals there are up to twice as many
			for i, limit := range limits {
				if rounds[i] == First {
					lines[i] = 2 * limit
				}
			}
			return limits, lines, slices.Contains(others, true), nil
		}
		limit := limits[next]
		if asked[next] > 0 { // more was left for it than its share: there is no third time
			limit = rounds[next].of(MostCandidates)
		}
		wide := limit
		if rounds[next] == First && asked[next] == 0 {
			rounds[next] = All
			wide = divided(budget, shares, found, rounds)[next]
			rounds[next] = First
		}
		n, few, err := ask(next, limit, wide)
		if err != nil {
			return nil, nil, false, err
		}
		if few {
			rounds[next], limit = All, wide
		}
		asked[next] = limit
		most := rounds[next].of(MostCandidates)
		if n < limit {
			asked[next] = MostCandidates // there are no more
		}
		if n < limit || limit == most {
			found[next] = n
		}
		others[next] = n >= limit && rounds[next] == First
	}
}

// divided is from how many candidates sections choose of which so many were found.
func divided(budget int, shares []float64, found []int, rounds []Round) []int {
	limits := make([]int, len(shares))
	for i, share := range shares {
		limits[i] = rounds[i].of(max(fewCandidates, int(share*float64(budget/usualLine))))
	}
	carried := 0
	for range 2 { // what the last leave over, the first may use
		for i := range limits {
			limits[i] += carried
			carried = max(0, limits[i]-found[i])
			limits[i] -= carried
		}
	}
	for i := range limits {
		limits[i] = min(max(1, limits[i]), rounds[i].of(MostCandidates))
	}
	return limits
}
