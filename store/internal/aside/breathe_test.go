package aside

import (
	"runtime"
	"sync/atomic"
	"testing"
)

// Whoever is ready to run has a turn for each breath.
func TestBreathe(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const steps = 16_000
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		for i := range steps {
			Breathe(i)
		}
	}()
	turns := 0
	for !done.Load() {
		turns++
		runtime.Gosched()
	}
	if turns < steps/breath/2 || turns > 2*steps/breath {
		t.Errorf("%d turns in %d steps; want one in %d", turns, steps, breath)
	}
}
