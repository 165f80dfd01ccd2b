package vector

// A first look at scores computes in float32 what they are in float64, rounded so that it passes over no row that
// reaches what it must. The kernel knows the order.
type first struct {
	worth, worse float32 // what a sum is worth, rounded up and down
	least        float32 // that a row must reach
	narrow       bool    // the worth is a number that a float32 holds well
}

// firstOff is more than what five steps in float32 are off, each by 6e-8. No product of two numbers between
// leastFirst and mostFirst loses digits that matter.
const (
	firstOff   = 1e-6
	leastFirst = 1e-20
	mostFirst  = 1e20
)

// firstOf is for sums that are worth so much.
func firstOf(worth float64) first {
	return first{worth: float32(worth * (1 + firstOff)), worse: float32(worth * (1 - firstOff)),
		narrow: worth > leastFirst && worth < mostFirst}
}
