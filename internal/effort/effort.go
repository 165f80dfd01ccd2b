// Package effort lets tests compare what pieces of work cost, on machines that are busy, and on those that are granted
// a part of a processor alone: there the clock goes on while nothing is done, so that longer work takes longer yet.
package effort

import (
	"testing"
	"time"
)

// patience is how long to repeat measurements before the worse of two costs is believed.
var patience = 10 * time.Second

// tick is how much processor time may be counted too much.
const tick = time.Millisecond

// Grows fails the test if work with large takes more than most times the processor time of work with small. name
// says in the failure what was done. Each counts the least of several runs, as many as a busy machine needs, so work
// must do the same each time.
func Grows(t testing.TB, name string, small, large int, most float64, work func(size int)) {
	t.Helper()
	AtMost(t, name, most, func() { work(small) }, func() { work(large) })
}

// AtMost fails the test if work takes more than most times the processor time of what it is compared with. It is
// otherwise as [Grows].
func AtMost(t testing.TB, name string, most float64, compared, work func()) {
	t.Helper()
	took := func(work func()) time.Duration {
		start := ProcessorTime(t)
		work()
		return ProcessorTime(t) - start
	}
	less, more := time.Hour, time.Hour
	bound := func() time.Duration { return time.Duration(most*float64(less)) + tick }
	for began := time.Now(); time.Since(began) < patience; {
		if less, more = min(less, took(compared)), min(more, took(work)); more <= bound() {
			return
		}
	}
	t.Errorf("%s took %v of processor time; at most %v is allowed, %v times what it is compared with",
		name, more, bound(), most)
}
