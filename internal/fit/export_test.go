package fit

// Divided is divided, for tests.
var Divided = divided

// MostOf is how many candidates a round takes at most.
func MostOf(r Round) int { return r.of(MostCandidates) }
