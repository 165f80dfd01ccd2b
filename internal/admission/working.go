package admission

import (
	"sync/atomic"
	"time"
)

// A tally counts slots that are taken.
type tally struct {
	taken    atomic.Int64
	released atomic.Int64 // when one was, last: nanoseconds since start
}

var start = time.Now()

// slots are those of all gates: what their requests need is the processors, which are the process's.
var slots tally

func (t *tally) take() { t.taken.Add(1) }

func (t *tally) release() {
	t.released.Store(int64(time.Since(start)))
	t.taken.Add(-1)
}

func (t *tally) lately(while time.Duration) bool {
	if t.taken.Load() > 0 {
		return true
	}
	last := t.released.Load()
	return last > 0 && time.Since(start)-time.Duration(last) < while
}

// Working reports whether a request of any gate has a slot, so that it needs a processor.
func Working() bool { return slots.taken.Load() > 0 }

// Lately reports whether a request of any gate has a slot, or had one within a while.
func Lately(while time.Duration) bool { return slots.lately(while) }
