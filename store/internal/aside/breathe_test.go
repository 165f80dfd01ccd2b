package aside

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/admission"
)

// turns counts how often another goroutine runs while one makes steps, with one processor.
func turns(steps int, aside bool) (n int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		b := NewBreather(aside)
		defer b.End()
		for range steps {
			b.Step()
		}
	}()
	for !done.Load() {
		n++
		runtime.Gosched()
	}
	return n
}

// Whoever is ready to run has a turn for each breath.
func TestBreathe(t *testing.T) {
	for admission.Lately(company) { // a request of another test
		time.Sleep(company)
	}
	const steps = 16_000
	if n := turns(steps, true); n < steps/breath/2 || n > 2*steps/breath {
		t.Errorf("%d turns in %d steps; want one in %d", n, steps, breath)
	}
}

// While a request has a slot, and for a while after that, a load leaves it the processor for longer than a turn.
func TestLoadsRestWhileRequestsRun(t *testing.T) {
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: time.Minute, Aside: 1})
	p, refused := gate.Enter(t.Context(), "a tenant", 0)
	if refused != nil {
		t.Fatal(refused)
	}
	const breaths = 20
	if n := turns(breaths*breath, true); n < 10*breaths {
		t.Errorf("%d turns in %d breaths beside a request; want many for each", n, breaths)
	}
	if n := turns(breaths*breath, false); n > 2*breaths {
		t.Errorf("%d turns in %d breaths of what the request does itself; want one for each", n, breaths)
	}
	p.Leave()
	if n := turns(breath, true); n < 10 {
		t.Errorf("%d turns in a breath behind a request; want many", n)
	}
}

// All that load have a fifth of the processors at least, and none stops for long.
func TestRest(t *testing.T) {
	for _, one := range []struct {
		workers, processors int
		worked, want        time.Duration
	}{
		{1, 1, time.Millisecond, 4 * time.Millisecond},
		{4, 1, time.Millisecond, 16 * time.Millisecond},
		{4, 4, time.Millisecond, 4 * time.Millisecond},
		{4, 1, time.Second, maxRest},
	} {
		if rest := rest(one.worked, one.workers, one.processors); rest != one.want {
			t.Errorf("%d of %d: rests for %v after %v, want %v", one.workers, one.processors, rest, one.worked, one.want)
		}
	}
	if workers.Load() != 0 {
		t.Errorf("%d load still", workers.Load())
	}
}
