package fit

// MostCandidates is how many candidates by each signal a section chooses from at most: more
// than the usual budget holds.
const MostCandidates = 100

const (
	usualLine     = 20 // tokens; most lines have more
	fewCandidates = 30 // with any budget: some are too long, and what matters more may be further behind
)

// Candidates returns from how many candidates by each signal the sections of a text choose: as
// many as there could be lines in the section's share of a budget of tokens. Of a section so many
// were found; what one has too few candidates for passes on, as room does. To read a candidate
// costs most of what a text costs.
func Candidates(budget int, shares []float64, found []int) []int {
	limits := make([]int, len(shares))
	for i, share := range shares {
		limits[i] = max(fewCandidates, int(share*float64(budget/usualLine)))
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
		limits[i] = min(max(1, limits[i]), MostCandidates)
	}
	return limits
}
