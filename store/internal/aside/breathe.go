package aside

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/admission"
)

const (
	// breath is how many records are read or indexed in one breath: half a millisecond's work.
	breath = 16

	// company is for how long after a request the next one is expected.
	company = 10 * time.Millisecond

	// nap is how long a load rests at a time while requests need the processors.
	nap = 500 * time.Microsecond

	// leisure bounds the rests: all that load have at least a fifth of the processors, so that what
	// they are for is answered while requests never end.
	leisure = 4

	// maxRest bounds a rest, so that a load that the machine held up goes on.
	maxRest = 20 * time.Millisecond
)

// workers are the goroutines that load, of all stores of the process.
var workers atomic.Int64

// A Breather is a goroutine that reads or indexes many records, and lets others run.
type Breather struct {
	aside bool
	steps int
	since time.Time // the breath
}

// NewBreather is for a goroutine that begins to read or to index. It does so aside if it loads: what a
// call does itself, with its slot, takes turns with others and rests for none.
func NewBreather(aside bool) *Breather {
	if aside {
		workers.Add(1)
	}
	return &Breather{aside: aside, since: time.Now()}
}

// End says that the goroutine has done what it began.
func (b *Breather) End() {
	if b.aside {
		workers.Add(-1)
	}
}

// Step lets others run at every sixteenth step of what takes long. Go takes a processor away from a
// goroutine after 10 ms only, and a search that others wait for takes one or two. Where requests come
// to a server, that is not enough: those who are ready run in turn, and a process whose processors are
// never idle looks at its network every 10 ms only. So a load rests while a request has a slot.
func (b *Breather) Step() {
	if b.steps++; b.steps%breath != 0 {
		return
	}
	if b.aside && admission.Lately(company) {
		most := rest(time.Since(b.since), int(workers.Load()), runtime.GOMAXPROCS(0))
		for begun := time.Now(); ; {
			time.Sleep(nap)
			if !admission.Working() || time.Since(begun) >= most {
				break
			}
		}
	} else {
		runtime.Gosched()
	}
	b.since = time.Now()
}

// rest is how long one of some workers rests at most when it has worked for a while.
func rest(worked time.Duration, workers, processors int) time.Duration {
	return min(leisure*worked*time.Duration(workers)/time.Duration(processors), maxRest)
}
